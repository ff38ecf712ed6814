"""Progress, learning rate and stopping of a run."""

import math
from collections.abc import Callable

import pytest

from one2set.training.config import LimitSettings, TrainSettings, ValidationSettings
from one2set.training.schedule import Progress


@pytest.mark.parametrize(
    ("schedule", "shape"),
    [
        ("constant", lambda done: 1.0),
        ("linear", lambda done: 1 - done),
        ("cosine", lambda done: 0.5 + 0.5 * math.cos(math.pi * done)),
    ],
)
def test_the_rate_rises_then_follows_its_shape(
    schedule: str, shape: Callable[[float], float]
) -> None:
    train = TrainSettings.model_validate(
        {"schedule": schedule, "warmup_steps": 10, "learning_rate": 2e-3}
    )
    for step in range(100):
        done = step / 100
        expected = 2e-3 * shape(done) * min(1, (step + 1) / 10)
        assert Progress(step=step).learning_rate(done, train) == pytest.approx(expected)


def test_a_plateau_halves_the_rate_down_to_the_authors_minimum() -> None:
    train, validation = (
        TrainSettings(schedule="plateau", learning_rate=1e-4),
        ValidationSettings(patience=0),
    )
    progress, expected = Progress(), 1e-4
    assert progress.record_validation({"loss": 3.0}, validation, train)
    for _ in range(20):
        assert not progress.record_validation({"loss": 3.0}, validation, train)
        if expected - expected / 2 > 1e-8:
            expected /= 2
        assert progress.learning_rate(0.5, train) == pytest.approx(expected)
    assert expected > 1e-8
    assert progress.record_validation({"loss": 2.9}, validation, train)
    assert progress.learning_rate(0.5, train) == pytest.approx(expected)


def test_the_best_is_the_lowest_loss_or_the_highest_f1() -> None:
    train = TrainSettings()
    by_loss, by_f1 = Progress(), Progress()
    result = [{"loss": x, "f1": x} for x in (2.0, 1.0, 3.0, math.nan)]
    assert [
        by_loss.record_validation(metrics, ValidationSettings(select_by="loss"), train)
        for metrics in result
    ] == [
        True,
        True,
        False,
        False,
    ]
    assert [
        by_f1.record_validation(metrics, ValidationSettings(select_by="f1"), train)
        for metrics in result
    ] == [
        True,
        False,
        True,
        False,
    ]
    assert (by_loss.best, by_f1.best) == (1.0, 3.0)


def test_of_equal_f1s_the_one_with_the_lower_loss_is_the_best() -> None:
    """A network without correct phrases at any validation still learns."""
    validation, train, progress = (
        ValidationSettings(select_by="f1", patience=2),
        TrainSettings(),
        Progress(),
    )
    best = []
    for step, (f1, loss) in enumerate(
        [(0.0, 3.0), (0.0, 2.0), (0.0, 2.5), (0.0, 2.0), (0.0, math.nan), (0.1, 9.0), (0.0, 1.0)]
    ):
        progress.step = step
        progress = Progress.model_validate_json(progress.model_dump_json())  # a resumed run
        best.append(progress.record_validation({"f1": f1, "loss": loss}, validation, train))
    assert best == [True, True, False, False, False, True, False]
    assert (
        progress.best,
        progress.best_loss,
        progress.best_step,
        progress.validations_without_improvement,
    ) == (
        0.1,
        9.0,
        5,
        1,
    )


def test_patience_counts_consecutive_validations_without_improvement() -> None:
    train, validation, progress = TrainSettings(), ValidationSettings(patience=2), Progress()
    endings = []
    for value in (5.0, 6.0, 4.0, 4.0, 4.5):
        progress.record_validation({"loss": value}, validation, train)
        endings.append(progress.stop_reason(0.5, validation))
    assert endings == [None, None, None, None, "patience"]
    assert progress.stop_reason(1.0, ValidationSettings(patience=0)) == "limit"
    assert progress.stop_reason(0.9, ValidationSettings(patience=0)) is None


def test_the_nearest_limit_determines_the_fraction_done() -> None:
    progress = Progress(step=30, documents=500, seconds=60.0)

    def done(**limits: float) -> float:
        return progress.fraction_done(
            LimitSettings.model_validate({"epochs": 0, **limits}), epoch_documents=1000
        )

    assert done(epochs=2) == 0.25
    assert done(steps=40) == 0.75
    assert done(documents=1000) == 0.5
    assert done(minutes=4) == 0.25
    assert done(epochs=2, steps=40, minutes=4) == 0.75
    assert done(steps=10) == 1.0


def test_losses_are_means_over_tokens_since_the_last_line() -> None:
    progress = Progress()
    progress.add({"loss": 6.0, "present": 4.0}, 2)
    progress.add({"loss": 6.0, "present": 2.0}, 4)
    assert progress.pop_mean_losses() == {"loss": 2.0, "present": 1.0}
    progress.add({"loss": 1.0}, 1)
    assert progress.pop_mean_losses() == {"loss": 1.0}


def test_a_loss_that_only_some_steps_have_is_their_mean() -> None:
    progress = Progress()
    progress.add({"loss": 6.0, "reward": 3.0}, 6)
    progress.add({"loss": 8.0, "accuracy": 4.0}, 8)
    assert progress.pop_mean_losses() == {"loss": 1.0, "reward": 0.5, "accuracy": 0.5}


def test_an_epoch_ends_with_its_last_batch() -> None:
    progress = Progress()
    progress.advance(documents=3, last=False)
    assert (progress.epoch, progress.batch, progress.epochs_started) == (0, 1, 1)
    progress.advance(documents=2, last=True)
    assert (progress.epoch, progress.batch, progress.epochs_started) == (1, 0, 1)
    assert (progress.step, progress.documents) == (2, 5)
