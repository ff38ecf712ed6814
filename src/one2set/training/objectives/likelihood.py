"""Maximum likelihood of a sequence (One2Seq), and the `Loss` that every objective returns."""

from dataclasses import dataclass

from torch import Tensor, nn

from one2set.data.batch import Batch, Layout, sequence, shifted
from one2set.model.network import Network


@dataclass(frozen=True)
class Loss:
    """Sums over a batch. What is minimised is their share per token, as in the authors' release;
    the sum is kept so that batches can be put together exactly."""

    sum: Tensor  # () with a gradient
    tokens: int  # real target cells; ∅ counts as one, whatever its weight
    parts: dict[str, Tensor]  # () of which the sum is made, for the log

    @property
    def total(self) -> Tensor:
        """The mean over tokens, to be minimised."""
        return self.sum / self.tokens


class Likelihood(nn.Module):
    """Teacher forcing on one row per document."""

    def __init__(self, network: Network, *, layout: Layout = sequence) -> None:
        super().__init__()
        self.network = network
        self.layout = layout

    def forward(self, batch: Batch) -> Loss:
        """The loss of a batch that has the objective's layout."""
        memory = self.network.encode(batch)
        mixture = self.network.decode(memory, shifted(batch.targets), batch.target_mask)
        total = -mixture.log_likelihood(batch.targets[batch.target_mask]).sum()
        return Loss(total, batch.tokens, {"sequence": total.detach()})
