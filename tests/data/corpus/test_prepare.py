"""Prepare: what a corpus holds is what an obvious implementation would put there; the same bytes
whatever the workers."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.corpus.corpus import Corpus
from one2set.data.corpus.prepare import Dictionary, Inputs, prepare
from one2set.data.corpus.selection import Filters
from one2set.data.document import Document
from one2set.data.reading.records import Fields
from one2set.data.reading.streams import ErrorPolicy
from one2set.data.specials import SPECIALS, UNK
from one2set.data.text import split_present_absent
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError, DataError
from tests.data.corpora import make_documents, tree
from tests.data.formats import jsonl, write
from tests.data.test_vocabulary import tokenizer

__all__ = ["tokenizer"]  # a fixture


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks and shards of a few documents, so that there are many of them."""
    monkeypatch.setattr("one2set.data.corpus.encoding._CHUNK", 7)
    monkeypatch.setattr("one2set.data.corpus.prepare._SHARD", 50)


# --- The contents of a corpus ---------------------------------------------------------------------


def naive(
    documents: list[Document], others: list[Document], filters: Filters
) -> tuple[list[tuple[Document, list[list[str]], int]], list[str], list[int]]:
    """Kept documents with their phrases and how many of these are present; words; counts."""

    def letters(words: list[str]) -> str:
        return "".join(word for word in words if word.isalnum())

    kept, seen = [], set()
    for document in documents:
        source = document.words()
        new = letters(source) not in seen
        seen.add(letters(source))
        titles = [letters(other.title_words()) for other in others]
        if not new or letters(document.title_words()) in titles:
            continue
        phrases = document.phrase_words()
        split = split_present_absent(phrases, source)
        if len(source) > filters.max_source_words:
            continue
        if len(split.present) + len(split.absent) > filters.max_phrases:
            continue
        present, absent = (
            [phrases[i] for i in group if len(phrases[i]) <= filters.max_phrase_words]
            for group in split
        )
        if present or absent:
            kept.append((document, present + absent, len(present)))
    counts: Counter[str] = Counter()
    for document, phrases, _ in kept:
        counts.update(document.words())
        counts.update(word for phrase in phrases for word in phrase)
    words = [word for word, _ in counts.most_common()]  # ties by first occurrence
    return kept, words, [counts[word] for word in words]


@pytest.mark.usefixtures("small_parts")
def test_a_corpus_equals_a_naive_implementation(tmp_path: Path) -> None:
    documents, valid = make_documents(200), make_documents(30, seed=1)
    documents[5:5] = [Document("v", valid[3].title, "Another text.", ("a",))]
    train = [
        write(tmp_path, "a.jsonl", jsonl(documents[:120])),
        write(tmp_path, "b.jsonl", jsonl(documents[120:])),
    ]
    filters = Filters(max_source_words=70, max_phrases=12, max_phrase_words=4, vocabulary_size=300)
    manifest = prepare(
        tmp_path / "corpus",
        Inputs(train=train, valid=[write(tmp_path, "v.jsonl", jsonl(valid))]),
        filters=filters,
    )
    kept, words, counts = naive(documents, valid, filters)
    assert 50 < len(kept) < 150

    corpus = Corpus(tmp_path / "corpus")
    corpus.verify()
    lines = [line.split("\t") for line in (tmp_path / "corpus/words.tsv").read_text().splitlines()]
    assert [word for word, _ in lines[: len(SPECIALS)]] == list(SPECIALS)
    trained = lines[len(SPECIALS) : len(SPECIALS) + len(words)]
    assert trained == [[word, str(count)] for word, count in zip(words, counts, strict=True)]
    assert all(count == "0" for _, count in lines[len(SPECIALS) + len(words) :])
    assert manifest.vocabulary_size == 300

    vocabulary = corpus.vocabulary()
    examples = list(corpus.split("train"))
    assert [example.id for example in examples] == [document.id for document, _, _ in kept]
    for example, (document, phrases, num_present) in zip(examples, kept, strict=True):
        assert vocabulary.text(example.source.tolist()).split() == document.words()
        spelt = [vocabulary.text(ids.tolist()).split() for ids in example.present + example.absent]
        assert spelt == phrases
        assert len(example.present) == num_present
    # The validation set is not filtered and not cleared of duplicates.
    assert [example.id for example in corpus.split("valid")] == [document.id for document in valid]


