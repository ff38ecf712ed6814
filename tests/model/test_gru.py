"""The recurrent encoders: packed sequences of torch's own as oracle, and what a title does
(baselines.md §11, tests 14–17)."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from one2set.data.batch import Batch, collate
from one2set.model.gru import BiGRU, GRUEncoder, TitleGuidedEncoder
from tests.model import tiny

E, D = 6, 8


@pytest.fixture
def batch() -> Batch:
    return tiny.batch(6)


@pytest.fixture
def embedding() -> nn.Embedding:
    torch.manual_seed(1)
    return nn.Embedding(tiny.V, E)


@pytest.fixture
def title_guided() -> TitleGuidedEncoder:
    torch.manual_seed(2)
    return TitleGuidedEncoder(embedding_width=E, width=D, dropout=0.0)


def test_both_directions_are_those_of_torch() -> None:
    torch.manual_seed(0)
    ours, theirs = BiGRU(E, D), nn.GRU(E, D // 2, batch_first=True, bidirectional=True)
    for name, weight in theirs.state_dict().items():
        direction = ours.back if name.endswith("_reverse") else ours.ahead
        direction.state_dict()[name.removesuffix("_reverse")].copy_(weight)
    lengths = torch.tensor([3, 7, 1])
    x = torch.randn(3, 7, E)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    states, final = theirs(packed)
    states, _ = pad_packed_sequence(states, batch_first=True)
    found = ours(x, lengths)
    real = torch.arange(7) < lengths[:, None]
    torch.testing.assert_close(found.states[real], states[real])
    torch.testing.assert_close(found.summary, torch.cat([final[1], final[0]], 1))


def test_a_second_layer_reads_the_first(batch: Batch, embedding: nn.Embedding) -> None:
    torch.manual_seed(0)
    encoder = GRUEncoder(embedding_width=E, width=D, layers=2)
    lengths = torch.tensor(batch.lengths)
    first = encoder.layers[0](embedding(batch.source), lengths).states
    expected = encoder.layers[1](first, lengths)
    for ours, theirs in zip(encoder(batch, embedding), expected, strict=True):
        assert torch.equal(ours, theirs)


def plainly(encoder: TitleGuidedEncoder, words: Tensor, title: int) -> tuple[Tensor, Tensor]:
    """One document (S, E): the formulas, word by word."""
    length = torch.tensor([len(words)])
    u = encoder.source(words[None], length).states[0]
    v = encoder.title(words[None, :title], torch.tensor([title])).states[0]
    gathered = []
    for word in u:
        weights = torch.stack([word @ encoder.match.weight @ other for other in v]).softmax(0)
        gathered.append(weights @ v)
    merged = encoder.merge(torch.cat([u, torch.stack(gathered)], 1)[None], length)
    return (u + merged.states[0]) / 2, merged.summary[0]


def test_a_title_guides_as_the_formulas_say(
    batch: Batch, embedding: nn.Embedding, title_guided: TitleGuidedEncoder
) -> None:
    states, summary = title_guided(batch, embedding)
    x = embedding(batch.source)
    assert len(set(batch.title_lengths)) > 2
    for b, (length, title) in enumerate(zip(batch.lengths, batch.title_lengths, strict=True)):
        expected, final = plainly(title_guided, x[b, :length], title)
        torch.testing.assert_close(states[b, :length], expected)
        torch.testing.assert_close(summary[b], final)  # test 17: of the merging GRU


def test_without_matching_every_word_of_the_title_counts_alike(
    batch: Batch, embedding: nn.Embedding, title_guided: TitleGuidedEncoder
) -> None:
    nn.init.zeros_(title_guided.match.weight)
    seen: list[Tensor] = []
    title_guided.merge.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    title_guided(batch, embedding)
    x = embedding(batch.source)
    for b, (length, title) in enumerate(zip(batch.lengths, batch.title_lengths, strict=True)):
        v = title_guided.title(x[b, None, :title], torch.tensor([title])).states[0]
        gathered = seen[0][b, :length, D:]
        torch.testing.assert_close(gathered, v.mean(0).expand_as(gathered))


def test_without_merging_half_of_the_word_is_left(
    batch: Batch, embedding: nn.Embedding, title_guided: TitleGuidedEncoder
) -> None:
    for weight in title_guided.merge.parameters():
        nn.init.zeros_(weight)  # then all its states are 0
    states, summary = title_guided(batch, embedding)
    u = title_guided.source(embedding(batch.source), torch.tensor(batch.lengths)).states
    torch.testing.assert_close(states, u / 2)
    assert summary.abs().max() == 0


def test_what_follows_a_title_does_not_matter_to_it(
    embedding: nn.Embedding, title_guided: TitleGuidedEncoder
) -> None:
    """Among longer titles a short one is padded, by words of its own abstract."""
    few, many = tiny.examples(2)[1], replace(tiny.examples(2)[0], title_length=10)
    few = replace(few, title_length=1)
    together = collate([few, many], vocabulary_size=tiny.V)
    assert max(together.title_lengths) > 1
    alone = collate([few], vocabulary_size=tiny.V)
    states, summary = title_guided(together, embedding)
    expected, final = title_guided(alone, embedding)
    torch.testing.assert_close(states[0, : alone.lengths[0]], expected[0])
    torch.testing.assert_close(summary[0], final[0])
