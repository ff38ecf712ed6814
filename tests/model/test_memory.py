"""What a decoder keeps of the rows that it is writing."""

import torch

from one2set.model.memory import Cache, TransformerMemory, TransformerState
from one2set.model.pointer import Words


def cache(rows: int) -> Cache:
    kept = Cache(torch.full((rows, 3, 2), -1.0), torch.full((rows, 3, 2), -1.0))
    for step in (1.0, 2.0):
        key = step + 10 * torch.arange(rows)[:, None].expand(-1, 2)
        kept.append(key, -key)
    return kept


def test_a_cache_returns_all_steps_until_now() -> None:
    key, value = cache(2).append(torch.tensor([[3.0, 3.0], [13.0, 13.0]]), torch.zeros(2, 2))
    assert key[..., 0].tolist() == [[1, 2, 3], [11, 12, 13]]
    assert value[..., 0].tolist() == [[-1, -2, 0], [-11, -12, 0]]


def test_selected_rows_are_copies_with_room_for_more() -> None:
    kept = cache(3)
    chosen = kept.select(torch.tensor([2, 2, 0]))
    key, _ = chosen.append(torch.full((3, 2), 9.0), torch.zeros(3, 2))
    assert key[..., 0].tolist() == [[21, 22, 9], [21, 22, 9], [1, 2, 9]]
    assert kept.length == 2


def test_a_state_counts_the_rows_of_each_document() -> None:
    words = Words(torch.zeros(3, 1), torch.zeros(3, 1))
    memory = TransformerMemory((1, 1, 1), words, torch.zeros(3, 2), [])
    state = TransformerState(
        memory, [0, 0, 1, 2, 2], torch.tensor([0, 1, 0, 0, 1]), [cache(5)], step=2
    )
    assert state.counts == [2, 1, 2]
    some = state.select(torch.tensor([1, 3, 4]))
    assert some.counts == [1, 0, 2]
    assert some.row.tolist() == [1, 0, 1]
    assert some.step == 2
    assert some.caches[0].key[:, 0, 0].tolist() == [11, 31, 41]
