"""Maximum likelihood, and the `Loss` that every objective returns."""

from dataclasses import dataclass

from torch import Tensor, nn

from one2set.data.batch import Batch, shift_right
from one2set.model.network import Network


@dataclass(frozen=True)
class Loss:
    """The loss of a batch, as a sum over its tokens.

    Training minimises the mean per token, as the authors' release does. The sum is kept so that
    micro-batches can be combined exactly.
    """

    sum: Tensor  # () with a gradient
    tokens: int  # target tokens without padding; ∅ counts as one token, whatever its weight
    parts: dict[str, Tensor]  # () sums of its parts, for the log

    @property
    def total(self) -> Tensor:
        """The mean over tokens, which training minimises."""
        return self.sum / self.tokens


class Likelihood(nn.Module):
    """Maximum likelihood with teacher forcing on the target rows of each document."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch) -> Loss:
        """The negative log-likelihood of the targets of a batch."""
        memory = self.network.encode(batch)
        mixture = self.network.decode(memory, shift_right(batch.targets), batch.target_mask)
        total = -mixture.log_likelihood(batch.targets[batch.target_mask]).sum()
        return Loss(total, batch.tokens, {"sequence": total.detach()})
