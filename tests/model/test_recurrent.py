"""catSeq's network: encoders against torch's packed sequences, attention and decoder against the
formulas, word by word."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from one2set.data.batch import Batch, collate, one_to_one, sequence, shift_right
from one2set.data.specials import BOS, UNK
from one2set.model import recurrent
from one2set.model.recurrent import (
    AdditiveAttention,
    BiGRU,
    GRUEncoder,
    Recurrent,
    TitleGuidedEncoder,
)
from tests.model import padded, tiny

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


def test_both_directions_equal_torchs() -> None:
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
    result = ours(x, lengths)
    real = torch.arange(7) < lengths[:, None]
    torch.testing.assert_close(result.states[real], states[real])
    torch.testing.assert_close(result.summary, torch.cat([final[1], final[0]], 1))


def test_a_second_layer_reads_the_first(batch: Batch, embedding: nn.Embedding) -> None:
    torch.manual_seed(0)
    encoder = GRUEncoder(embedding_width=E, width=D, layers=2)
    lengths = torch.tensor(batch.lengths)
    first = encoder.layers[0](embedding(batch.source), lengths).states
    expected = encoder.layers[1](first, lengths)
    for ours, theirs in zip(encoder(batch, embedding), expected, strict=True):
        assert torch.equal(ours, theirs)


def encode_by_formula(
    encoder: TitleGuidedEncoder, words: Tensor, title: int
) -> tuple[Tensor, Tensor]:
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


def test_the_title_guided_encoder_equals_the_formulas(
    batch: Batch, embedding: nn.Embedding, title_guided: TitleGuidedEncoder
) -> None:
    states, summary = title_guided(batch, embedding)
    x = embedding(batch.source)
    assert len(set(batch.title_lengths)) > 2
    for b, (length, title) in enumerate(zip(batch.lengths, batch.title_lengths, strict=True)):
        expected, final = encode_by_formula(title_guided, x[b, :length], title)
        torch.testing.assert_close(states[b, :length], expected)
        torch.testing.assert_close(summary[b], final)  # test 17: of the merging GRU


def test_with_zero_match_weights_title_words_have_equal_weight(
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


def test_with_zero_merge_weights_half_of_the_word_state_remains(
    batch: Batch, embedding: nn.Embedding, title_guided: TitleGuidedEncoder
) -> None:
    for weight in title_guided.merge.parameters():
        nn.init.zeros_(weight)  # then all its states are 0
    states, summary = title_guided(batch, embedding)
    u = title_guided.source(embedding(batch.source), torch.tensor(batch.lengths)).states
    torch.testing.assert_close(states, u / 2)
    assert summary.abs().max() == 0


def test_the_encoding_of_the_title_does_not_depend_on_the_abstract(
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


COUNTS, LENGTHS = [2, 0, 3, 1], [4, 2, 1, 3]


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    queries, states = torch.randn(sum(COUNTS), 6), torch.randn(len(COUNTS), max(LENGTHS), 6)
    return queries.double().requires_grad_(), states.double().requires_grad_(), mask


def attend_by_formula(
    attention: AdditiveAttention, x: Tensor, states: Tensor
) -> tuple[Tensor, Tensor]:
    contexts, weights = [], []
    for query, document in zip(x, [0, 0, 2, 2, 2, 3], strict=True):
        words = states[document, : LENGTHS[document]]
        inner = torch.tanh(attention.key(words) + attention.query(query))
        weight = attention.score(inner).squeeze(1).softmax(0)
        contexts.append(weight @ words)
        weights.append(torch.nn.functional.pad(weight, (0, max(LENGTHS) - len(weight))))
    return torch.stack(contexts), torch.stack(weights)


@pytest.mark.parametrize("chunk", [1, 50, 2**17])
def test_values_and_gradients_follow_the_formula(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(recurrent._CHUNK, "cpu", chunk)
    attention = AdditiveAttention(6).double()
    x, states, mask = inputs()
    leaves = [x, states, *attention.parameters()]
    results = []
    for actual in (
        attention(x, COUNTS, attention.key(states), states, mask),
        attend_by_formula(attention, x, states),
    ):
        total = sum((y * torch.arange(y.numel()).view_as(y).sin()).sum() for y in actual)
        assert isinstance(total, Tensor)
        results.append([*actual, *torch.autograd.grad(total, leaves)])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-7)


def test_padding_gets_no_weight_and_the_rest_gets_all() -> None:
    attention = AdditiveAttention(6).double()
    x, states, mask = inputs()
    _, weights = attention(x, COUNTS, attention.key(states), states, mask)
    assert weights[~mask[[0, 0, 2, 2, 2, 3]]].abs().max() == 0
    torch.testing.assert_close(weights.sum(1), torch.ones(6, dtype=weights.dtype))


@pytest.fixture(params=[False, True], ids=["plain", "title"])
def network(request: pytest.FixtureRequest) -> Recurrent:
    return tiny.recurrent(title_guided=request.param)


def cell(network: Recurrent, x: Tensor, h: Tensor) -> Tensor:
    """One step of a GRU."""
    weight = network.decoder.get_parameter
    of_x = (weight("weight_ih_l0") @ x + weight("bias_ih_l0")).chunk(3)
    of_h = (weight("weight_hh_l0") @ h + weight("bias_hh_l0")).chunk(3)
    reset, update = (torch.sigmoid(a + b) for a, b in zip(of_x[:2], of_h[:2], strict=True))
    new = torch.tanh(of_x[2] + reset * of_h[2])
    return (1 - update) * new + update * h


def decode_by_formula(network: Recurrent, batch: Batch) -> Tensor:
    """(C, X) what follows each real cell, one document, one row and one word at a time."""
    size = padded.extended_size(batch, network)
    states, summary = network.encoder(batch, network.embedding)
    rows = []
    for b, length in enumerate(batch.lengths):
        memory = states[b, :length]
        for inputs, mask in zip(shift_right(batch.targets)[b], batch.target_mask[b], strict=True):
            h = summary[b]
            for word in inputs[mask]:
                e = network.embedding.weight[word if word < tiny.V else UNK]
                h = cell(network, e, h)
                inner = torch.tanh(network.attention.key(memory) + network.attention.query(h))
                weights = network.attention.score(inner).squeeze(1).softmax(0)
                context = weights @ memory
                z = network.features(torch.cat([context, h]))
                table = network.vocabulary.weight
                generated = torch.softmax(table[:, :-1] @ z + table[:, -1], 0)
                gate = torch.sigmoid(network.gate(torch.cat([context, h, e])))
                whole = torch.nn.functional.pad(gate * generated, (0, size - len(generated)))
                words = batch.source_extended[b, :length]
                rows.append(whole.index_add(0, words, (1 - gate) * weights))
    return torch.stack(rows)


def test_values_and_gradients_equal_the_formulas(network: Recurrent) -> None:
    """With one row per document, and with one per phrase."""
    for layout in (sequence, one_to_one):
        batch = tiny.batch(4, layout=layout)
        words = batch.targets[batch.target_mask]
        mixture = network.decode(
            network.encode(batch), shift_right(batch.targets), batch.target_mask
        )
        expected = decode_by_formula(network, batch)
        size = padded.extended_size(batch, network)
        torch.testing.assert_close(mixture.distribution(size), expected, rtol=1e-5, atol=1e-6)

        gradients = []
        for loss in (
            mixture.log_likelihood(words).sum(),
            (expected + 1e-8).log().gather(1, words[:, None]).sum(),
        ):
            network.zero_grad()
            torch.autograd.backward(loss)
            gradients.append({n: w.grad.clone() for n, w in network.named_parameters()})  # type: ignore[union-attr]
        for name, gradient in gradients[0].items():
            torch.testing.assert_close(
                gradient, gradients[1][name], rtol=1e-4, atol=1e-5, msg=f"{layout} {name}"
            )


def test_there_is_no_input_feeding(
    network: Recurrent,
) -> None:
    memory = network.encode(tiny.batch(layout=sequence))
    blind = replace(memory, keys=-memory.keys, states=-memory.states)
    first, other = (torch.full((4,), word) for word in (BOS, 9))
    states = [network.start(seen, steps=2) for seen in (memory, blind, memory)]
    looked = [network.step(state, first) for state in states]
    assert not looked[0].features.allclose(looked[1].features)
    for state, token in zip(states, (first, first, other), strict=True):
        network.step(state, token)
    assert torch.equal(states[0].hidden, states[1].hidden)
    assert not states[0].hidden.allclose(states[2].hidden)


def test_a_document_has_any_number_of_rows(network: Recurrent) -> None:
    """Every pair of a document and a phrase is as it would be alone."""
    batch = tiny.batch(6, layout=one_to_one)
    assert len(set(batch.target_mask.any(2).sum(1).tolist())) > 1
    memory = network.encode(batch)
    together = network.decode(memory, shift_right(batch.targets), batch.target_mask)
    likelihood = together.log_likelihood(batch.targets[batch.target_mask])
    expected = []
    for example in tiny.examples(6):
        for present, absent in [
            *(((phrase,), ()) for phrase in example.present),
            *(((), (phrase,)) for phrase in example.absent),
        ]:
            pair = replace(example, present=present, absent=absent)
            batch_of_one = collate([pair], vocabulary_size=tiny.V, layout=sequence)
            mixture = network.decode(
                network.encode(batch_of_one),
                shift_right(batch_of_one.targets),
                batch_of_one.target_mask,
            )
            expected.append(mixture.log_likelihood(batch_of_one.targets[batch_of_one.target_mask]))
    torch.testing.assert_close(likelihood, torch.cat(expected), rtol=1e-4, atol=1e-5)


def test_dropout_acts_before_the_vocabulary_and_where_the_title_is_merged(
    network: Recurrent,
) -> None:
    dropping = tiny.recurrent(dropout=0.5, title_guided=bool(network.arguments["title_guided"]))
    batch = tiny.batch(layout=sequence)

    def run(network: Recurrent) -> tuple[Tensor, Tensor]:
        memory = network.encode(batch)
        mixture = network.decode(memory, shift_right(batch.targets), batch.target_mask)
        return memory.states[batch.source_mask], mixture.features

    (states, features), (calm, whole) = run(dropping.train()), run(dropping.eval())
    assert torch.equal(states, calm) == (not network.arguments["title_guided"])
    assert not torch.equal(features, whole)
    assert (features[:, :-1] == 0).float().mean() == pytest.approx(0.5, abs=0.15)
    assert (features[:, -1] == 1).all()  # the bias is never dropped
    assert torch.equal(run(network)[1], whole)


def test_catseq_has_one_layer_and_exhird_has_two() -> None:
    for network, layers in ((tiny.recurrent(), 1), (tiny.exhird(), 2)):
        assert isinstance(network.encoder, GRUEncoder)
        assert len(network.encoder.layers) == layers
