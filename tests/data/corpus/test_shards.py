"""Shards: what is written is what is mapped, before and after ids change."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.data.corpus.shards import MappedShard, remap_shard, write_shard
from one2set.data.example import Example
from one2set.errors import DataError

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


def write(path: Path, examples: list[Example]) -> None:
    phrases = [[*one.present, *one.absent] for one in examples]
    none = np.zeros(0, np.int32)
    write_shard(
        path,
        ids=[one.id for one in examples],
        title_lengths=[one.title_length for one in examples],
        source=np.concatenate([one.source for one in examples]),
        source_lengths=[len(one.source) for one in examples],
        num_present=[len(one.present) for one in examples],
        phrase_counts=list(map(len, phrases)),
        words=np.concatenate([none, *(ids for each in phrases for ids in each)]),
        word_counts=[len(ids) for each in phrases for ids in each],
    )


def spelled(example: Example, new_ids: list[int] | None = None) -> tuple[object, ...]:
    """An example in lists, which can be compared."""
    names = new_ids or list(range(10))
    lists = [
        [[names[id] for id in ids] for ids in group]
        for group in ([example.source], example.present, example.absent)
    ]
    return example.id, example.title_length, lists


@given(examples=EXAMPLES)
def test_what_was_written_is_read(examples: list[Example], tmp_path: Path) -> None:
    write(tmp_path / "0.arrow", examples)
    shard = MappedShard(tmp_path / "0.arrow")
    assert [spelled(shard.example(at)) for at in range(len(shard))] == list(map(spelled, examples))
    assert np.diff(shard.source_ends).tolist() == [len(one.source) for one in examples]


@given(examples=EXAMPLES, new_ids=st.permutations(range(10)))
def test_remapping_changes_ids_and_nothing_else(
    examples: list[Example], new_ids: list[int], tmp_path: Path
) -> None:
    write(tmp_path / "0.arrow", examples)
    remap_shard(tmp_path / "0.arrow", tmp_path / "1.arrow", np.array(new_ids, np.int32))
    shard = MappedShard(tmp_path / "1.arrow")
    assert [spelled(shard.example(at)) for at in range(len(shard))] == [
        spelled(one, new_ids) for one in examples
    ]


def test_the_file_is_mapped_and_not_read(tmp_path: Path) -> None:
    many = Example("x", source=np.zeros(1_000_000, np.int32), title_length=0)
    write(tmp_path / "0.arrow", [many])
    source = MappedShard(tmp_path / "0.arrow").example(0).source
    assert len(source) == 1_000_000
    assert not source.flags.owndata
    assert not source.flags.writeable
    mapped = [
        line for line in Path("/proc/self/maps").read_text().splitlines() if "0.arrow" in line
    ]
    assert mapped


@pytest.mark.parametrize("content", [None, b"", b"ARROW1", b"x" * 1000])
def test_what_is_not_a_shard(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "0.arrow"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"is not a shard.*make the corpus again") as caught:
        MappedShard(path)
    assert caught.value.path == str(path)


def test_pyarrow_may_be_missing() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; import one2set.data.corpus.shards"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ConfigError" in done.stderr
    assert 'pip install "one2set[data]"' in done.stderr
