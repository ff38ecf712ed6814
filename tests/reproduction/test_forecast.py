"""Time to come, from time that was."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from one2set.reproduction.forecast import Forecast
from one2set.reproduction.job import JobFolder, TrainingRecord
from one2set.reproduction.measure import Measured
from one2set.reproduction.plan import Job, Setup, rows_for
from one2set.search.null_bias import AS_TRAINED


class Took(JobFolder):
    """A job that is done, and what it took."""

    def __init__(self, job: Job, seconds: float, measuring: float) -> None:
        self.job, self._seconds, self._measuring = job, seconds, measuring

    def training_record(self) -> TrainingRecord:
        return TrainingRecord(
            examples_seen=self.job.num_examples,
            seconds=self._seconds,
            cpu_seconds=0,
            cpu_examples=0,
            parameters=1,
            null_bias=AS_TRAINED,
            ended=datetime.now(UTC),
            machine="",
            versions={},
        )

    def measured(self, split: str) -> Measured:
        return Measured(
            documents=1,
            figures={},
            gold={},
            seconds=self._measuring,
            cpu_seconds=0,
            codes=(),
        )


@pytest.fixture
def jobs(quick_setup: Callable[..., Setup], tmp_path: Path) -> dict[str, Job]:
    found = quick_setup(documents=10).jobs(rows_for(["tables", "beyond"]), [0])
    return {job.row.name: job for job in found}


def test_a_system_takes_as_long_as_it_took(jobs: dict[str, Job]) -> None:
    done = [Took(jobs["settrans"], 20.0, 1.0), Took(jobs["catseq"], 40.0, 3.0)]
    forecast = Forecast(done, ["a", "b"])
    assert forecast.seconds(jobs["settrans"]) == pytest.approx(20 + 2)
    assert forecast.seconds(jobs["settrans"], examples_seen=5) == pytest.approx(10 + 2)
    assert forecast.seconds(jobs["exhird"]) == pytest.approx(30 + 4), "an average one"
    assert forecast.seconds(jobs["settrans-beam"]) == pytest.approx(4), "nothing to train"
    assert forecast.total([(jobs["settrans"], 0), (jobs["catseq"], 10)]) == pytest.approx(22 + 6)


def test_nothing_is_known_before_anything_is_done(jobs: dict[str, Job]) -> None:
    forecast = Forecast([], ["a"])
    assert forecast.seconds(jobs["settrans"]) is None
    assert forecast.total([(jobs["settrans"], 0)]) is None
    forecast.note(jobs["settrans"], 2, 6.0)
    assert forecast.seconds(jobs["settrans"], examples_seen=2) == pytest.approx(24)
    assert forecast.seconds(jobs["catseq"]) == pytest.approx(30)
