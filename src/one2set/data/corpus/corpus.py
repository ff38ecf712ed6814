"""A prepared corpus: a folder that training memory-maps.

    manifest.json            counts, filters, versions, hashes
    words.tsv                the dictionary (or tokenizer.json, for word pieces)
    train/00000.arrow …      shards: Arrow IPC files with one row per document, as dictionary ids
    valid/, inspec/, …       the other splits

`prepare` writes it with the functions of this module.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from one2set.data.example import Example, Ids
from one2set.data.vocabulary import Vocabulary, load_vocabulary, vocabulary_file
from one2set.errors import DataError, missing_extra

try:
    import pyarrow as pa
except ImportError:
    raise missing_extra("pyarrow", extra="data", purpose="a prepared corpus") from None

_Array = Any  # pyarrow is not typed

MANIFEST = "manifest.json"
FORMAT = 1
TRAIN, VALID = "train", "valid"  # other splits are test sets, under their own names


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Shard(_Strict):
    """One file of a split."""

    file: str
    documents: int
    bytes: int
    sha256: str
    repeat: int = 1  # how often an epoch draws each of its documents


class SplitCounts(_Strict):
    """The number of documents read, kept and dropped, and the reasons."""

    read: int
    documents: int
    source_words: int
    present: int
    absent: int
    dropped: dict[str, int]
    shards: tuple[Shard, ...]


class Manifest(_Strict):
    """What is known about a corpus without opening its shards."""

    format: int
    versions: dict[str, str]
    inputs: dict[str, tuple[str, ...]]
    filters: dict[str, int | float]
    skipped: int
    vocabulary_size: int
    vocabulary_sha256: str
    splits: dict[str, SplitCounts]

    def save(self, folder: Path) -> None:
        text = self.model_dump_json(indent=2)
        (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        path = folder / MANIFEST
        remedy = "make the corpus with one2set prepare"
        try:
            manifest = cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise DataError(f"cannot be read ({error.strerror})", fix=remedy, path=path) from None
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise DataError(f"{place}: {first['msg']}", fix=remedy, path=path) from None
        if manifest.format != FORMAT:
            what = f"format is {manifest.format}; this version of one2set reads {FORMAT}"
            raise DataError(what, fix=remedy, path=path)
        return manifest


class Split(Sequence[Example]):
    """The examples of a split, read from memory-mapped shards on access."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._shards = [MappedShard(path) for path in paths]
        self._ends = list(accumulate(len(shard) for shard in self._shards))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Example: ...
    @overload
    def __getitem__(self, index: slice) -> list[Example]: ...
    def __getitem__(self, index: int | slice) -> Example | list[Example]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        shard = bisect_right(self._ends, index)
        start = self._ends[shard - 1] if shard else 0
        return self._shards[shard].example(index - start)

    def source_lengths(self) -> NDArray[np.int64]:
        """The number of source ids of every document, to batch documents of similar length."""
        lengths = [np.diff(shard.source_ends) for shard in self._shards]
        return np.concatenate(lengths).astype(np.int64) if lengths else np.zeros(0, np.int64)


