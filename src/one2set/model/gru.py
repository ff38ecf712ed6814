"""GRUs on a CPU, several side by side.

    r = σ(a_r + W_r h)     n = tanh(a_n + r ⊙ (W_n h + b_n))
    z = σ(a_z + W_z h)     h' = n + z ⊙ (h − n)

where a = W_x x + b is what the inputs add, computed for all steps at once. On a CPU, `torch.nn.GRU`
builds a graph of every step, and its gradient adds a matrix as large as the weights at every step.
Here the gradient of a step is one product: its other factors do not depend on it, so they are
computed for all steps at once, and so is the gradient of the weights.

Shapes: T steps, G GRUs, B sequences, D width, I inputs.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


# torch.compile would unroll all steps.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def run_grus(grus: Sequence[nn.GRU], inputs: Sequence[Tensor], initial: Tensor) -> Tensor:
    """The states (G, B, T, D) of GRUs of one layer, given the inputs (B, T, I) of each and their
    initial states (G, B, D). Sequences are padded: states after the end of one mean nothing."""
    if initial.device.type != "cpu":
        each = zip(grus, inputs, initial, strict=True)
        return torch.stack([gru(x, h[None].contiguous())[0] for gru, x, h in each])
    x = torch.stack([x.transpose(0, 1) for x in inputs])  # (G, T, B, I)
    input_weight, weight = (_stack(grus, name).transpose(1, 2) for name in _WEIGHTS)
    added = (x.flatten(1, 2) @ input_weight).view(*x.shape[:3], -1)  # (G, T, B, 3 D)
    biases = (_stack(grus, name) for name in _BIASES)
    with torch.autocast("cpu", enabled=False):
        states: Tensor = _Steps.apply(  # type: ignore[no-untyped-call]
            added.to(weight.dtype), *biases, weight, initial.to(weight.dtype)
        )
    return states.permute(1, 2, 0, 3).to(initial.dtype)


_WEIGHTS, _BIASES = ("weight_ih_l0", "weight_hh_l0"), ("bias_ih_l0", "bias_hh_l0")  # torch's names


def _stack(grus: Sequence[nn.GRU], name: str) -> Tensor:
    return torch.stack([getattr(gru, name) for gru in grus])


class _Steps(torch.autograd.Function):
    """All states (T, G, B, D), from what the inputs add (G, T, B, 3 D) without its bias, the biases
    of inputs and of states (G, 3 D), the weight of states (G, D, 3 D) and the initial states
    (G, B, D). Gates are in the order r, z, n, as in `torch.nn.GRU`."""

    @staticmethod
    def forward(
        ctx: Any, added: Tensor, bias: Tensor, state_bias: Tensor, weight: Tensor, initial: Tensor
    ) -> Tensor:
        width = initial.shape[2]
        n_part = slice(2 * width, None)
        # What is added to W h: a_r, a_z and b_n. Each step turns it into r, z and W_n h + b_n.
        gates = (added + (bias + state_bias)[:, None, None]).transpose(0, 1).contiguous()
        gates[..., n_part] = state_bias[:, None, n_part]
        # a_n, which each step turns into n.
        new = (added[..., n_part] + bias[:, None, None, n_part]).transpose(0, 1).contiguous()
        states = torch.cat([initial[None], torch.empty_like(new)])  # (1 + T, G, B, D)
        for gate, n, before, after in zip(gates, new, states[:-1], states[1:], strict=True):
            torch.baddbmm(gate, before, weight, out=gate)
            gate[..., : 2 * width].sigmoid_()
            reset, update, product = gate.split(width, dim=2)
            n.addcmul_(reset, product).tanh_()
            torch.lerp(n, before, update, out=after)
        ctx.save_for_backward(gates, new, states, weight)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        gates, new, states, weight = ctx.saved_tensors
        steps, _, rows, width = new.shape
        reset, update, product = gates.split(width, dim=3)
        # The derivatives of the state after a step by a_n, and by W h + b of each gate.
        by_new = (1 - update).mul_(1 - new.square())
        by_gates = torch.empty_like(gates).view(*new.shape[:3], 3, width)  # (T, G, B, 3, D)
        by_reset, by_update, by_product = by_gates.unbind(3)
        torch.mul(by_new, reset, out=by_product)
        torch.mul(by_product, product, out=by_reset).mul_(1 - reset)
        torch.sub(states[:-1], new, out=by_update).mul_(update).mul_(1 - update)
        # From here on, `by_gates` becomes the gradient, and `of_states` receives that of the
        # states before each step.
        of_states = torch.cat([torch.zeros_like(new[:1]), grads[0]])  # (1 + T, G, B, D)
        transposed = weight.transpose(1, 2)
        for t in reversed(range(steps)):
            before, after = of_states[t], of_states[t + 1]
            by_gates[t].mul_(after.unsqueeze(2))
            before.addcmul_(after, update[t])
            torch.baddbmm(before, by_gates[t].flatten(2), transposed, out=before)
        of_gates = by_gates.flatten(3).transpose(0, 1).flatten(1, 2)  # (G, T·B, 3 D)
        of_added = of_gates.clone()
        of_added[..., 2 * width :] = (of_states[1:] * by_new).transpose(0, 1).flatten(1, 2)
        of_weight = states[:-1].transpose(0, 1).flatten(1, 2).transpose(1, 2) @ of_gates
        ones = of_gates.new_ones(len(of_gates), 1, steps * rows)  # faster than a sum
        of_bias, of_state_bias = ((ones @ x).squeeze(1) for x in (of_added, of_gates))
        return (
            of_added.view(len(of_added), steps, rows, 3 * width),
            of_bias,
            of_state_bias,
            of_weight,
            of_states[0],
        )
