"""Reliability: whether a calibration's likelihoods mean what they say, on documents left out of it,
and the diagram that shows it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from one2set.arrays import Flags, Floats
from one2set.errors import missing_extra
from one2set.keyphrases.calibration import Calibration
from one2set.keyphrases.tuning import Judged, Pool, judgement, quality, tune
from one2set.prediction.prediction import SIDES, Side


class Check(NamedTuple):
    """How tuning does on documents that it was not done on: the phrases that it shows, and the
    quality of both sides before and after."""

    likely: Floats  # (n,) how likely each is
    correct: Flags  # (n,)
    present: Flags  # (n,)
    before: dict[Side, float]
    after: dict[Side, float]

    def reliability(self, side: Side, bins: int = 10) -> list[tuple[float, float, int]]:
        """Phrases in bins of like likelihood and equal size: mean likelihood, share that is right,
        and how many they are."""
        chosen = np.flatnonzero(self.present == (side == "present"))
        ordered = chosen[np.argsort(self.likely[chosen], kind="stable")]
        return [
            (float(self.likely[part].mean()), float(self.correct[part].mean()), len(part))
            for part in np.array_split(ordered, bins)
            if len(part)
        ]

    def calibration_error(self, side: Side) -> float:
        """The mean distance of likelihood and share over those bins, weighted by their sizes."""
        found = self.reliability(side)
        distance = sum(abs(likely - right) * count for likely, right, count in found)
        return distance / max(sum(count for *_, count in found), 1)


def cross_check(judged: Sequence[Judged]) -> Check:
    """Tune on either half of the documents, and measure on the other."""
    parts = judged[::2], judged[1::2]
    checks = []
    for fitted, rest in (parts, parts[::-1]):
        calibration, pool = tune(fitted), Pool(rest)
        likely, shown = judgement(pool, calibration)
        checks.append(
            Check(
                likely[shown],
                pool.correct[shown],
                pool.present[shown],
                before=quality(pool, Calibration()),
                after=quality(pool, calibration),
            )
        )
    first, second = checks
    return Check(
        np.concatenate([first.likely, second.likely]),
        np.concatenate([first.correct, second.correct]),
        np.concatenate([first.present, second.present]),
        before={side: (first.before[side] + second.before[side]) / 2 for side in SIDES},
        after={side: (first.after[side] + second.after[side]) / 2 for side in SIDES},
    )


def draw(check: Check, path: Path) -> None:
    """The reliability diagram: the nearer to the diagonal, the more a likelihood means."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("matplotlib", extra="train", purpose="Drawing a diagram") from None

    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="grey", linestyle="--", label="perfect")
    for side in SIDES:
        found = check.reliability(side)
        label = f"{side} ({sum(count for *_, count in found):,} phrases)"
        axes.plot([one[0] for one in found], [one[1] for one in found], marker="o", label=label)
    axes.set(xlabel="score", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    figure.savefig(path, dpi=120)
