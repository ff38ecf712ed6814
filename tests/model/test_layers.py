"""Positions, attention and linear layers equal plain implementations."""

import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from one2set.model import layers
from one2set.model.dropout import draw_mask
from one2set.model.layers import Attention, Linear, Positions, Segments, sinusoids


def test_positions_are_the_specified_sinusoids() -> None:
    table = sinusoids(50, 6)
    assert table[0].tolist() == [0] * 6
    for place, column in ((1, 0), (7, 3), (49, 5)):
        angle = place / 10000 ** (2 * (column // 2) / 6)
        expected = math.sin(angle) if column % 2 == 0 else math.cos(angle)
        assert math.isclose(table[place, column].item(), expected, abs_tol=1e-6)


def test_positions_grow_with_the_document() -> None:
    positions = Positions(4)
    short, long = (positions(torch.arange(n), n - 1) for n in (5, 5000))
    torch.testing.assert_close(long[:5], short, rtol=0, atol=0)
    torch.testing.assert_close(long, sinusoids(5000, 4), rtol=0, atol=0)


def test_attention_stays_in_its_document_and_under_its_mask() -> None:
    torch.manual_seed(0)
    layer = Attention(width=8, heads=2, dropout=0.0)
    x = torch.randn(5, 8)
    masks = [torch.ones(2, 2).tril().bool(), torch.ones(3, 3).tril().bool()]
    segments = Segments([2, 3], [2, 3], masks)
    before = layer(x, *layer.project(x), segments)
    x[3] += 1.0
    after = layer(x, *layer.project(x), segments)
    assert (before != after).any(1).tolist() == [False, False, False, True, True]


def test_weights_are_those_of_the_first_head_and_end_with_the_document() -> None:
    torch.manual_seed(0)
    layer = Attention(width=8, heads=2, dropout=0.0)
    x, source = torch.randn(3, 8), torch.randn(6, 8)
    key, value = layer.project(source)
    out, weights = layer.forward_with_weights(x, key, value, Segments([1, 2], [4, 2]))
    torch.testing.assert_close(out, layer(x, key, value, Segments([1, 2], [4, 2])))
    q = layer.query(x)[:, :4] / 2
    torch.testing.assert_close(weights[0], (key[:4, :4] @ q[0]).softmax(0))
    torch.testing.assert_close(weights[1, :2], (key[4:, :4] @ q[1]).softmax(0))
    assert weights[1:, 2:].abs().sum() == 0


@pytest.mark.parametrize("weights", [0, 30, 10**6])
@pytest.mark.parametrize("masked", [False, True])
def test_packed_attention_is_dropout_of_each_documents_weights(
    masked: bool, weights: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its values and gradients are those that autograd finds document by document; documents that
    differ in length are padded when there are few enough weights."""
    monkeypatch.setattr(layers, "_MAX_GROUP_WEIGHTS", weights)
    generator = torch.Generator().manual_seed(0)
    queries, keys = [3, 0, 4, 2, 2], [5, 2, 4, 3, 3]
    masks = [torch.ones(q, k).tril(1).bool() for q, k in zip(queries, keys, strict=True)]
    segments = Segments(queries, keys, masks if masked else None)
    layer = Attention(width=8, heads=2, dropout=0.5).train()
    q, k, v = (
        torch.randn(sum(n), 8, generator=generator, requires_grad=True)
        for n in (queries, keys, keys)
    )
    torch.manual_seed(3)
    actual = layers._PackedAttention.apply(q, k, v, segments.groups(q.device), 2, 0.5)  # type: ignore[no-untyped-call]
    torch.manual_seed(3)
    expected = []
    groups = segments.groups(q.device)
    draw = draw_mask(torch.Size([2 * sum(group.weights for group in groups)]), 0.5)
    parts = draw.split([2 * group.weights for group in groups])
    for group, part_drawn in zip(groups, parts, strict=True):
        documents = [
            i
            for i in range(5)
            if queries[i] and group.keys.rows.start <= sum(keys[:i]) < group.keys.rows.stop
        ]
        drawn = part_drawn.bytes.view(len(documents), 2, group.queries.longest, group.keys.longest)
        for at, i in enumerate(documents):
            rows = slice(sum(queries[:i]), sum(queries[: i + 1]))
            columns = slice(sum(keys[:i]), sum(keys[: i + 1]))
            for head in range(2):
                part = slice(4 * head, 4 * head + 4)
                scores = q[rows, part] @ k[columns, part].T / 2
                if masked:
                    scores = scores.masked_fill(~masks[i], -torch.inf)
                kept = drawn[at, head, : queries[i], : keys[i]] > draw.highest
                expected.append(scores.softmax(1) * kept * draw.scale @ v[columns, part])
    wanted = torch.cat([torch.cat(pair, 1) for pair in zip(*[iter(expected)] * 2, strict=True)])
    torch.testing.assert_close(actual, wanted)
    weight = torch.randn(actual.shape, generator=generator)
    for ours, theirs in zip(
        torch.autograd.grad((actual * weight).sum(), (q, k, v)),
        torch.autograd.grad((wanted * weight).sum(), (q, k, v)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)
    assert layer(torch.randn(11, 8), k, v, segments).isfinite().all()


def test_documents_without_queries_are_passed_over() -> None:
    torch.manual_seed(0)
    layer = Attention(width=8, heads=2, dropout=0.0)
    x, source = torch.randn(2, 8), torch.randn(6, 8)
    key, value = layer.project(source)
    result = layer(x, key, value, Segments([0, 2, 0], [2, 3, 1]))
    torch.testing.assert_close(result, layer(x, key[2:5], value[2:5], Segments([2], [3])))


def test_rows_attend_to_keys_of_their_own() -> None:
    torch.manual_seed(0)
    layer = Attention(width=8, heads=2, dropout=0.0)
    x, key, value = torch.randn(3, 8), torch.randn(3, 4, 8), torch.randn(3, 4, 8)
    expected = layer(x, key.flatten(0, 1), value.flatten(0, 1), Segments([1] * 3, [4] * 3))
    torch.testing.assert_close(layer.step(x, key, value), expected)


@pytest.mark.parametrize("shape", [(0, 6), (1, 6), (2, 6), (8, 6), (9, 6), (3, 4, 6)])
def test_a_linear_map_is_the_same_for_any_number_of_rows(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    layer = Linear(6, 5)
    x = torch.randn(shape, requires_grad=True)
    actual, expected = layer(x), F.linear(x, layer.weight, layer.bias)
    torch.testing.assert_close(actual, expected)
    assert actual.is_contiguous()
    weights = torch.randn_like(actual)
    gradients = [
        torch.autograd.grad((y * weights).sum(), (x, layer.weight)) for y in (actual, expected)
    ]
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_wide_products_are_bfloat16_and_their_gradients_arrive_at_float32_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layers, "_WIDE", 16)
    torch.manual_seed(0)
    wide, narrow = Linear(16, 24), Linear(24, 8)
    both = torch.nn.Sequential(wide, narrow)
    x = torch.randn(40, 16, requires_grad=True)
    leaves = (x, *both.parameters())
    exact = both(x)
    gradients = torch.autograd.grad(exact.square().sum(), leaves)
    with layers.bfloat16_products(both):
        assert layers.find_wide_linears(both) == [wide]
        result = both(x)
        half = F.linear(x.bfloat16(), wide.weight.bfloat16(), wide.bias.bfloat16()).float()
        torch.testing.assert_close(result, narrow(half), rtol=0, atol=0)
        for ours, theirs in zip(
            torch.autograd.grad(result.square().sum(), leaves), gradients, strict=True
        ):
            assert ours.dtype == torch.float32
            torch.testing.assert_close(
                ours, theirs, rtol=0.05, atol=0.05 * theirs.abs().max().item()
            )
    assert torch.equal(both(x), exact)  # as before
