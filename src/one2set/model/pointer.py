"""The copy mechanism (§3.2): a mixture of the vocabulary and the words of the source.

    P(w) = g · softmax(W z)(w) + (1 − g) · Σ_{i: source_i = w} attention_i

over the extended vocabulary. Probabilities are computed by chunks of the vocabulary: a loss needs
their log-sum-exp and one logit, an arg max needs the vocabulary's best word and the document's own
words. `distribution` writes the mixture out in full, for searches that want it and for tests.

Shapes: R rows (sorted by document), B documents, S source words, D width, V vocabulary, X extended
vocabulary, M words asked for per row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from one2set.data.specials import UNK
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
    best_word: Tensor  # (R,) and whose it is


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
        """(R,) log(P + ε) of one word per row, with a gradient. A word that can neither be
        generated nor copied counts as `<unk>`."""
        same = self._own_words == targets[:, None]  # (R, S)
        known = targets < self.weight.shape[0]
        words = targets.where(known, 0).where(known | same.any(1), UNK)
        logsumexp, logit = _VocabularyLikelihood.apply(  # type: ignore[no-untyped-call]
            self.features, self.weight, words
        )
        generated = (logit - logsumexp).exp() * (known | (words == UNK))
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
        """The most probable word of each row; of those, if any, that are not `forbidden` (R, M) to
        it. −1 forbids nothing.

        Exact: a word that the document lacks has only its vocabulary part, so none but the
        vocabulary's best can win. Of equals the lowest id wins, unless a better word is forbidden.
        """
        with torch.no_grad():
            choice = self._most_probable()
            if forbidden is None or not (choice.tokens[:, None] == forbidden).any():
                return choice
            # Of one word more than are forbidden, at least one is not.
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
        # "Not less" rather than "equal": where nothing is a number, a word must come out too.
        return ChosenTokens(
            torch.minimum(tokens, best_word.where(~(generated < value), last)), value
        )

    def top(self, count: int) -> ChosenTokens:
        """The `count` most probable words of each row (R, count), best first, by the same reason:
        they are among the vocabulary's `count` best and the document's own. None is listed twice;
        where there are fewer, the rest has probability 0."""
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
        """A word of each row at random, with its probability: first the gate is drawn, then a word
        of the vocabulary or a place in the document."""
        with torch.no_grad():
            size = self.weight.shape[0]
            vocabulary = torch.softmax(_logits(self.features, self.weight), dim=1)  # (R, V)
            place = _draw(self.attention)[:, None]
            copies = torch.rand_like(self.gate) >= self.gate
            tokens = _draw(vocabulary).where(~copies, self._own_words.gather(1, place).squeeze(1))
            known = tokens < size
            generated = vocabulary.gather(1, tokens.where(known, 0)[:, None]).squeeze(1) * known
            copied = (self.attention * (self._own_words == tokens[:, None])).sum(1)
            return ChosenTokens(tokens, self.gate * generated + (1 - self.gate) * copied)

    def select(self, rows: Tensor) -> "Mixture":
        """That of some rows, in their order."""
        document = torch.arange(len(self.counts)).repeat_interleave(torch.tensor(self.counts))
        counts = document[rows.cpu()].bincount(minlength=len(self.counts)).tolist()
        features, gate, attention = self.features[rows], self.gate[rows], self.attention[rows]
        return Mixture(features, self.weight, gate, attention, self.copy_source, counts)

    def distribution(self, size: int) -> Tensor:
        """(R, X) the whole mixture over `size` = V + unknown words."""
        generated = self.gate[:, None] * torch.softmax(_logits(self.features, self.weight), dim=1)
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
        logits = _logits(weight, features)  # (V, R)
        best, best_word = logits.max(0)
        return _Summary(best + logits.sub_(best).exp_().sum(0).log(), best, best_word)
    best = features.new_full(features.shape[:1], -torch.inf, dtype=torch.float32)
    total = torch.zeros_like(best)
    best_word = torch.zeros_like(best, dtype=torch.int64)
    for start, rows in _chunks(weight):
        logits = _logits(features, rows)
        value, word = logits.max(1)
        best_word = torch.where(value > best, word + start, best_word)
        top = torch.maximum(best, value)
        total = total * (best - top).exp() + logits.sub_(top[:, None]).exp_().sum(1)
        best = top
    return _Summary(best + total.log(), best, best_word)


def _summarise_top(features: Tensor, weight: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Log-sum-exp over the vocabulary (R,), its largest logits (R, count) and whose they are."""
    best = features.new_empty(len(features), 0, dtype=torch.float32)
    words = torch.empty_like(best, dtype=torch.int64)
    sums: list[Tensor] = []
    for start, rows in _chunks(weight):
        logits = _logits(features, rows)
        sums.append(logits.logsumexp(1))
        value, word = logits.topk(min(count, len(rows)))
        words = torch.cat([words, word + start], dim=1)
        best, index = torch.cat([best, value], dim=1).topk(min(count, words.shape[1]))
        words = words.gather(1, index)
    return torch.stack(sums).logsumexp(0), best, words


