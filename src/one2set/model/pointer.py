"""The copy mechanism (§3.2): a mixture of the vocabulary and the words of the source.

    P(w) = g · softmax(W z)(w) + (1 − g) · Σ_{i: source_i = w} attention_i

over the extended vocabulary. Probabilities are computed by chunks of the vocabulary: a loss needs
their log-sum-exp and one logit; an arg max needs the best word of the vocabulary and the words of
the document. `distribution` computes the whole mixture: the reference for tests.

Shapes: R rows (sorted by document), B documents, S source words, D width, V vocabulary, X extended
vocabulary, M requested words per row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from one2set.model.layers import Linear, is_small_batch

EPSILON = 1e-8  # added to a probability before its logarithm, as in the authors' release
_CHUNK = 2048  # words of the vocabulary at a time: their logits stay in a CPU's cache
_KEPT = 2**25  # numbers (128 MB) that a loss may keep for its gradient


class ChosenTokens(NamedTuple):
    """One token for each row, or several."""

    tokens: Tensor  # (R,) or (R, M), extended ids
    probability: Tensor  # in the same shape


class _Summary(NamedTuple):
    logsumexp: Tensor  # (R,)
    best: Tensor  # (R,) the largest logit
    best_word: Tensor  # (R,) its word


@dataclass(frozen=True)
class CopySource:
    """The source words of each document, which can be copied."""

    extended_ids: Tensor  # (B, S)
    first_positions: Tensor  # (B, S) position of the first occurrence of the same word


@dataclass(frozen=True)
class Mixture:
    """P for R rows, of which `counts` belong to each document."""

    features: Tensor  # (R, D), z
    weight: Tensor  # (V, D), W, float32 or bfloat16; ids from V on are only copied
    gate: Tensor  # (R,), g
    attention: Tensor  # (R, S)
    copy_source: CopySource
    counts: Sequence[int]

    def log_likelihood(self, targets: Tensor) -> Tensor:
        """(R,) log(P + ε) of one word per row, with a gradient."""
        same = self._own_words == targets[:, None]  # (R, S)
        known = targets < self.weight.shape[0]
        logsumexp, logit = _VocabularyLikelihood.apply(  # type: ignore[no-untyped-call]
            self.features, self.weight, targets.where(known, 0)
        )
        generated = (logit - logsumexp).exp() * known
        copied = (self.attention * same).sum(1)
        return torch.log(self.gate * generated + (1 - self.gate) * copied + EPSILON)

    def probability(self, words: Tensor) -> Tensor:
        """(R, M) P of several words per row (R, M), without a gradient."""
        with torch.no_grad():
            known = words < self.weight.shape[0]
            rows = self.weight[words.where(known, 0)].to(self.features.dtype)  # (R, M, D)
            logits = (rows @ self.features[:, :, None]).squeeze(2)
            generated = (logits - self._summary.logsumexp[:, None]).exp() * known
            same = self._own_words[:, None] == words[:, :, None]  # (R, M, S)
            copied = (same * self.attention[:, None]).sum(2)
            gate = self.gate[:, None]
            return gate * generated + (1 - gate) * copied

    def probability_by_document(self, words: Tensor) -> Tensor:
        """(R, M) P of the words (B, M) of each row's document, without a gradient. All documents
        have the same number of rows."""
        with torch.no_grad():
            known = words < self.weight.shape[0]
            rows = self.weight[words.where(known, 0)].to(self.features.dtype)  # (B, M, D)
            features = self.features.view(len(words), -1, rows.shape[2])
            logits = (features @ rows.transpose(1, 2)).flatten(0, 1).float()
            generated = (logits - self._summary.logsumexp[:, None]).exp()
            generated.view(len(words), -1, words.shape[1]).mul_(known[:, None])
            own = self.copy_source.extended_ids  # (B, S)
            same = (own[:, :, None] == words[:, None]).to(self.attention.dtype)
            attention = self.attention.view(len(words), -1, same.shape[1])
            copied = (attention @ same).flatten(0, 1)  # same: (B, S, M)
            gate = self.gate[:, None]
            return gate * generated + (1 - gate) * copied

    def greedy(self, forbidden: Tensor | None = None) -> ChosenTokens:
        """The most probable word of each row, without its `forbidden` words (R, M). −1 forbids
        nothing.

        This is exact: a word that is not in the document has only a vocabulary part, so only the
        best of the vocabulary can win. Ties go to the lowest id, unless a better word is forbidden.
        """
        with torch.no_grad():
            choice = self._most_probable()
            if forbidden is None or not (choice.tokens[:, None] == forbidden).any():
                return choice
            # One more word than are forbidden: at least one is allowed.
            tokens, values = self.top(forbidden.shape[1] + 1)
            allowed = (tokens[:, :, None] != forbidden[:, None]).all(2)
            best = values.where(allowed, -1.0).argmax(1, keepdim=True)
            return ChosenTokens(
                tokens.gather(1, best).squeeze(1), values.gather(1, best).squeeze(1)
            )

    def _most_probable(self) -> ChosenTokens:
        logsumexp, best, best_word = self._summary
        generated = self.gate * (best - logsumexp).exp()
        own = self._own_probability(logsumexp)
        value = torch.maximum(generated, own.max(1).values)
        last = torch.iinfo(torch.int64).max
        tokens = self._own_words.where(own == value[:, None], last).min(1).values
        # Not `==`: if the values are NaN, a word must be chosen too.
        return ChosenTokens(
            torch.minimum(tokens, best_word.where(~(generated < value), last)), value
        )

    def top(self, count: int) -> ChosenTokens:
        """The `count` most probable words of each row (R, count), best first. As in `greedy`, they
        are among the `count` best of the vocabulary and the words of the document. No word is
        repeated; if there are fewer, the rest has probability 0."""
        with torch.no_grad():
            logsumexp, best, best_words = _summarise_top(self.features, self.weight, count)
            generated = self.gate[:, None] * (best - logsumexp[:, None]).exp()
            first = self._by_row(self.copy_source.first_positions)
            # A word counts at its first occurrence. Padding never does: its first occurrence is 0.
            counted = first == torch.arange(first.shape[1], device=first.device)
            own_words = self._own_words.where(counted, -1)
            twice = (best_words[:, :, None] == own_words[:, None]).any(2)
            tokens = torch.cat([best_words, self._own_words], dim=1)
            values = torch.cat([generated, self._own_probability(logsumexp)], dim=1)
            # Repeated words come last, even after words whose probability has vanished.
            values = values.masked_fill(torch.cat([twice, ~counted], dim=1), -1.0)
            value, index = values.topk(min(count, values.shape[1]))
            return ChosenTokens(tokens.gather(1, index), value.clamp_min(0.0))

    def sample(self) -> ChosenTokens:
        """Sample a word for each row, with its probability: first the gate, then a word of the
        vocabulary or a position in the document."""
        with torch.no_grad():
            size = self.weight.shape[0]
            vocabulary = torch.softmax(_compute_logits(self.features, self.weight), dim=1)  # (R, V)
            position = _draw(self.attention)[:, None]
            copies = torch.rand_like(self.gate) >= self.gate
            tokens = _draw(vocabulary).where(
                ~copies, self._own_words.gather(1, position).squeeze(1)
            )
            known = tokens < size
            generated = vocabulary.gather(1, tokens.where(known, 0)[:, None]).squeeze(1) * known
            copied = (self.attention * (self._own_words == tokens[:, None])).sum(1)
            return ChosenTokens(tokens, self.gate * generated + (1 - self.gate) * copied)

    def select(self, rows: Tensor) -> "Mixture":
        """The mixture of some rows, in order."""
        document = torch.arange(len(self.counts)).repeat_interleave(torch.tensor(self.counts))
        counts = document[rows.cpu()].bincount(minlength=len(self.counts)).tolist()
        features, gate, attention = self.features[rows], self.gate[rows], self.attention[rows]
        return Mixture(features, self.weight, gate, attention, self.copy_source, counts)

    def distribution(self, size: int) -> Tensor:
        """(R, X) the whole mixture over `size` = V + unknown words."""
        generated = self.gate[:, None] * torch.softmax(
            _compute_logits(self.features, self.weight), dim=1
        )
        full = nn.functional.pad(generated, (0, size - generated.shape[1]))
        copied = (1 - self.gate[:, None]) * self.attention
        return full.scatter_add(1, self._own_words, copied)

    @cached_property
    def _summary(self) -> _Summary:
        return _summarise(self.features, self.weight)

    @cached_property
    def _own_words(self) -> Tensor:
        """(R, S) the extended ids of each row's document."""
        return self._by_row(self.copy_source.extended_ids)

    def _by_row(self, x: Tensor) -> Tensor:
        counts = torch.tensor(self.counts, device=x.device)
        return x.repeat_interleave(counts, dim=0, output_size=len(self.features))

    def _own_probability(self, logsumexp: Tensor) -> Tensor:
        """(R, S) P of the document's words; complete at the first occurrence of each."""
        size = self.weight.shape[0]
        logits = torch.cat(
            [
                rows @ self.weight[words.where(words < size, 0)].to(rows.dtype).T
                for rows, words in zip(
                    torch.split(self.features, list(self.counts)),
                    self.copy_source.extended_ids,
                    strict=True,
                )
            ]
        )
        generated = (logits - logsumexp[:, None]).exp() * (self._own_words < size)
        first = self._by_row(self.copy_source.first_positions)
        copied = torch.zeros_like(self.attention).scatter_add(1, first, self.attention)
        gate = self.gate[:, None]
        return gate * generated + (1 - gate) * copied


