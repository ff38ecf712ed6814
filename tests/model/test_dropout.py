"""Dropout equals its definition, and its gradients autograd's."""

import pytest
import torch

from one2set.model.dropout import Dropout, attention_weights, draw_mask


def make_dropout(rate: float = 0.3) -> Dropout:
    return Dropout(rate).train()


def test_nothing_is_dropped_in_evaluation_or_at_rate_zero() -> None:
    x = torch.randn(5, 7)
    assert Dropout(0.5).eval()(x) is x
    assert make_dropout(0.0)(x) is x


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_the_rate_is_dropped_and_the_mean_is_preserved(rate: float) -> None:
    torch.manual_seed(0)
    out = make_dropout(rate)(torch.ones(1000, 301))
    assert (out == 0).float().mean().item() == pytest.approx(rate, abs=0.003)
    assert out.mean().item() == pytest.approx(1.0, abs=0.005)
    assert len(out[out != 0].unique()) == 1
    # Neighbours share a draw of 64 bits, and must not share their fate.
    kept = (out != 0).float().flatten()[:300_000].view(-1, 8)
    assert torch.corrcoef(kept.T).fill_diagonal_(0).abs().max() < 0.02


@pytest.mark.parametrize("rate", [0.1, 0.001, 0.999])
def test_the_rate_is_exact_on_average(rate: float) -> None:
    """It is rounded to 1/256, up or down at random; the numbers that are kept make up for it."""
    torch.manual_seed(0)
    draws = [draw_mask(torch.Size([8]), rate) for _ in range(20_000)]
    dropped = [draw.highest + 129 for draw in draws]
    assert set(dropped) <= {int(256 * rate), int(256 * rate) + 1}
    assert max(dropped) <= 255  # something is always kept
    if rate < 255 / 256:
        assert sum(dropped) / len(dropped) / 256 == pytest.approx(rate, abs=1e-4)
    for draw in draws[:50]:
        assert draw.scale * (127 - draw.highest) / 256 == pytest.approx(1.0)


def test_the_seed_decides_what_is_dropped() -> None:
    x = torch.ones(64)
    outs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outs.append(make_dropout()(x))
    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])


def test_the_gradient_has_the_mask_of_the_output() -> None:
    x = torch.randn(6, 5, requires_grad=True)
    out = make_dropout()(x)
    out.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad * x.detach(), out.detach())


def test_relu_dropout_is_dropout_of_relu() -> None:
    x = torch.randn(6, 5, requires_grad=True)
    torch.manual_seed(3)
    expected = make_dropout()(x.relu())
    torch.manual_seed(3)
    dropped = make_dropout().relu_dropout(x + 0)
    torch.testing.assert_close(dropped, expected)
    weight = torch.randn(6, 5)
    gradients = [torch.autograd.grad((out * weight).sum(), x)[0] for out in (dropped, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_dropout_of_its_weights(masked: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 3, n, 4, generator=generator, requires_grad=True) for n in (5, 6, 6))
    mask = torch.full((5, 6), -torch.inf).triu(1) if masked else None
    torch.manual_seed(3)
    actual = make_dropout().attention(q, k, v, mask)
    torch.manual_seed(3)
    weights = attention_weights(q, k, mask)
    draw = draw_mask(weights.shape, 0.3)
    keep = draw.bytes > draw.highest
    assert not keep.all()
    expected = (weights * keep * draw.scale) @ v
    torch.testing.assert_close(actual, expected)
    weight = torch.randn(expected.shape, generator=generator)
    for ours, theirs in zip(
        torch.autograd.grad((actual * weight).sum(), (q, k, v)),
        torch.autograd.grad((expected * weight).sum(), (q, k, v)),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_attention_without_dropout_is_plain() -> None:
    q, k, v = (torch.randn(1, 2, n, 4) for n in (5, 6, 6))
    expected = attention_weights(q, k, None) @ v
    torch.testing.assert_close(Dropout(0.3).eval().attention(q, k, v, None), expected)