@pytest.mark.usefixtures("small_parts")
def test_the_manifest_counts_everything(tmp_path: Path) -> None:
    documents = make_documents(150)
    inputs = Inputs(train=[write(tmp_path, "a.jsonl", jsonl(documents))])
    manifest = prepare(tmp_path / "corpus", inputs, filters=Filters(max_source_words=60))
    counts, split = manifest.splits["train"], Corpus(tmp_path / "corpus").split("train")
    assert counts.read == 150
    assert counts.documents == len(split) == sum(shard.documents for shard in counts.shards)
    lost = sum(n for why, n in counts.dropped.items() if "phrase only" not in why)
    assert counts.read == counts.documents + lost
    assert set(counts.dropped) == {
        "duplicate",
        "long source",
        "long phrase (the phrase only)",
        "many keyphrases",
        "no keyphrases",
    }
    assert counts.source_words == int(split.source_lengths().sum())
    assert counts.present == sum(len(example.present) for example in split)
    assert counts.absent == sum(len(example.absent) for example in split)
    assert manifest.filters["max_source_words"] == 60
    assert manifest.inputs == {"train": ("a.jsonl",), "exclude": ()}
    assert {"one2set", "unicode"} == set(manifest.versions)
    assert json.loads((tmp_path / "corpus/manifest.json").read_text()) == json.loads(
        manifest.model_dump_json()
    )


def test_titles_of_other_sets_never_reach_training(tmp_path: Path) -> None:
    train = [
        Document("1", "Real-Time Sets", "Text one.", ("a",)),
        Document("2", "On Robots", "Text two.", ("a",)),
        Document("3", "On Graphs", "Text three.", ("a",)),
        Document("4", "On Trees", "Text four.", ("a",)),
    ]
    field = b"real time sets . <eos> a test .\n"
    write(tmp_path, "t_trg.txt", b"test\n")
    inputs = Inputs(
        train=[write(tmp_path, "a.jsonl", jsonl(train))],
        valid=[write(tmp_path, "v.jsonl", jsonl([Document("v", "On robots.", "Text.", ())]))],
        tests={"t": write(tmp_path, "t_src.txt", field)},
        exclude=[write(tmp_path, "e.csv", b"title,abstract\nON GRAPHS,\n")],
    )
    manifest = prepare(tmp_path / "corpus", inputs)
    assert [example.id for example in Corpus(tmp_path / "corpus").split("train")] == ["4"]
    assert manifest.splits["train"].dropped == {"title excluded": 3}
    assert list(manifest.splits) == ["train", "valid", "t"]
    assert manifest.inputs["exclude"] == ("e.csv",)


def test_held_out_documents_are_the_validation_set(tmp_path: Path) -> None:
    documents = make_documents(100)
    inputs = Inputs(train=[write(tmp_path, "a.jsonl", jsonl(documents))])
    manifest = prepare(tmp_path / "corpus", inputs, filters=Filters(hold_out=0.3))
    counts = {name: split.documents for name, split in manifest.splits.items()}
    assert 10 < counts["valid"] < 50
    assert manifest.splits["train"].read + manifest.splits["valid"].read == 100
    corpus = Corpus(tmp_path / "corpus")
    ids = {name: {example.id for example in corpus.split(name)} for name in counts}
    assert not ids["train"] & ids["valid"]


@pytest.mark.usefixtures("small_parts")
def test_an_epoch_draws_oversampled_files_more_often(tmp_path: Path) -> None:
    first, second = make_documents(70), make_documents(60, seed=1)
    paths = [
        write(tmp_path, f"{name}.jsonl", jsonl(documents))
        for name, documents in (("a", first), ("b", second))
    ]
    plain = prepare(tmp_path / "plain", Inputs(train=paths))
    manifest = prepare(tmp_path / "corpus", Inputs(train=paths, oversample={paths[1]: 3}))
    assert manifest.splits["train"].documents == plain.splits["train"].documents
    once, often = (
        Counter(example.id for example in Corpus(tmp_path / name).split("train"))
        for name in ("plain", "corpus")
    )
    in_second = {document.id for document in second} - {document.id for document in first}
    assert set(often) == set(once)
    of_a = prepare(tmp_path / "a", Inputs(train=paths[:1])).splits["train"].documents
    of_b = plain.splits["train"].documents - of_a
    assert often.total() == of_a + 3 * of_b
    assert all(often[id] == 3 * once[id] for id in in_second)
    Corpus(tmp_path / "corpus").verify()


