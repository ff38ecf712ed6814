"""The moving average of the weights, which generalises better than any single step's."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """An exponential moving average of the parameters that a module learns; decay 0 is the
    parameters themselves.

    The first steps count more than the decay says, min(decay, (1 + t) / (10 + t)), so that the
    random start is soon forgotten.
    """

    def __init__(self, module: nn.Module, *, decay: float) -> None:
        self._decay = decay
        self._weights = {
            name: weight for name, weight in module.named_parameters() if weight.requires_grad
        }
        self.tensors: dict[str, Tensor] = (
            {name: weight.detach().clone() for name, weight in self._weights.items()}
            if decay
            else {}
        )

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step, counted from 1."""
        if self.tensors:
            decay = min(self._decay, (1 + step) / (10 + step))
            torch._foreach_lerp_(
                list(self.tensors.values()), list(self._weights.values()), 1 - decay
            )

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Within the block the module has the averaged weights."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Continue from saved averages."""
        for name, tensor in self.tensors.items():
            tensor.copy_(tensors[name])

    def _swap(self) -> None:
        for name, tensor in self.tensors.items():
            weight = self._weights[name]
            weight.data, self.tensors[name] = tensor, weight.data
