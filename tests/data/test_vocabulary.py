"""Vocabularies: encoding and decoding, spans of the raw text, files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from one2set.data.document import Document
from one2set.data.specials import SPECIALS, UNK
from one2set.data.text import words_of
from one2set.data.vocabulary import (
    PieceVocabulary,
    Vocabulary,
    WordVocabulary,
    load_vocabulary,
    vocabulary_file,
)
from one2set.errors import ConfigError, DataError
from tests.data.formats import DOCUMENTS

WORDS = [*SPECIALS, ".", "sets", "of", "robot", "we", "real", "time", "<digit>"]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small word-piece tokenizer, as for a pretrained encoder without case."""
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer(lowercase=True)
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trained.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=90, special_tokens=["[UNK]"], show_progress=False
    )
    trained.train_from_iterator([document.text for document in DOCUMENTS], trainer)
    trained.enable_truncation(3)  # as in many pretrained models; we never truncate
    path = tmp_path_factory.mktemp("pieces") / "any-name.json"
    trained.save(str(path))
    return path


# --- Words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.id)
def test_encoding_and_decoding_words_changes_nothing(document: Document) -> None:
    vocabulary = WordVocabulary(WORDS, size=10)
    example = vocabulary.encode(document)
    assert vocabulary.text(example.source, unknown=example.unknown).split() == document.words()
    assert example.source.dtype == np.int32
    assert (example.id, example.title_length) == (document.id, len(document.title_words()))
    phrases = [
        vocabulary.text(ids, unknown=example.unknown) for ids in (*example.present, *example.absent)
    ]
    assert sorted(phrases) == sorted(" ".join(words) for words in document.phrase_words())


def test_present_and_absent_phrases() -> None:
    example = WordVocabulary(WORDS, size=10).encode(DOCUMENTS[0])
    spell_words = [*WORDS, *example.unknown]
    assert [[spell_words[i] for i in ids] for ids in example.present] == [
        ["real", "time", "scheduling"],
        ["robot", "swarm"],
    ]
    assert [[spell_words[i] for i in ids] for ids in example.absent] == [["load", "balancing"]]


def test_unknown_words_follow_the_dictionary_in_the_order_of_their_appearance() -> None:
    vocabulary = WordVocabulary(WORDS, size=9)
    example = vocabulary.encode(Document("", "", "New sets, old sets, new <unk>", ("old idea",)))
    first = len(WORDS)
    assert example.unknown == ("new", ",", "old", "idea")
    assert example.source.tolist() == [first, 8, first + 1, first + 2, 8, first + 1, first, UNK]
    assert example.absent[0].tolist() == [first + 2, first + 3]
    # Known to the dictionary, but above the networks' part of it.
    assert vocabulary.size == 9
    assert vocabulary.encode(Document("", "", "robot")).source.tolist() == [10]


def test_specials_in_a_text_are_unknown() -> None:
    """Otherwise a phrase could begin with padding, or end at once."""
    text = f"sets {' '.join(SPECIALS)} <digit>"
    document = Document("", "", text, ("<pad> sets", "sets <eos>", "<null>"), tokenised=True)
    vocabulary = WordVocabulary(WORDS, size=99)
    example = vocabulary.encode(document)
    sets, digit = WORDS.index("sets"), WORDS.index("<digit>")
    assert example.source.tolist() == [sets, *[UNK] * len(SPECIALS), digit]
    assert vocabulary.encode_source(document)[0].source.tolist() == example.source.tolist()
    phrases = sorted(ids.tolist() for ids in (*example.present, *example.absent))
    assert phrases == [[UNK], [UNK, sets], [sets, UNK]]
    assert example.unknown == ()


@given(st.text(max_size=40), st.text(max_size=40))
def test_word_spans_slice_to_their_word(title: str, abstract: str) -> None:
    document = Document("", title, abstract)
    vocabulary = WordVocabulary(WORDS, size=99)
    example = vocabulary.encode(document)
    for id, (start, end) in zip(
        example.source.tolist(), vocabulary.encode_source(document)[1], strict=True
    ):
        word = vocabulary.text([id], unknown=example.unknown)
        assert words_of(document.text[start:end]) == ([word] if start < end else [])


def test_a_document_without_keyphrases_has_none() -> None:
    example = WordVocabulary(WORDS, size=99).encode(Document("", "", "sets"))
    assert (example.present, example.absent) == ((), ())


def test_words_are_saved_and_loaded(tmp_path: Path) -> None:
    words = [*WORDS, "naïve", "हिन्दी", "\u200bodd", "#", '"']
    counts = list(range(len(words)))
    saved = WordVocabulary(words, size=11, counts=counts)
    assert saved.save(tmp_path) == vocabulary_file(tmp_path) == tmp_path / "words.tsv"
    loaded = load_vocabulary(tmp_path, size=11)
    assert isinstance(loaded, WordVocabulary)
    assert (loaded.words, loaded.counts, loaded.size) == (words, counts, 11)
    assert load_vocabulary(tmp_path, size=10**6).size == len(words)


