"""Paired bootstrap: confidence intervals of F1 and of its differences between systems.

Each resample draws D of the D documents with replacement, the same ones for every system, so that
the difficulty of the documents cancels in differences. Metrics are ratios of sums over documents
(`metrics.addends`), so a resample is one row of a matrix product.

Letters: D documents, S systems, F metrics, B resamples.
"""

from typing import NamedTuple

import numpy as np

from one2set.arrays import Floats
from one2set.evaluation.metrics import metrics_from_sums
from one2set.evaluation.protocols import Protocol

_CELLS = 4_000_000  # array elements at a time: 32 MB
_BOUNDS = (0.025, 0.975)


class Intervals(NamedTuple):
    """95 % confidence intervals (low, high): F1 of each system, and its difference to the first."""

    f1: Floats  # (S, F, 2)
    difference: Floats  # (S, F, 2)


def paired_bootstrap(
    addends: Floats, protocol: Protocol, *, resamples: int, seed: int
) -> Intervals:
    """Compute intervals from the documents' addends of P, R and F1, (D, S, F, 3, 2)."""
    documents = len(addends)
    flat = addends.reshape(documents, -1)
    generator = np.random.default_rng(seed)
    chunk = max(1, _CELLS // documents)
    f1 = []
    for start in range(0, resamples, chunk):
        times_drawn = np.array(
            [
                np.bincount(generator.integers(documents, size=documents), minlength=documents)
                for _ in range(min(chunk, resamples - start))
            ],
            dtype=np.float64,
        )  # (b, D)
        sums = (times_drawn @ flat).reshape(-1, *addends.shape[1:])  # (b, S, F, 3, 2)
        f1.append(metrics_from_sums(sums, protocol)[2])  # (b, S, F)
    drawn = np.concatenate(f1)  # (B, S, F)
    difference = drawn - drawn[:, :1]
    return Intervals(
        *(
            np.moveaxis(np.quantile(values, _BOUNDS, axis=0), 0, -1)
            for values in (drawn, difference)
        )
    )
