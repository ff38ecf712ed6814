"""Beam search over each row independently: the phrase of a control code, or a sequence.

Hypotheses are ranked by log P / length^penalty, where the length includes `<eos>`. A finished
hypothesis keeps its slot in the beam, so fewer remain active and a row becomes cheaper as its
hypotheses finish. A beam of one is greedy decoding.

Whether a code is ∅ is decided as in greedy decoding, by its first token; only other codes are
searched. If ∅ were ranked with the phrases, the length penalty would decide.

Shapes: B documents, R rows per document, W hypotheses per row, T steps; n active hypotheses of
all rows, sorted by row; M candidate words for each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from one2set.data.specials import BOS, NULL
from one2set.model.network import Memory, Network
from one2set.model.pointer import ChosenTokens
from one2set.prediction.greedy import DecodedRows


class Beams(NamedTuple):
    """Decoded hypotheses, best first. Where a row has fewer than W, the score is −∞."""

    length: Tensor  # (B, R, W) number of tokens, including the one that ended it
    tokens: Tensor  # (B, R, W, T) extended ids; cells after the end are zero, here and below
    probability: Tensor  # (B, R, W, T) of each token
    position: Tensor  # (B, R, W, T) of the most attended source word
    null: Tensor  # (B, R) the probability of ∅ as the first token
    score: Tensor  # (B, R, W)

    def best(self) -> DecodedRows:
        """The best hypothesis of each row."""
        length, tokens, probability, position = (x[:, :, 0] for x in self[:4])
        return DecodedRows(length, tokens, probability, position, self.null)


class _Paths(NamedTuple):
    """The steps of any number of hypotheses."""

    length: Tensor  # (…)
    tokens: Tensor  # (…, T)
    probability: Tensor
    position: Tensor

    @classmethod
    def empty(cls, shape: Sequence[int], device: torch.device) -> "_Paths":
        tokens = torch.zeros(*shape, dtype=torch.int64, device=device)
        probability = torch.zeros_like(tokens, dtype=torch.float32)
        return cls(tokens[..., 0].clone(), tokens, probability, tokens.clone())

    def select(self, indices: Tensor) -> "_Paths":
        return _Paths(*(x[indices] for x in self))


@torch.no_grad()
def beam_search(
    network: Network,
    memory: Memory,
    *,
    stop_ids: Sequence[int],
    steps: int,
    beam: int,
    length_penalty: float,
    pool: bool = False,
) -> Beams:
    """Search each row until it generates one of `stop_ids`: `PHRASE_STOP_IDS` for a set,
    `SEQUENCE_STOP_IDS` for a sequence. With `pool`, every row returns a full beam of phrases, even
    where ∅ is its best first token."""
    device = memory.copy_source.extended_ids.device
    state = network.start(memory, steps=steps)
    rows = len(state.documents)
    stops = torch.tensor(stop_ids, device=device)
    null = torch.zeros(rows, device=device)

    ended = _Paths.empty((rows, beam, steps), device)
    score = torch.full((rows, beam), -torch.inf, device=device)
    num_ended = torch.zeros(rows, dtype=torch.int64, device=device)

    row = torch.arange(rows, device=device)  # (n,)
    log_probability = torch.zeros(rows, device=device)
    paths = _Paths.empty((rows, steps), device)
    tokens = torch.full_like(row, BOS)
    for t in range(steps):
        mixture = network.step(state, tokens)
        choice = mixture.top(beam + 1)  # one more, as ∅ may be removed
        if t == 0 and NULL in stop_ids:
            null = mixture.probability(torch.full_like(row, NULL)[:, None]).squeeze(1)
            choice = _decide_null(choice, pool=pool)
        totals = log_probability[:, None] + choice.probability.log()  # (n, M)
        row, parent, column, log_probability = _best(row, totals, beam - num_ended)

        paths = paths.select(parent)
        paths.length.fill_(t + 1)
        tokens = choice.tokens[parent, column]
        paths.tokens[:, t], paths.probability[:, t] = tokens, choice.probability[parent, column]
        paths.position[:, t] = mixture.attention.argmax(1)[parent]

        stopped = (
            torch.isin(tokens, stops)
            if t < steps - 1
            else torch.ones_like(tokens, dtype=torch.bool)
        )
        position = num_ended[row[stopped]] + _rank(row[stopped])
        for all_ended, new in zip(ended, paths.select(stopped), strict=True):
            all_ended[row[stopped], position] = new
        score[row[stopped], position] = log_probability[stopped] / (t + 1) ** length_penalty
        num_ended += torch.bincount(row[stopped], minlength=rows)

        active = ~stopped
        if not pool:
            # log P only decreases, so this is an upper bound on the final score.
            active &= log_probability / steps**length_penalty > score.max(1).values[row]
        active = active.nonzero().squeeze(1)
        if len(active) == 0:
            break
        state, row, tokens = state.select(parent[active]), row[active], tokens[active]
        paths, log_probability = paths.select(active), log_probability[active]

    score, order = score.sort(dim=1, descending=True, stable=True)
    at = torch.arange(rows, device=device)[:, None]
    ordered = (x[at, order] for x in ended)
    grid = (len(memory.lengths), network.rows)
    return Beams(*(x.view(*grid, *x.shape[1:]) for x in (*ordered, null, score)))


def _decide_null(choice: ChosenTokens, *, pool: bool) -> ChosenTokens:
    """First words (n, M): keep only ∅ where it is the best, otherwise all but ∅."""
    is_null = choice.tokens == NULL
    row_is_null = is_null[:, :1] & (not pool)
    return ChosenTokens(choice.tokens, choice.probability * (is_null == row_is_null))


def _best(row: Tensor, totals: Tensor, room: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best continuations of each row, as many as it has `room` (rows,) for.

    totals (n, M) are their log-probabilities. Four of (n',): the row, which of the n hypotheses is
    continued, with which of its M words, and the log-probability; best first within a row.
    """
    rank = _rank(row)
    width = int(room.max())
    table = totals.new_full((len(room), int(rank.max()) + 1, totals.shape[1]), -torch.inf)
    table[row, rank] = totals
    best, index = table.flatten(1).topk(min(width, table[0].numel()))  # (rows, ≤ W)
    position = torch.arange(best.shape[1], device=row.device)
    kept = (position < room[:, None]) & (best > -torch.inf)
    new_row = kept.nonzero()[:, 0]
    parent, column = index[kept] // totals.shape[1], index[kept] % totals.shape[1]
    return new_row, torch.searchsorted(row, new_row) + parent, column, best[kept]


def _rank(row: Tensor) -> Tensor:
    """The index of each hypothesis within its row; `row` is sorted."""
    return torch.arange(len(row), device=row.device) - torch.searchsorted(row, row)
