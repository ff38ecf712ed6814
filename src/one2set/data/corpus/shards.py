"""Shards: documents as Arrow IPC files, written flat and read as memory-mapped numpy views."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from one2set.data.example import Example, Ids
from one2set.errors import DataError, missing_extra

try:
    import pyarrow as pa
except ImportError:
    raise missing_extra("pyarrow", extra="data", purpose="a prepared corpus") from None

_Array = Any  # pyarrow is not typed


class MappedShard:
    """Arrow's columns as numpy views of the file: nothing is copied until it is used."""

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
    """Write documents, flattened: `source` and `words` hold all ids one after the other."""
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
    """Write a shard again with other ids: `new_ids[old]`."""
    with pa.memory_map(str(path)) as file:
        batch = pa.ipc.open_file(file).get_batch(0)
        source, phrases = batch.column("source"), batch.column("phrases")
        words = _remapped(phrases.values, new_ids)
        columns = [
            *(batch.column(name) for name in ("id", "title_length", "num_present")),
            _remapped(source, new_ids),
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


def _remapped(lists: _Array, new_ids: Ids) -> _Array:
    return pa.ListArray.from_arrays(lists.offsets, pa.array(new_ids[_numpy(lists.values)]))
