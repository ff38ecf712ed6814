"""Corpus folders are read by index, and refused if they were changed."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.corpus.corpus import (
    Corpus,
    Manifest,
    MappedShard,
    file_hash,
    remap_shard,
    spread_indices,
    write_shard,
)
from one2set.data.corpus.prepare import Inputs, prepare
from one2set.data.corpus.selection import Filters
from one2set.data.example import Example
from one2set.errors import DataError
from tests.data.formats import DOCUMENTS, jsonl, write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A corpus whose training split has two shards."""
    monkeypatch.setattr("one2set.data.corpus.prepare._SHARD", 2)
    monkeypatch.setattr("one2set.data.corpus.encoding._CHUNK", 1)
    path = write(tmp_path, "papers.jsonl", jsonl())
    prepare(tmp_path / "corpus", Inputs(train=[path], tests={"same": path}))
    return tmp_path / "corpus"


@pytest.fixture
def unseen_title(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training keeps the titles of the other splits, so that one file serves both."""
    monkeypatch.setattr("one2set.data.corpus.prepare._excluded_titles", lambda *_: frozenset())


pytestmark = pytest.mark.usefixtures("unseen_title")


def lists(example: Example) -> list[list[int]]:
    return [ids.tolist() for ids in (example.source, *example.present, *example.absent)]


@pytest.mark.parametrize("split", ["train", "same"])
def test_examples_are_the_documents(split: str, folder: Path) -> None:
    corpus = Corpus(folder)
    examples, vocabulary = corpus.split(split), corpus.vocabulary()
    assert len(corpus.manifest.splits[split].shards) == 2
    assert len(examples) == len(DOCUMENTS)
    for example, document in zip(examples, DOCUMENTS, strict=True):
        assert lists(example) == lists(vocabulary.encode(document))
        assert vocabulary.text(example.source.tolist()).split() == document.words()
        assert (example.id, example.title_length) == (document.id, len(document.title_words()))


def test_a_split_is_a_sequence(folder: Path) -> None:
    split = Corpus(folder).split("train")
    ids = [document.id for document in DOCUMENTS]
    assert [example.id for example in split] == ids
    assert [example.id for example in split[::-1]] == ids[::-1]
    assert [split[at].id for at in range(-3, 3)] == ids * 2
    assert split[np.int64(1)].id == ids[1]  # type: ignore[call-overload]
    for index in (3, -4):
        with pytest.raises(IndexError):
            split[index]
    assert split.source_lengths().tolist() == [len(document.words()) for document in DOCUMENTS]


def test_a_split_may_be_empty(tmp_path: Path) -> None:
    path = write(tmp_path, "papers.jsonl", jsonl())
    prepare(tmp_path / "corpus", Inputs(train=[path]), filters=Filters(hold_out=1e-9))
    split = Corpus(tmp_path / "corpus").split("valid")
    assert (len(split), list(split), split.source_lengths().tolist()) == (0, [], [])


def test_a_missing_split_is_an_error(folder: Path) -> None:
    with pytest.raises(DataError, match="has no split 'valid'; it has train, same; name one"):
        Corpus(folder).split("valid")


def test_a_shard_of_another_size_is_refused(folder: Path) -> None:
    path = folder / "train" / "00001.arrow"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=f"has {size - 1:,} bytes; the manifest has {size:,}"):
        Corpus(folder)
    path.unlink()
    with pytest.raises(DataError, match=r"has 0 bytes.*make the corpus again") as caught:
        Corpus(folder)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("name", ["train/00000.arrow", "same/00001.arrow", "words.tsv"])
def test_a_changed_byte_is_found(name: str, folder: Path) -> None:
    corpus = Corpus(folder)
    corpus.verify()
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(DataError, match="does not have the hash") as caught:
        corpus.verify()
    assert caught.value.path == str(folder / name)
    (folder / name).unlink()
    with pytest.raises(DataError, match="does not have the hash"):
        corpus.verify()


def test_hashes_are_those_of_the_files(folder: Path) -> None:
    manifest = Manifest.load(folder)
    assert manifest.vocabulary_sha256 == file_hash(folder / "words.tsv")
    for name, split in manifest.splits.items():
        for shard in split.shards:
            path = folder / name / shard.file
            assert (shard.bytes, shard.sha256) == (path.stat().st_size, file_hash(path))


def test_manifests_that_cannot_be_used(folder: Path) -> None:
    path = folder / "manifest.json"
    good = json.loads(path.read_text())
    for bad, what in (
        ({**good, "format": 2}, "format is 2; this version of one2set reads 1"),
        ({**good, "surprise": 1}, "surprise: Extra inputs"),
        ({key: good[key] for key in good if key != "splits"}, "splits: Field required"),
        ([], "Input should be an object"),
    ):
        path.write_text(json.dumps(bad))
        with pytest.raises(DataError, match=f"{what}.*make the corpus with one2set prepare"):
            Corpus(folder)
    path.write_text("{")
    with pytest.raises(DataError, match="Invalid JSON"):
        Corpus(folder)
    path.unlink()
    with pytest.raises(DataError, match=r"cannot be read \(No such file"):
        Corpus(folder)


IDS = st.lists(st.integers(0, 9), max_size=5).map(lambda ids: np.array(ids, np.int32))
EXAMPLE = st.builds(
    Example,
    st.text(max_size=3),
    source=IDS,
    title_length=st.integers(0, 5),
    present=st.lists(IDS, max_size=3).map(tuple),
    absent=st.lists(IDS, max_size=3).map(tuple),
)
EXAMPLES = st.lists(EXAMPLE, min_size=1, max_size=4)


def write_examples(path: Path, examples: list[Example]) -> None:
    phrases = [[*example.present, *example.absent] for example in examples]
    none = np.zeros(0, np.int32)
    write_shard(
        path,
        ids=[example.id for example in examples],
        title_lengths=[example.title_length for example in examples],
        source=np.concatenate([example.source for example in examples]),
        source_lengths=[len(example.source) for example in examples],
        num_present=[len(example.present) for example in examples],
        phrase_counts=list(map(len, phrases)),
        words=np.concatenate([none, *(ids for each in phrases for ids in each)]),
        word_counts=[len(ids) for each in phrases for ids in each],
    )


def spell_words(example: Example, new_ids: list[int] | None = None) -> tuple[object, ...]:
    """An example in lists, which can be compared."""
    names = new_ids or list(range(10))
    lists = [
        [[names[id] for id in ids] for ids in group]
        for group in ([example.source], example.present, example.absent)
    ]
    return example.id, example.title_length, lists


@given(examples=EXAMPLES)
def test_a_written_shard_is_read_back(examples: list[Example], tmp_path: Path) -> None:
    write_examples(tmp_path / "0.arrow", examples)
    shard = MappedShard(tmp_path / "0.arrow")
    assert [spell_words(shard.example(at)) for at in range(len(shard))] == list(
        map(spell_words, examples)
    )
    assert np.diff(shard.source_ends).tolist() == [len(example.source) for example in examples]


@given(examples=EXAMPLES, new_ids=st.permutations(range(10)))
def test_remapping_changes_ids_and_nothing_else(
    examples: list[Example], new_ids: list[int], tmp_path: Path
) -> None:
    write_examples(tmp_path / "0.arrow", examples)
    remap_shard(tmp_path / "0.arrow", tmp_path / "1.arrow", np.array(new_ids, np.int32))
    shard = MappedShard(tmp_path / "1.arrow")
    assert [spell_words(shard.example(at)) for at in range(len(shard))] == [
        spell_words(example, new_ids) for example in examples
    ]


def test_shards_are_memory_mapped(tmp_path: Path) -> None:
    many = Example("x", source=np.zeros(1_000_000, np.int32), title_length=0)
    write_examples(tmp_path / "0.arrow", [many])
    source = MappedShard(tmp_path / "0.arrow").example(0).source
    assert len(source) == 1_000_000
    assert not source.flags.owndata
    assert not source.flags.writeable
    mapped = [
        line for line in Path("/proc/self/maps").read_text().splitlines() if "0.arrow" in line
    ]
    assert mapped


@pytest.mark.parametrize("content", [None, b"", b"ARROW1", b"x" * 1000])
def test_an_invalid_shard_is_an_error(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "0.arrow"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"is not a shard.*make the corpus again") as caught:
        MappedShard(path)
    assert caught.value.path == str(path)


def test_pyarrow_may_be_missing() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; import one2set.data.corpus.corpus"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ConfigError" in done.stderr
    assert 'pip install "one2set[data]"' in done.stderr


def test_spread_indices_takes_indices_from_everywhere() -> None:
    assert spread_indices(10, 0) == list(range(10))
    assert spread_indices(10, 99) == list(range(10))
    assert spread_indices(10, 3) == [0, 3, 6]
    assert len(set(spread_indices(1003, 100))) == 100
