"""ExHiRD equals the specification, phrase by phrase and word by word."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, collate, nested, shift_right
from one2set.data.specials import BOS, PAD, SEP, UNK
from one2set.model.exhird import ExHiRD, SharedMatmul, SourceAttention, gru_cell
from one2set.model.network import Network
from one2set.model.pointer import Mixture
from tests.model import tiny

ROWS = (4, 4, 3, 1)  # at each step


def matrices(rows: int | None) -> tuple[Tensor, Tensor]:
    """The same matrix twice, (3, 5) or (rows, 3, 5), each with a gradient of its own. In double
    precision, because repeated products amplify rounding errors."""
    matrix = torch.randn(*([] if rows is None else [rows]), 3, 5, dtype=torch.float64)
    return matrix.clone().requires_grad_(), matrix.clone().requires_grad_()


def multiply_by_row(matrix: Tensor, x: Tensor, *, transposed: bool) -> Tensor:
    """One row at a time."""
    each = matrix if matrix.dim() == 3 else matrix.expand(len(x), -1, -1)
    if transposed:
        each = each.transpose(1, 2)
    return torch.stack([row @ own for row, own in zip(x, each[: len(x)], strict=True)])


@pytest.mark.parametrize("rows", [None, 4, 6], ids=["shared", "of a row each", "some unused"])
def test_gradients_are_those_of_a_plain_loop(rows: int | None) -> None:
    torch.manual_seed(0)
    ours, expected = matrices(rows)
    start = torch.randn(4, 3, dtype=torch.float64)
    totals, starts = [], []
    for matrix in (ours, expected):
        x = start.clone().requires_grad_()
        starts.append(x)
        matmul, state = SharedMatmul(matrix), x
        total = torch.zeros((), dtype=torch.float64)
        for count in ROWS:
            if matrix is ours:
                there = matmul.apply(state[:count])
                state = torch.tanh(matmul.apply_transposed(torch.sin(there)))
            else:
                there = multiply_by_row(matrix, state[:count], transposed=False)
                state = torch.tanh(multiply_by_row(matrix, torch.sin(there), transposed=True))
            total = total + (there**2).sum() + state.sum()
        total.backward()  # type: ignore[no-untyped-call]
        totals.append(total)
    torch.testing.assert_close(*totals)
    assert starts[0].grad is not None
    torch.testing.assert_close(starts[0].grad, starts[1].grad)
    assert ours.grad is not None
    torch.testing.assert_close(ours.grad, expected.grad)


def test_steps_that_nothing_depends_on_add_nothing() -> None:
    matrix = torch.eye(2, requires_grad=True)
    matmul = SharedMatmul(matrix)
    kept = matmul.apply(torch.tensor([[1.0, 2.0]]))
    matmul.apply(torch.full((1, 2), 100.0))
    torch.autograd.backward(kept[0, 0])
    assert matrix.grad is not None
    assert matrix.grad.tolist() == [[1.0, 0.0], [2.0, 0.0]]


def test_no_factors_are_stored_without_gradients() -> None:
    matmul = SharedMatmul(torch.eye(2))
    assert not matmul.apply(torch.ones(1, 2)).requires_grad
    matmul = SharedMatmul(torch.eye(2, requires_grad=True))
    with torch.no_grad():
        assert not matmul.apply(torch.ones(1, 2)).requires_grad
    assert not matmul.factors


def test_the_gru_cell_equals_torchs() -> None:
    torch.manual_seed(0)
    cell, x, h = nn.GRUCell(3, 4), torch.randn(5, 3), torch.randn(5, 4)
    result = gru_cell(
        nn.functional.linear(x, cell.weight_ih, cell.bias_ih),
        nn.functional.linear(h, cell.weight_hh, cell.bias_hh),
        h,
    )
    torch.testing.assert_close(result, cell(x, h))


close = partial(torch.testing.assert_close, rtol=1e-5, atol=1e-6)


@pytest.fixture
def network() -> ExHiRD:
    return tiny.exhird()


@pytest.fixture
def batch() -> Batch:
    """Documents of two to five phrases, and of none."""
    return tiny.batch(6, layout=nested)


def decode_targets(network: Network, batch: Batch) -> Mixture:
    return network.decode(network.encode(batch), shift_right(batch.targets), batch.target_mask)


def size(batch: Batch) -> int:
    return tiny.V + max(map(len, batch.oov))


def phrases_of(targets: list[int]) -> list[list[int]]:
    """What is written of each phrase; the last is `<eos>` alone."""
    phrases: list[list[int]] = [[]]
    for token in targets:
        phrases[-1].append(token)
        if token == SEP:
            phrases.append([])
    return phrases


def decode_by_formula(network: ExHiRD, batch: Batch, index: int) -> Tensor:
    """(L, X) the distributions over what one document writes, in plain torch."""
    length, width = batch.lengths[index], network.arguments["hidden_width"]
    decoder = network.decoder
    phrase_map, word_map = decoder.query.weight[:, width:], decoder.query.weight[:, :width]
    alone = collate([tiny.examples(6)[index]], vocabulary_size=tiny.V)
    (memory,), (q,) = network.encoder(alone, network.embedding)  # (S, D), (D,)
    z = torch.zeros(width)
    result = []
    for phrase in phrases_of(batch.targets[index, 0][batch.target_mask[index, 0]].tolist()):
        q = decoder.phrase(z[None], q[None])[0]
        beta = torch.softmax(memory @ phrase_map @ q, 0)
        h, feed, read = q, torch.zeros(width), BOS
        for token in phrase:
            word = network.embedding(torch.tensor(read if read < tiny.V else UNK))
            h = decoder.word(torch.cat([word, feed])[None], h[None])[0]
            alpha = torch.softmax(memory @ word_map @ h, 0)
            rescaled = alpha * beta / (alpha * beta).sum()
            feed = torch.tanh(decoder.out(torch.cat([rescaled @ memory, h])))
            weight, bias = network.vocabulary.weight[:, :-1], network.vocabulary.weight[:, -1]
            logits = weight @ feed + bias
            logits = logits.masked_fill(torch.arange(len(logits)) == PAD, -torch.inf)
            gate = torch.sigmoid(network.gate(feed))
            full = torch.cat([gate * torch.softmax(logits, 0), torch.zeros(size(batch) - tiny.V)])
            extended = batch.source_extended[index, :length]
            result.append(full.index_add(0, extended, (1 - gate) * rescaled))
            read = token
        z = feed  # which has chosen the separator, and not read it
    return torch.stack(result)


def test_every_cell_follows_the_specification(network: ExHiRD, batch: Batch) -> None:
    expected = torch.cat([decode_by_formula(network, batch, index) for index in range(6)])
    close(decode_targets(network, batch).distribution(size(batch)), expected)


def test_gradients_are_those_of_the_specification(network: ExHiRD, batch: Batch) -> None:
    words = batch.targets[batch.target_mask]
    torch.autograd.backward(decode_targets(network, batch).log_likelihood(words).sum())
    ours = {name: weight.grad for name, weight in network.named_parameters()}
    network.zero_grad()
    full = torch.cat([decode_by_formula(network, batch, index) for index in range(6)])
    torch.autograd.backward((full + 1e-8).log().gather(1, words[:, None]).sum())
    for name, weight in network.named_parameters():
        torch.testing.assert_close(ours[name], weight.grad, rtol=1e-4, atol=1e-5, msg=name)


def test_attention_is_rescaled_by_that_of_the_phrase() -> None:
    source = SourceAttention(torch.eye(3)[None], torch.ones(1, 3) > 0)
    alpha, beta = torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([[0.1, 0.1, 0.8]])
    result, context = source.attend(alpha.log() + beta.log())
    close(result, torch.tensor([[0.2083, 0.125, 0.6667]]), atol=1e-4)
    close(context, result)  # as the states are the unit vectors
    even, _ = source.attend(alpha.log() + torch.full((1, 3), 1 / 3).log())
    close(even, alpha)


def test_padding_is_not_attended_to() -> None:
    states = torch.randn(2, 3, 4)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    weights, _ = SourceAttention(states, mask).attend(torch.randn(2, 4))
    assert weights[0, 2] == 0
    close(weights.sum(1), torch.ones(2))


def test_pad_is_never_generated(network: ExHiRD, batch: Batch) -> None:
    mixture = decode_targets(network, batch)
    assert (mixture.distribution(size(batch))[:, PAD] == 0).all()
    torch.autograd.backward(mixture.log_likelihood(batch.targets[batch.target_mask]).sum())
    assert network.vocabulary.weight.grad is not None
    assert (network.vocabulary.weight.grad[PAD] == 0).all()


def test_earlier_phrases_matter_only_through_the_phrase_decoder(
    network: ExHiRD, batch: Batch
) -> None:
    """With its state put back, a second phrase is written as the first one is."""
    memory = network.encode(batch)
    state = network.start(memory, steps=5)
    network.step(state, torch.full((6,), BOS))
    network.step(state, torch.full((6,), 9))
    before = state.levels
    second = network.step(state, torch.full((6,), SEP))
    assert not torch.equal(state.levels.phrase, before.phrase)
    q = network.decoder.phrase(before.feed, before.phrase)
    close(state.levels.phrase, q)
    again = network.start(memory, steps=5)
    again.levels = again.levels._replace(phrase=before.phrase, feed=before.feed)
    close(network.step(again, torch.full((6,), BOS)).features, second.features)