def _summarise(features: Tensor, weight: Tensor) -> _Summary:
    """Log-sum-exp and arg max over the vocabulary."""
    if is_small_batch(features):
        logits = _compute_logits(weight, features)  # (V, R)
        best, best_word = logits.max(0)
        return _Summary(best + logits.sub_(best).exp_().sum(0).log(), best, best_word)
    best = features.new_full(features.shape[:1], -torch.inf, dtype=torch.float32)
    total = torch.zeros_like(best)
    best_word = torch.zeros_like(best, dtype=torch.int64)
    for start, rows in _split_vocabulary(weight):
        logits = _compute_logits(features, rows)
        value, word = logits.max(1)
        best_word = torch.where(value > best, word + start, best_word)
        top = torch.maximum(best, value)
        total = total * (best - top).exp() + logits.sub_(top[:, None]).exp_().sum(1)
        best = top
    return _Summary(best + total.log(), best, best_word)


def _summarise_top(features: Tensor, weight: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Log-sum-exp over the vocabulary (R,), its largest logits (R, count) and their words."""
    best = features.new_empty(len(features), 0, dtype=torch.float32)
    words = torch.empty_like(best, dtype=torch.int64)
    sums: list[Tensor] = []
    for start, rows in _split_vocabulary(weight):
        logits = _compute_logits(features, rows)
        sums.append(logits.logsumexp(1))
        value, word = logits.topk(min(count, len(rows)))
        words = torch.cat([words, word + start], dim=1)
        best, index = torch.cat([best, value], dim=1).topk(min(count, words.shape[1]))
        words = words.gather(1, index)
    return torch.stack(sums).logsumexp(0), best, words


def _split_vocabulary(weight: Tensor) -> Iterator[tuple[int, Tensor]]:
    return ((start, weight[start : start + _CHUNK]) for start in range(0, len(weight), _CHUNK))


def _compute_logits(features: Tensor, rows: Tensor) -> Tensor:
    """(R, rows), always in float32."""
    dtype = _lower_precision(features, rows)
    return (features.to(dtype) @ rows.to(dtype).T).float()


def _lower_precision(x: Tensor, y: Tensor) -> torch.dtype:
    """The dtype in which x and y are multiplied."""
    return min(x.dtype, y.dtype, key=lambda dtype: dtype.itemsize)


def _draw(weights: Tensor) -> Tensor:
    """Sample a column of each row (R,), in proportion to the weights (R, columns)."""
    sums = weights.float().cumsum(1)
    limits = torch.rand_like(sums[:, :1]) * sums[:, -1:]
    # The first column whose sum exceeds the limit, so never one with weight 0. (A limit that is
    # rounded up to the total has none.)
    return torch.searchsorted(sums, limits, right=True).squeeze(1).clamp(max=sums.shape[1] - 1)


class _VocabularyLikelihood(torch.autograd.Function):
    """Log-sum-exp over the vocabulary and the logit of one word, both (R,).

    The exponentials of the logits are kept for the gradient unless they are too many; then they are
    computed again.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        maxima: list[Tensor] = []  # (R, 1) of each chunk
        sums: list[Tensor] = []  # (R,)
        exponentials: list[Tensor] = []  # (R, chunk)
        keeps = ctx.needs_input_grad[0] and len(features) * len(weight) <= _KEPT
        for _, rows in _split_vocabulary(weight):
            logits = _compute_logits(features, rows)
            maxima.append(logits.amax(1, keepdim=True))
            logits.sub_(maxima[-1]).exp_()
            sums.append(logits.sum(1))
            if keeps:
                exponentials.append(logits)
        logsumexp = (torch.cat(maxima, 1) + torch.stack(sums, 1).log()).logsumexp(1)
        ctx.save_for_backward(features, weight, words, logsumexp, *maxima, *exponentials)
        return logsumexp, (features * weight[words]).sum(1).float()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        features, weight, words, logsumexp, *kept = ctx.saved_tensors
        chunks = list(_split_vocabulary(weight))
        maxima, exponentials = kept[: len(chunks)], kept[len(chunks) :]
        of_logsumexp, of_logit = (grad[:, None] for grad in grads)
        of_features = of_logit * weight[words]
        of_weight = torch.empty_like(weight)
        dtype = _lower_precision(features, weight)
        narrow = features.to(dtype)
        for at, (start, rows) in enumerate(chunks):
            if exponentials:
                shift = (maxima[at] - logsumexp[:, None]).exp_()
                share = exponentials[at] * shift.mul_(of_logsumexp)
            else:
                share = (
                    _compute_logits(features, rows)
                    .sub_(logsumexp[:, None])
                    .exp_()
                    .mul_(of_logsumexp)
                )
            share = share.to(dtype)
            of_features += share @ rows.to(dtype)
            of_weight[start : start + _CHUNK] = share.T @ narrow
        of_weight.index_add_(0, words, (of_logit * features).to(of_weight.dtype))
        return of_features.to(features.dtype), of_weight, None


class Pointer(nn.Module):
    """The output layers of the Transformer: from decoder states to a mixture."""

    def __init__(self, *, width: int, output_size: int) -> None:
        super().__init__()
        self.features = Linear(width, width)
        self.vocabulary = Linear(width, output_size, bias=False)
        self.gate = nn.Linear(width, 1)

    def forward(
        self, x: Tensor, attention: Tensor, copy_source: CopySource, counts: Sequence[int]
    ) -> Mixture:
        """x (R, D), attention (R, S)."""
        features = self.features(x)
        gate = torch.sigmoid(self.gate(features)).squeeze(1)
        narrow = self.vocabulary.bfloat16_weight
        weight = self.vocabulary.weight if narrow is None else narrow
        return Mixture(features, weight, gate, attention, copy_source, counts)
