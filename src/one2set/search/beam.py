"""Beam search, for each row by itself: a control code's phrase, or a sequence.

Hypotheses are ranked by log P / length^penalty, where the length counts `<eos>`. One that ends
keeps its place in the beam, and the others become fewer. So a row costs less the more of its
hypotheses have ended, nothing when all have, and a beam of one is greedy decoding.

Whether a code says ∅ is decided as in greedy decoding, by its first token; the search is for the
best phrase of a code that says one. Ranked with the phrases, ∅ would win or lose by the penalty.

Shapes: B documents, R rows per document, W hypotheses per row, T steps; n living hypotheses of all
rows, sorted by row; M words that may follow each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from one2set.data.specials import BOS, EOS, NULL
from one2set.model.network import Memory, Network
from one2set.model.pointer import Choice
from one2set.search.greedy import Rows


class Beams(NamedTuple):
    """What was written, best first. Where a row has fewer hypotheses, their score is −∞."""

    length: Tensor  # (B, R, W) tokens written, with the one that ended it
    tokens: Tensor  # (B, R, W, T) extended ids; cells after the end are zero, here and below
    probability: Tensor  # (B, R, W, T) of each token
    place: Tensor  # (B, R, W, T) the most attended source word
    null: Tensor  # (B, R) the probability of ∅ as the first token
    score: Tensor  # (B, R, W)

    def best(self) -> Rows:
        """The best hypothesis of each row."""
        length, tokens, probability, place = (x[:, :, 0] for x in self[:4])
        return Rows(length, tokens, probability, place, self.null)


class _Paths(NamedTuple):
    """The steps of hypotheses, any number of them."""

    length: Tensor  # (…)
    tokens: Tensor  # (…, T)
    probability: Tensor
    place: Tensor

    @classmethod
    def empty(cls, shape: Sequence[int], device: torch.device) -> "_Paths":
        tokens = torch.zeros(*shape, dtype=torch.int64, device=device)
        probability = torch.zeros_like(tokens, dtype=torch.float32)
        return cls(tokens[..., 0].clone(), tokens, probability, tokens.clone())

    def select(self, indices: Tensor) -> "_Paths":
        return _Paths(*(x[indices] for x in self))


def beam_set(
    network: Network,
    memory: Memory,
    *,
    steps: int,
    beam: int,
    length_penalty: float,
    pool: bool = False,
) -> Beams:
    """Each row until `<eos>` or ∅. For a `pool` of candidates, every row gives a full beam of
    phrases, also where ∅ is its first token."""
    return _search(network, memory, steps, beam, length_penalty, (EOS, NULL), pool=pool)


def beam_sequence(
    network: Network,
    memory: Memory,
    *,
    steps: int,
    beam: int,
    length_penalty: float,
    pool: bool = False,
) -> Beams:
    """One row per document until `<eos>`; for a `pool`, a full beam of them."""
    return _search(network, memory, steps, beam, length_penalty, (EOS,), pool=pool)


@torch.no_grad()
def _search(
    network: Network,
    memory: Memory,
    steps: int,
    beam: int,
    length_penalty: float,
    ends: Sequence[int],
    *,
    pool: bool,
) -> Beams:
    device = memory.words.extended.device
    state = network.start(memory, steps=steps)
    rows = len(state.documents)
    stops = torch.tensor(ends, device=device)
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
        choice = mixture.top(beam + 1)  # one more, as ∅ may be left out
        if t == 0 and NULL in ends:
            null = mixture.probability(torch.full_like(row, NULL)[:, None]).squeeze(1)
            choice = _decide_null(choice, pool=pool)
        totals = log_probability[:, None] + choice.probability.log()  # (n, M)
        row, parent, column, log_probability = _best(row, totals, beam - num_ended)

        paths = paths.select(parent)
        paths.length.fill_(t + 1)
        tokens = choice.tokens[parent, column]
        paths.tokens[:, t], paths.probability[:, t] = tokens, choice.probability[parent, column]
        paths.place[:, t] = mixture.attention.argmax(1)[parent]

        stopped = torch.isin(tokens, stops) if t < steps - 1 else torch.ones_like(tokens) > 0
        place = num_ended[row[stopped]] + _rank(row[stopped])
        for all_ended, new in zip(ended, paths.select(stopped), strict=True):
            all_ended[row[stopped], place] = new
        score[row[stopped], place] = log_probability[stopped] / (t + 1) ** length_penalty
        num_ended += torch.bincount(row[stopped], minlength=rows)

        living = ~stopped
        if not pool:
            # log P only falls, so a hypothesis can at best reach this score, at full length.
            living &= log_probability / steps**length_penalty > score.max(1).values[row]
        living = living.nonzero().squeeze(1)
        if len(living) == 0:
            break
        state, row, tokens = state.select(parent[living]), row[living], tokens[living]
        paths, log_probability = paths.select(living), log_probability[living]

    score, order = score.sort(dim=1, descending=True, stable=True)
    at = torch.arange(rows, device=device)[:, None]
    ordered = (x[at, order] for x in ended)
    grid = (len(memory.lengths), network.rows)
    return Beams(*(x.view(*grid, *x.shape[1:]) for x in (*ordered, null, score)))


def _decide_null(choice: Choice, *, pool: bool) -> Choice:
    """First words (n, M): only ∅ where it is the best of them, otherwise all but ∅."""
    is_null = choice.tokens == NULL
    says_null = is_null[:, :1] & (not pool)
    return Choice(choice.tokens, choice.probability * (is_null == says_null))


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
    place = torch.arange(best.shape[1], device=row.device)
    kept = (place < room[:, None]) & (best > -torch.inf)
    new_row = kept.nonzero()[:, 0]
    parent, column = index[kept] // totals.shape[1], index[kept] % totals.shape[1]
    return new_row, torch.searchsorted(row, new_row) + parent, column, best[kept]


def _rank(row: Tensor) -> Tensor:
    """The number of each among those of its row, which stand together."""
    return torch.arange(len(row), device=row.device) - torch.searchsorted(row, row)