def test_only_training_files_are_oversampled(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no training file"):
        prepare(tmp_path / "corpus", Inputs(train=["a.jsonl"], oversample={"other.jsonl": 2}))


def test_word_pieces(tokenizer: Path, tmp_path: Path) -> None:
    documents = make_documents(30)
    inputs = Inputs(train=[write(tmp_path, "a.jsonl", jsonl(documents))])
    manifest = prepare(tmp_path / "corpus", inputs, tokenizer=tokenizer, workers=2)
    corpus = Corpus(tmp_path / "corpus")
    corpus.verify()
    vocabulary = corpus.vocabulary()
    assert manifest.vocabulary_size == vocabulary.size
    by_id = {document.id: document for document in documents}
    for example in corpus.split("train"):
        encoded = vocabulary.encode(by_id[example.id])
        assert example.source.tolist() == encoded.source.tolist()
        assert example.title_length == encoded.title_length


def test_fields_and_bad_records(tmp_path: Path) -> None:
    good = {"summary": "A text.", "tags": ["a"]}
    data = "\n".join(map(json.dumps, [good, {"tags": 1}, {**good, "summary": "More."}])) + "\nx\n"
    path = write(tmp_path, "a.jsonl", data.encode())
    fields = Fields.from_options(["abstract=summary", "keyphrases=tags"])
    with pytest.raises(DataError, match=r"a\.jsonl:2: has no 'summary'"):
        prepare(tmp_path / "corpus", Inputs(train=[path]), fields=fields)
    assert not (tmp_path / "corpus").exists()
    manifest = prepare(
        tmp_path / "corpus", Inputs(train=[path]), fields=fields, errors=ErrorPolicy("skip")
    )
    assert (manifest.skipped, manifest.splits["train"].documents) == (2, 2)
    report = (tmp_path / "corpus" / "skipped.jsonl").read_text().splitlines()
    assert [json.loads(line)["line"] for line in report] == [2, 4]


def test_bad_records_of_excluded_sets_are_skipped_and_counted_too(tmp_path: Path) -> None:
    train = write(tmp_path, "a.jsonl", jsonl(make_documents(3)))
    exclude = write(tmp_path, "e.jsonl", b"x\n" + jsonl(make_documents(1)))
    inputs = Inputs(train=[train], exclude=[exclude])
    with pytest.raises(DataError, match=r"e\.jsonl:1: is not JSON"):
        prepare(tmp_path / "corpus", inputs)
    report = tmp_path / "elsewhere.jsonl"
    manifest = prepare(tmp_path / "corpus", inputs, errors=ErrorPolicy("skip", report))
    assert manifest.skipped == 1
    assert json.loads(report.read_text())["path"] == exclude


def test_documents_to_validate_and_test_with_have_keyphrases(tmp_path: Path) -> None:
    train = write(tmp_path, "a.jsonl", jsonl(make_documents(3)))
    rows = [{"text": "One.", "tags": ["a"]}, {"text": "Two.", "keyphrases": []}]
    other = write(tmp_path, "o.jsonl", "\n".join(map(json.dumps, rows)).encode())
    for inputs in (Inputs([train], valid=[other]), Inputs([train], tests={"t": other})):
        with pytest.raises(DataError, match=r"o\.jsonl: document .* has no keyphrases; add a list"):
            prepare(tmp_path / "corpus", inputs)
    manifest = prepare(tmp_path / "corpus", inputs, errors=ErrorPolicy("skip"))
    assert (manifest.skipped, manifest.splits["t"].documents) == (1, 1)


def test_a_policy_can_be_used_for_two_corpora(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"abstract": "Sets of words.", "keyphrases": ["sets"]}\nnot JSON\n')
    errors = ErrorPolicy("skip")
    for name in ("one", "two"):
        prepare(tmp_path / name, Inputs(train=[str(path)]), errors=errors)
        assert errors.report_file is None
        assert (tmp_path / name / "skipped.jsonl").read_text().count("\n") == 1


def test_a_corpus_may_be_empty(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", jsonl([Document("1", "", "Only this.", ())]))
    manifest = prepare(tmp_path / "corpus", Inputs(train=[path]))
    corpus = Corpus(tmp_path / "corpus")
    assert len(corpus.split("train")) == 0
    assert manifest.splits["train"].dropped == {"no keyphrases": 1}
    assert manifest.vocabulary_size == len(SPECIALS)


def test_progress_reaches_the_size_of_the_input(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    inputs = Inputs(
        train=[write(tmp_path, "a.jsonl", jsonl(make_documents(600)))],
        exclude=[write(tmp_path, "e.jsonl", jsonl(make_documents(5, seed=2)))],
    )
    prepare(tmp_path / "corpus", inputs, progress=lambda *now: reports.append(now))
    assert reports == sorted(reports)
    assert reports[-1] == (inputs.bytes(), 600)


# --- The same bytes -------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.usefixtures("small_parts")
def test_the_bytes_do_not_depend_on_the_workers(
    pieces: bool, tokenizer: Path, tmp_path: Path
) -> None:
    train = write(tmp_path, "a.jsonl", jsonl(make_documents(300)) + b"not JSON\n")
    test = write(tmp_path, "t.jsonl", jsonl(make_documents(40, seed=1)))
    for workers in (1, 2, 3):
        prepare(
            tmp_path / str(workers),
            Inputs(train=[train], tests={"t": test}),
            filters=Filters(hold_out=0.1),
            tokenizer=tokenizer if pieces else None,
            errors=ErrorPolicy("skip"),
            workers=workers,
        )
    one, two, three = (tree(tmp_path / str(workers)) for workers in (1, 2, 3))
    assert one == two == three
    assert {"manifest.json", "skipped.jsonl", "train/00002.arrow", "valid/00000.arrow"} <= set(one)


def test_the_bytes_do_not_depend_on_the_size_of_the_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = Inputs(train=[write(tmp_path, "a.jsonl", jsonl(make_documents(100)))])
    trees = []
    for size in (1, 30, 256):
        monkeypatch.setattr("one2set.data.corpus.encoding._CHUNK", size)
        prepare(tmp_path / str(size), inputs)
        trees.append(tree(tmp_path / str(size)))
    assert trees[0] == trees[1] == trees[2]


def test_shards_of_long_documents_are_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("one2set.data.corpus.encoding._CHUNK", 5)
    inputs = Inputs(train=[write(tmp_path, "a.jsonl", jsonl(make_documents(40)))])
    prepare(tmp_path / "one", inputs)
    monkeypatch.setattr("one2set.data.corpus.prepare._SHARD_TOKENS", 300)
    prepare(tmp_path / "many", inputs)
    one, many = (Corpus(tmp_path / name) for name in ("one", "many"))
    assert len(many.manifest.splits["train"].shards) > 2
    for example, other in zip(one.split("train"), many.split("train"), strict=True):
        assert (example.id, example.source.tolist()) == (other.id, other.source.tolist())


CHUNKS = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefgh"), max_size=12), st.booleans()), max_size=6
)


def add(dictionary: Dictionary, text: list[str], *, counted: bool) -> list[int]:
    """Hand over words as a worker does: as numbers into its own list, which may have more."""
    words = [*sorted(set(text), reverse=True), "unused"]
    tokens = np.array([words.index(word) for word in text], dtype=np.int32)
    return [int(id) for id in dictionary.add(tokens, words, counted=counted)]


@given(CHUNKS)
def test_the_order_is_that_of_a_counter(chunks: list[tuple[list[str], bool]]) -> None:
    dictionary = Dictionary()
    provisional = [add(dictionary, text, counted=counted) for text, counted in chunks]
    vocabulary, final = dictionary.close(size=10)

    counts = Counter(word for text, counted in chunks if counted for word in text)
    seen = list(dict.fromkeys(word for text, _ in chunks for word in text))
    expected = sorted(seen, key=lambda word: (-counts[word], seen.index(word)))
    assert vocabulary.words == [*SPECIALS, *expected]
    assert vocabulary.counts == [0] * len(SPECIALS) + [counts[word] for word in expected]
    # Words without a count were never in training: networks do not know them.
    assert vocabulary.size == min(10, len(SPECIALS) + len(counts))
    for (text, _), ids in zip(chunks, provisional, strict=True):
        assert [vocabulary.words[id] for id in final[ids]] == text


def test_specials_in_a_text_are_unknown_and_not_counted() -> None:
    dictionary = Dictionary()
    text = ["<unk>", "a", "<unk>", "<digit>", *SPECIALS]
    assert add(dictionary, text, counted=True) == [UNK, 7, UNK, 8, *[UNK] * len(SPECIALS)]
    vocabulary, final = dictionary.close(size=99)
    assert vocabulary.words == [*SPECIALS, "a", "<digit>"]
    assert vocabulary.counts == [*[0] * len(SPECIALS), 1, 1]
    assert final.tolist() == list(range(9))


@given(CHUNKS)
def test_words_that_a_model_knows_keep_their_ids(chunks: list[tuple[list[str], bool]]) -> None:
    """Whether or not the texts contain them; further words are ordered as usual."""
    model = WordVocabulary([*SPECIALS, "z", "c", "a", "only copied"], size=len(SPECIALS) + 3)
    dictionary, other = Dictionary(model), Dictionary()
    provisional = [add(dictionary, text, counted=counted) for text, counted in chunks]
    for text, counted in chunks:
        add(other, text, counted=counted)
    vocabulary, final = dictionary.close(size=5)
    rest = [word for word in other.close(size=5)[0].words if word not in (*SPECIALS, "z", "c", "a")]
    assert vocabulary.words == [*SPECIALS, "z", "c", "a", *rest]
    assert vocabulary.size == model.size
    for (text, _), ids in zip(chunks, provisional, strict=True):
        assert [vocabulary.words[id] for id in final[ids]] == text


@pytest.mark.parametrize("text", [[], ["a"]])
def test_a_dictionary_may_be_nearly_empty(text: list[str]) -> None:
    dictionary = Dictionary()
    add(dictionary, text, counted=True)
    vocabulary, _ = dictionary.close(size=99)
    assert vocabulary.words == [*SPECIALS, *text]
