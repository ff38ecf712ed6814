"""The targets of the heads: spans and known phrases, of words and of word pieces."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from one2set.data.batch import SetLayout, collate
from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.head_targets import MAX_WORDS, HeadTargetBuilder, enumerate_spans
from one2set.data.phrase_list import NO_PHRASES, KnownPhrase, PhraseList
from one2set.data.specials import SPECIALS
from one2set.data.text import PUNCTUATION, stem_all
from one2set.data.vocabulary import PieceVocabulary, Vocabulary, WordVocabulary

WORDS = ["set", "based", "graph", "network", "learning", "we", "train", "deep", ".", ",", "'", "s"]


@pytest.fixture
def words() -> WordVocabulary:
    return WordVocabulary([*SPECIALS, *WORDS], size=len(SPECIALS) + len(WORDS))


@pytest.fixture
def pieces() -> PieceVocabulary:
    names = ["[UNK]", *WORDS, "-", "net", "##work", "##s", "learn", "##ing"]
    names.remove("network")
    names.remove("learning")
    model = models.WordPiece({name: id for id, name in enumerate(names)}, unk_token="[UNK]")
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return PieceVocabulary(tokenizer)


def label_spans(vocabulary: Vocabulary, example: Example) -> dict[str, bool]:
    """Every span of a source as words, and whether it is a keyphrase."""
    builder = HeadTargetBuilder(vocabulary, NO_PHRASES)
    targets = builder.build([example], [len(example.source)])
    spans = {}
    for first, last, is_keyphrase in zip(
        targets.first.tolist(), targets.last.tolist(), targets.is_keyphrase.tolist(), strict=True
    ):
        spans[vocabulary.text(example.source[first : last + 1].tolist())] = is_keyphrase
    return spans


def test_spans_of_words_end_at_punctuation_and_at_the_title(words: WordVocabulary) -> None:
    document = Document("d", "deep network", "we train , deep graph", ("Deep graphs", "trains"))
    spans = label_spans(words, words.encode(document))
    assert spans == {
        "deep": False,
        "network": False,
        "deep network": False,
        "we": False,
        "train": True,
        "we train": False,
        "graph": False,
        "deep graph": True,
    }


def test_a_word_is_all_of_its_pieces(pieces: PieceVocabulary) -> None:
    document = Document("d", "", "Set-based networks learning", ("set based network", "learning"))
    example = pieces.encode(document)
    texts = [pieces.text([id]) for id in example.source.tolist()]
    assert len(texts) == 8  # set - based net ##work ##s learn ##ing
    builder = HeadTargetBuilder(pieces, NO_PHRASES)
    read = builder.read(example)
    assert read.stems == stem_all(["set", "based", "networks", "learning"])
    assert read.first.tolist() == [0, 2, 3, 6]
    assert read.last.tolist() == [0, 2, 5, 7]
    targets = builder.build([example], [8])
    chosen = targets.is_keyphrase
    pairs = list(zip(targets.first[chosen].tolist(), targets.last[chosen].tolist(), strict=True))
    assert pairs == [(6, 7), (0, 5)]
    assert targets.length[chosen].tolist() == [1, 3]


def test_known_phrases_are_numbered_by_document(words: WordVocabulary) -> None:
    known = PhraseList(
        {("deep", "learn"): KnownPhrase("deep learning", 9), ("set",): KnownPhrase("sets", 5)}
    )
    documents = [
        Document("a", "", "we train", ("deep learning", "graph")),
        Document("b", "", "set", ("sets", "deep learning")),
    ]
    examples = [words.encode(document) for document in documents]
    targets = HeadTargetBuilder(words, known).build(examples, [2, 1])
    pairs = set(zip(targets.document.tolist(), targets.phrase.tolist(), strict=True))
    assert pairs == {(0, 0), (1, 1), (1, 0)}
    # The second document's spans follow the first one's tokens.
    assert targets.first.tolist() == [0, 1, 0, 2]


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14), st.data())
def test_labels_against_a_plain_search(source: list[str], data: st.DataObject) -> None:
    vocabulary = WordVocabulary([*SPECIALS, *WORDS], size=len(SPECIALS) + len(WORDS))
    phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
    gold = data.draw(st.lists(phrases, max_size=3))
    ids = {word: len(SPECIALS) + at for at, word in enumerate(WORDS)}
    example = Example(
        "d",
        np.array([ids[word] for word in source], np.int32),
        0,
        absent=tuple(np.array([ids[word] for word in phrase], np.int32) for phrase in gold),
    )
    targets = HeadTargetBuilder(vocabulary, NO_PHRASES).build([example], [len(source)])
    keyphrases = {stem_all(phrase) for phrase in gold}
    expected = {
        (at, at + length - 1): stem_all(source[at : at + length]) in keyphrases
        for length in range(1, MAX_WORDS + 1)
        for at in range(len(source) - length + 1)
        if PUNCTUATION.isdisjoint(source[at : at + length])
    }
    pairs = zip(targets.first.tolist(), targets.last.tolist(), strict=True)
    assert dict(zip(pairs, targets.is_keyphrase.tolist(), strict=True)) == expected


def test_a_source_without_words_has_no_spans(words: WordVocabulary) -> None:
    builder = HeadTargetBuilder(words, NO_PHRASES)
    example = words.encode(Document("d", "", ".", ("set",)))
    start, end = enumerate_spans(builder.read(example))
    assert len(start) == len(end) == 0
    layout = SetLayout(4)
    batch = collate([example], vocabulary_size=words.size, layout=layout, head_targets=builder)
    assert batch.heads is not None
    assert batch.heads.first.dtype == torch.int64
    assert len(batch.to("cpu").heads or ()) == 6


def test_only_word_pieces_tell_where_words_begin(tmp_path: Path) -> None:
    vocabulary = PieceVocabulary(Tokenizer(models.BPE({"a": 0}, [])))
    with pytest.raises(Exception, match="BPE"):
        vocabulary.group([len(SPECIALS)])
