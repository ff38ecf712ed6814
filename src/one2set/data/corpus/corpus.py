"""A prepared corpus: a folder that training memory-maps.

    manifest.json            counts, filters, versions, hashes
    words.tsv                the dictionary (or tokenizer.json, for word pieces)
    train/00000.arrow …      shards of Arrow IPC, one row a document, dictionary ids
    valid/, inspec/, …       the other splits

`prepare` writes it; this module knows its layout and reads it.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from one2set.data.corpus.shards import MappedShard
from one2set.data.example import Example, Examples
from one2set.data.vocabulary import Vocabulary, load_vocabulary, vocabulary_file
from one2set.errors import DataError

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
    """What was read, kept and left out, and why."""

    read: int
    documents: int
    source_words: int
    present: int
    absent: int
    dropped: dict[str, int]
    shards: tuple[Shard, ...]


class Manifest(_Strict):
    """All that is known of a corpus without opening its shards."""

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


class Split(Examples):
    """A split's examples, read from memory-mapped shards as they are asked for."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._shards = [MappedShard(path) for path in paths]
        self._ends = list(accumulate(len(shard) for shard in self._shards))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def at(self, index: int) -> Example:
        shard = bisect_right(self._ends, index)
        start = self._ends[shard - 1] if shard else 0
        return self._shards[shard].example(index - start)

    def source_lengths(self) -> NDArray[np.int64]:
        """The number of source ids of every document, for batches of like lengths."""
        lengths = [np.diff(shard.source_ends) for shard in self._shards]
        return np.concatenate(lengths).astype(np.int64) if lengths else np.zeros(0, np.int64)


class Corpus:
    """A corpus that `one2set prepare` wrote, memory-mapped.

    Args:
        folder: The corpus folder.

    Raises:
        DataError: If the manifest cannot be read, or a file does not have its recorded size.

    Example:
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
                    raise _changed(path, f"has {size:,} bytes; the manifest says {shard.bytes:,}")

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
                raise _changed(path, "does not have the hash that the manifest says")


def _changed(path: Path, what: str) -> DataError:
    return DataError(what, fix="make the corpus again with one2set prepare", path=path)


def file_hash(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