def _chunks(weight: Tensor) -> Iterator[tuple[int, Tensor]]:
    return ((start, weight[start : start + _CHUNK]) for start in range(0, len(weight), _CHUNK))


def _logits(features: Tensor, rows: Tensor) -> Tensor:
    """(R, rows), in float32 whatever the features and the rows are."""
    dtype = _precision(features, rows)
    return (features.to(dtype) @ rows.to(dtype).T).float()


def _precision(x: Tensor, y: Tensor) -> torch.dtype:
    """In which x and y are multiplied: the lower of their own."""
    return min(x.dtype, y.dtype, key=lambda dtype: dtype.itemsize)


def _draw(weights: Tensor) -> Tensor:
    """(R,) a random column of each row, in proportion to the weights (R, columns)."""
    sums = weights.float().cumsum(1)
    limits = torch.rand_like(sums[:, :1]) * sums[:, -1:]
    # The first column whose sum is beyond the limit, hence never one that weighs nothing. (A limit
    # that was rounded up to the whole sum has none.)
    return torch.searchsorted(sums, limits, right=True).squeeze(1).clamp(max=sums.shape[1] - 1)


class _VocabularyLikelihood(torch.autograd.Function):
    """Log-sum-exp over the vocabulary and the logit of one word, both (R,).

    The exponentials of the logits are kept for the gradient where they are not too many. Otherwise
    they are computed again.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, weight: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        maxima: list[Tensor] = []  # (R, 1) of each chunk
        sums: list[Tensor] = []  # (R,)
        exponentials: list[Tensor] = []  # (R, chunk)
        keeps = ctx.needs_input_grad[0] and len(features) * len(weight) <= _KEPT
        for _, rows in _chunks(weight):
            logits = _logits(features, rows)
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
        chunks = list(_chunks(weight))
        maxima, exponentials = kept[: len(chunks)], kept[len(chunks) :]
        of_logsumexp, of_logit = (grad[:, None] for grad in grads)
        of_features = of_logit * weight[words]
        of_weight = torch.empty_like(weight)
        dtype = _precision(features, weight)
        narrow = features.to(dtype)
        for at, (start, rows) in enumerate(chunks):
            if exponentials:
                shift = (maxima[at] - logsumexp[:, None]).exp_()
                share = exponentials[at] * shift.mul_(of_logsumexp)
            else:
                share = _logits(features, rows).sub_(logsumexp[:, None]).exp_().mul_(of_logsumexp)
            share = share.to(dtype)
            of_features += share @ rows.to(dtype)
            of_weight[start : start + _CHUNK] = share.T @ narrow
        of_weight.index_add_(0, words, (of_logit * features).to(of_weight.dtype))
        return of_features.to(features.dtype), of_weight, None


class Pointer(nn.Module):
    """The Transformer's output layers: what turns a decoder state into a mixture."""

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
        half = self.vocabulary.half_weight
        weight = self.vocabulary.weight if half is None else half
        return Mixture(features, weight, gate, attention, copy_source, counts)
