"""Differences from the recorded outputs of the authors' release.

    python benchmarks/parity.py

Reads ../shared/reference (tests/model/reference.py) and prints for each recording the largest
difference, the tolerance that the recording states, and how many numbers were compared. The tests
assert the same. The exit code is 1 if a difference exceeds its tolerance.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.model import reference

from one2set.data.batch import SetLayout, sequence_missing_eos, shift_right
from one2set.model.import_release import import_network, rename_weight
from one2set.model.settrans import SetTrans
from one2set.prediction.greedy import greedy_set, roll_out
from one2set.training.objectives.assignment import hungarian, match_scores
from one2set.training.objectives.likelihood import Likelihood
from one2set.training.objectives.set_loss import SetLoss

_DISTRIBUTION, _EXACT = 2e-6, 0.0
_LAYOUTS = {"separate": SetLayout(8), "single": SetLayout(8, separate=False, peos=True)}


class Row(NamedTuple):
    what: str
    largest: float
    tolerance: float
    numbers: int


def compare(what: str, ours: ArrayLike, theirs: ArrayLike, tolerance: float) -> Row:
    """The largest difference; for losses, relative."""
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    difference = np.abs(a - b)
    if tolerance == reference.LOSS:
        difference = difference / np.abs(b)
    return Row(what, float(difference.max()), tolerance, a.size)


def load_settrans() -> SetTrans:
    path = reference.FOLDER / "checkpoint" / "set_best_model.pt"
    network = import_network(path, heads=reference.HEADS, dropout=0.0)
    assert isinstance(network, SetTrans)
    return network


def compare_sets(kind: str) -> Iterator[Row]:
    """Encoder, roll-out, assignment, distributions and loss of the set paradigm."""
    network, layout = load_settrans(), _LAYOUTS[kind]
    expected = reference.recording(f"set/trained_{kind}")
    batch = reference.by_length(reference.recording(f"set/batch_{kind}"), layout)
    memory = network.encode(batch)
    states = expected["memory"][batch.source_mask.numpy()]
    yield compare(f"{kind}: encoder", memory.states, states, _DISTRIBUTION)
    size = expected["rollout_dist"].shape[-1]
    steps = list(roll_out(network, memory, steps=2))
    tokens = np.stack([step.choice.tokens.view(8, 8).numpy() for step in steps], -1)
    full = np.stack([step.mixture.distribution(size).view(8, 8, size) for step in steps], 2)
    yield compare(f"{kind}: roll-out words", tokens, expected["rollout_tokens"], _EXACT)
    yield compare(f"{kind}: roll-out distributions", full, expected["rollout_dist"], _DISTRIBUTION)
    scores = match_scores(network, memory, batch.targets, steps=2)
    order = hungarian(scores, list(layout.parts.values()))
    if kind == "single":
        costs, assigned = expected["score"], expected["assign"]
    else:
        scores = torch.cat([scores[:, :4, :4], scores[:, 4:, 4:]])
        costs = np.concatenate([expected["score_pre"], expected["score_abs"]])
        assigned = np.concatenate([expected["assign_pre"], expected["assign_abs"] + 4], 1)
    yield compare(f"{kind}: K-step costs", scores, costs, _DISTRIBUTION)
    yield compare(f"{kind}: assignments", order, assigned, _EXACT)
    mask = torch.tensor(expected["assigned_mask"]).bool()
    mixture = network.decode(memory, shift_right(torch.tensor(expected["assigned_target"])), mask)
    decoded = mixture.distribution(expected["dist"].shape[-1])
    cells = mask.flatten(1).numpy()
    yield compare(f"{kind}: distributions", decoded, expected["dist"][cells], _DISTRIBUTION)
    loss = SetLoss(network, separate=kind == "separate")(batch).total.item()
    yield compare(f"{kind}: loss", [loss], [expected["loss"].item()], reference.LOSS)


def compare_sequences() -> Iterator[Row]:
    network = import_network(
        reference.FOLDER / "checkpoint" / "seq_best_model.pt", heads=reference.HEADS
    )
    recorded, expected = reference.recording("seq/batch"), reference.recording("seq/trained")
    batch = reference.by_length(recorded, sequence_missing_eos)
    mixture = network.decode(network.encode(batch), shift_right(batch.targets), batch.target_mask)
    full = mixture.distribution(expected["dist"].shape[-1])
    cells = batch.target_mask.squeeze(1).numpy()
    yield compare("sequence: distributions", full, expected["dist"][cells], _DISTRIBUTION)
    loss = Likelihood(network).eval()(batch).sum.item()
    yield compare("sequence: loss", [loss], [expected["loss_sum"].item()], reference.LOSS)


def compare_generation() -> Row:
    expected = reference.recording("set/greedy_trained")
    network = load_settrans()
    batch = reference.by_length(expected, _LAYOUTS["separate"])
    decoded = greedy_set(network, network.encode(batch), steps=6)
    written = (decoded.tokens != 0).numpy()
    return compare(
        "greedy words, to the end of each row",
        decoded.tokens[torch.from_numpy(written)],
        expected["tokens"][written],
        _EXACT,
    )


def compare_training() -> Iterator[Row]:
    folder = reference.FOLDER / "train"
    trajectory: list[dict[str, Any]] = json.loads(
        (folder / "set_separate_trajectory.json").read_text()
    )
    objective = SetLoss(load_settrans()).train()
    weights = dict(objective.network.named_parameters())
    optimizer = torch.optim.Adam(weights.values(), lr=1e-4, betas=(0.9, 0.998), eps=1e-9)
    losses = []
    for recorded in trajectory:
        optimizer.zero_grad()
        loss = objective(reference.batch(recorded["docs"], objective.layout)).total
        loss.backward()
        losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        if recorded["step"] == 0:
            with np.load(folder / "set_separate_step0_clipped_grads.npz") as file:
                theirs = np.concatenate([file[name].ravel() for name in file])
                grads = [weights[rename_weight(name)].grad for name in file]
            ours = np.concatenate([grad.numpy().ravel() for grad in grads if grad is not None])
            yield compare("gradient of the first step", ours, theirs, _DISTRIBUTION)
        optimizer.step()
    yield compare(
        "losses of six steps", losses, [step["loss"] for step in trajectory], reference.LOSS
    )


def main() -> None:
    with torch.no_grad():
        rows = [
            *compare_sets("separate"),
            *compare_sets("single"),
            *compare_sequences(),
            compare_generation(),
        ]
    rows += compare_training()
    print(f"{'what':38} {'largest difference':>18} {'tolerance':>10} {'numbers':>10}")
    for row in rows:
        tolerance = f"{row.tolerance:.0e}" if row.tolerance else "exact"
        print(f"{row.what:38} {row.largest:18.1e} {tolerance:>10} {row.numbers:10,}")
    if any(row.largest > row.tolerance for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