def spread_indices(total: int, count: int) -> list[int]:
    """`count` of `total` indices, evenly spaced; all of them if `count` is 0."""
    if not count or count >= total:
        return list(range(total))
    return [index * total // count for index in range(count)]


class Corpus:
    """A corpus that `one2set prepare` wrote, memory-mapped.

    Args:
        folder: The corpus folder.

    Raises:
        DataError: If the manifest cannot be read, or a file does not have its recorded size.

    Examples:
        >>> corpus = Corpus("my-corpus")
        >>> example = corpus.split("train")[0]
        >>> corpus.vocabulary().text(example.present[0])
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest = Manifest.load(self.folder)
        for name, counts in self.manifest.splits.items():
            for shard in counts.shards:
                path = self.folder / name / shard.file
                size = path.stat().st_size if path.exists() else 0
                if size != shard.bytes:
                    raise _changed(path, f"has {size:,} bytes; the manifest has {shard.bytes:,}")

    def split(self, name: str) -> Split:
        """The examples of a split: "train", "valid" or the name of a test set."""
        counts = self.manifest.splits.get(name)
        if counts is None:
            raise DataError(
                f"has no split {name!r}; it has {', '.join(self.manifest.splits)}",
                fix="name one of these, or prepare the corpus with it",
                path=self.folder,
            )
        return Split(
            [
                self.folder / name / shard.file
                for shard in counts.shards
                for _ in range(shard.repeat)
            ]
        )

    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the corpus."""
        return load_vocabulary(self.folder, size=self.manifest.vocabulary_size)

    def verify(self) -> None:
        """Compare every shard and the vocabulary with their hashes in the manifest."""
        hashes = {
            self.folder / name / shard.file: shard.sha256
            for name, counts in self.manifest.splits.items()
            for shard in counts.shards
        }
        hashes[vocabulary_file(self.folder)] = self.manifest.vocabulary_sha256
        for path, digest in hashes.items():
            if not path.exists() or file_hash(path) != digest:
                raise _changed(path, "does not have the hash of the manifest")


def _changed(path: Path, what: str) -> DataError:
    return DataError(what, fix="make the corpus again with one2set prepare", path=path)


def file_hash(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- Shards ---------------------------------------------------------------------------------------


class MappedShard:
    """A shard as numpy views of its memory-mapped file: nothing is copied until it is used."""

    def __init__(self, path: Path) -> None:
        try:
            with pa.memory_map(str(path)) as file:
                batch = pa.ipc.open_file(file).get_batch(0)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(
                f"is not a shard of a corpus ({error})",
                fix="make the corpus again with one2set prepare",
                path=path,
            ) from None
        self._ids = batch.column("id")
        self._title_lengths = _numpy(batch.column("title_length"))
        self._num_present = _numpy(batch.column("num_present"))
        self._source, self.source_ends = _flat(batch.column("source"))
        phrases = batch.column("phrases")
        self._phrase_ends = _numpy(phrases.offsets)
        self._words, self._word_ends = _flat(phrases.values)

    def __len__(self) -> int:
        return len(self._title_lengths)

    def example(self, index: int) -> Example:
        first, last = self._phrase_ends[index : index + 2]
        ends = self._word_ends[first : last + 1]
        phrases = [self._words[a:b] for a, b in pairwise(ends)]
        num_present = int(self._num_present[index])
        return Example(
            self._ids[index].as_py(),
            source=self._source[self.source_ends[index] : self.source_ends[index + 1]],
            title_length=int(self._title_lengths[index]),
            present=tuple(phrases[:num_present]),
            absent=tuple(phrases[num_present:]),
        )


def write_shard(
    path: Path,
    *,
    ids: Sequence[str],
    title_lengths: Sequence[int],
    source: Ids,
    source_lengths: Sequence[int],
    num_present: Sequence[int],
    phrase_counts: Sequence[int],
    words: Ids,
    word_counts: Sequence[int],
) -> None:
    """Write a shard. `source` and `words` are the ids of all its documents, concatenated."""
    phrases = pa.ListArray.from_arrays(_offsets(word_counts), pa.array(words, pa.int32()))
    columns = {
        "id": pa.array(ids, pa.string()),
        "title_length": pa.array(title_lengths, pa.int32()),
        "num_present": pa.array(num_present, pa.int32()),
        "source": pa.ListArray.from_arrays(_offsets(source_lengths), pa.array(source, pa.int32())),
        "phrases": pa.ListArray.from_arrays(_offsets(phrase_counts), phrases),
    }
    batch = pa.RecordBatch.from_pydict(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def remap_shard(path: Path, target: Path, new_ids: Ids) -> None:
    """Rewrite a shard with new ids: `new_ids[old]`."""
    with pa.memory_map(str(path)) as file:
        batch = pa.ipc.open_file(file).get_batch(0)
        source, phrases = batch.column("source"), batch.column("phrases")
        words = _remap(phrases.values, new_ids)
        columns = [
            *(batch.column(name) for name in ("id", "title_length", "num_present")),
            _remap(source, new_ids),
            pa.ListArray.from_arrays(phrases.offsets, words),
        ]
        moved = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
        with pa.OSFile(str(target), "wb") as out, pa.ipc.new_file(out, moved.schema) as writer:
            writer.write_batch(moved)


def _offsets(counts: Sequence[int]) -> _Array:
    return pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())


def _numpy(array: _Array) -> NDArray[np.int32]:
    view: NDArray[np.int32] = array.to_numpy(zero_copy_only=True)
    return view


def _flat(lists: _Array) -> tuple[Ids, NDArray[np.int32]]:
    return _numpy(lists.values), _numpy(lists.offsets)


def _remap(lists: _Array, new_ids: Ids) -> _Array:
    return pa.ListArray.from_arrays(lists.offsets, pa.array(new_ids[_numpy(lists.values)]))
