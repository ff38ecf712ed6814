"""An epoch has every document once, within the limits, and depends on the seed only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from one2set.training.batches import Batches, split_batch

lengths_lists = st.lists(st.integers(1, 400), min_size=1, max_size=200)


@given(
    lengths=lengths_lists,
    limits=st.sampled_from([(4, 0), (0, 600), (5, 500), (1, 0), (0, 1)]),
    pool=st.sampled_from([1, 3, 50]),
    epoch=st.integers(0, 3),
)
def test_an_epoch_has_every_document_once_within_the_limits(
    lengths: list[int], limits: tuple[int, int], pool: int, epoch: int
) -> None:
    documents, tokens = limits
    batches = Batches(np.array(lengths), documents=documents, tokens=tokens, pool=pool, seed=1)
    result = batches.epoch(epoch)
    assert sorted(np.concatenate(result).tolist()) == list(range(len(lengths)))
    for batch in result:
        longest = max(lengths[index] for index in batch)
        assert lengths[batch[0]] == longest
        assert not documents or len(batch) <= documents
        assert not tokens or len(batch) == 1 or len(batch) * longest <= tokens


def test_epochs_follow_from_seed_and_number_alone() -> None:
    lengths = np.random.default_rng(0).integers(5, 300, 500)

    def order(seed: int, epoch: int) -> list[list[int]]:
        batches = Batches(lengths, documents=0, tokens=2000, pool=10, seed=seed)
        return [batch.tolist() for batch in batches.epoch(epoch)]

    assert order(7, 2) == order(7, 2)
    assert order(7, 2) != order(7, 3)
    assert order(7, 2) != order(8, 2)


def test_pools_group_similar_lengths() -> None:
    lengths = np.random.default_rng(0).integers(5, 300, 1000)

    def padding(pool: int) -> float:
        batches = Batches(lengths, documents=12, tokens=0, pool=pool, seed=0).epoch(0)
        cells = sum(len(batch) * lengths[batch].max() for batch in batches)
        return float(1 - lengths.sum() / cells)

    assert padding(1) > 0.4
    assert padding(20) < 0.1


def test_batches_of_one_pool_do_not_come_sorted() -> None:
    lengths = np.arange(1, 201)
    batches = Batches(lengths, documents=10, tokens=0, pool=50, seed=0).epoch(0)
    firsts = [int(lengths[batch[0]]) for batch in batches]
    assert firsts not in (sorted(firsts), sorted(firsts, reverse=True))


@pytest.mark.parametrize(("documents", "micro_batches"), [(7, 3), (2, 4), (1, 1)])
def test_every_document_is_in_one_micro_batch(documents: int, micro_batches: int) -> None:
    batch = np.arange(documents)
    parts = split_batch(batch, micro_batches)
    assert len(parts) == micro_batches
    assert sorted(np.concatenate(parts).tolist()) == batch.tolist()
    sizes = [len(micro_batch) for micro_batch in parts]
    assert max(sizes) - min(sizes) <= 1