def test_invalid_vocabulary_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"contains no vocabulary \(No such file.*words.tsv\)"):
        load_vocabulary(tmp_path, size=9)
    path = tmp_path / "words.tsv"
    path.write_text("<pad>\t0\n<unk> 0\n")
    with pytest.raises(DataError, match="expected a word, a tab and its count") as caught:
        load_vocabulary(tmp_path, size=9)
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    path.write_text("sets\t5\n")
    with pytest.raises(DataError, match=r"begins with \['sets'\]….*<pad>, <unk>"):
        load_vocabulary(tmp_path, size=9)
    path.write_bytes(b"caf\xe9\t1\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        load_vocabulary(tmp_path, size=9)


# --- Pieces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.id)
def test_encoding_and_decoding_pieces_changes_nothing(document: Document, tokenizer: Path) -> None:
    vocabulary = PieceVocabulary.from_file(tokenizer)
    example = vocabulary.encode(document)
    assert vocabulary.size == len(SPECIALS) + Tokenizer.from_file(str(tokenizer)).get_vocab_size()
    assert len(SPECIALS) <= example.source.min()
    assert example.source.max() < vocabulary.size
    assert len(example.source) > 3
    for start, end, raw in (
        (0, example.title_length, document.title),
        (example.title_length, len(example.source), document.abstract),
    ):
        text = vocabulary.text(example.source[start:end].tolist())
        assert letters(text) == letters(raw)
    assert len(example.present) + len(example.absent) == len(document.keyphrases or ())
    assert example.unknown == ()


def letters(text: str) -> str:
    """What the tokenizer keeps: lower case without accents and blanks."""
    kept = normalizers.BertNormalizer(lowercase=True).normalize_str(text)
    return "".join(kept.split())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.id)
def test_piece_spans_slice_to_their_piece(document: Document, tokenizer: Path) -> None:
    vocabulary = PieceVocabulary.from_file(tokenizer)
    read, spans = vocabulary.encode_source(document)
    source = vocabulary.encode(document).source
    assert read.source.tolist() == source.tolist()
    for id, (start, end) in zip(source.tolist(), spans, strict=True):
        piece = vocabulary.text([id]).removeprefix("##")
        assert letters(document.text[start:end]) == piece


def test_present_phrases_are_those_of_the_words(tokenizer: Path) -> None:
    vocabulary = PieceVocabulary.from_file(tokenizer)
    example = vocabulary.encode(DOCUMENTS[0])
    shown = [letters(vocabulary.text(ids.tolist())) for ids in example.present]
    assert shown == ["real-timescheduling", "robotswarm"]


def test_no_piece_is_a_special(tokenizer: Path) -> None:
    with pytest.raises(ValueError, match="id 3 is <eos>, which is not text"):
        PieceVocabulary.from_file(tokenizer).text([3])


def test_pieces_are_saved_and_loaded(tokenizer: Path, tmp_path: Path) -> None:
    saved: Vocabulary = PieceVocabulary.from_file(tokenizer)
    assert saved.save(tmp_path) == vocabulary_file(tmp_path) == tmp_path / "tokenizer.json"
    loaded = load_vocabulary(tmp_path, size=5)
    assert isinstance(loaded, PieceVocabulary)
    assert loaded.size == saved.size
    for document in DOCUMENTS:
        assert loaded.encode(document).source.tolist() == saved.encode(document).source.tolist()


@pytest.mark.parametrize("content", [None, "", "{}", "[1]", '{"version": "9"}'])
def test_an_invalid_tokenizer_file_is_an_error(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=r"is not a tokenizers file .*pass a tokenizer\.json"):
        PieceVocabulary.from_file(path)


def test_a_hidden_number_is_read_as_a_number(tokenizer: Path) -> None:
    vocabulary = PieceVocabulary.from_file(tokenizer)
    hidden = Document("a", "", "maps of <digit> swarms", tokenised=True)
    shown = Document("a", "", "maps of 0 swarms", tokenised=True)
    assert vocabulary.encode(hidden).source.tolist() == vocabulary.encode(shown).source.tolist()
    _, spans = vocabulary.encode_source(hidden)
    assert hidden.abstract[spans[-1][0] :].startswith("s")
    assert spans[-1][1] == len(hidden.abstract)


def test_a_lone_surrogate_is_an_unknown_character(tokenizer: Path) -> None:
    vocabulary = PieceVocabulary.from_file(tokenizer)
    odd = Document("a", "maps", "of \ud800 swarms\udfff")
    assert len(vocabulary.encode(odd).source) == len(vocabulary.encode_source(odd)[1])
