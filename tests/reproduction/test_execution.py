"""A plan runs in order, once, in several processes, and resumes after a kill."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import pytest

from one2set.data.corpus.corpus import Corpus
from one2set.prediction.prediction import AS_TRAINED
from one2set.reproduction.execution import Forecast, JobEvent, Plan
from one2set.reproduction.job import JobFolder, TrainingRecord
from one2set.reproduction.measure import Measured
from one2set.reproduction.plan import Job, Setup, select_rows
from tests.reproduction.conftest import QUICK, train_instantly


def plan_for(setup: Setup, root: Path, *parts: str) -> Plan:
    return Plan(setup.jobs(select_rows(parts), [0]), setup, root, splits=["inspec-part"])


def test_jobs_are_done_in_order_and_once(quick_setup: Callable[..., Setup], tmp_path: Path) -> None:
    plan = plan_for(quick_setup(), tmp_path, "codes")
    events = list(plan.run(train_instantly, tidy=True))
    assert [event.job.row.name for event in events if event.what == "begun"] == [
        "settrans",
        "settrans-fixed",
        "settrans-single",
    ]
    ended = [event for event in events if event.what == "done"]
    assert [event.jobs_done for event in ended] == [1, 2, 3]
    assert [event.examples_done for event in ended] == [8, 16, 24]
    assert events[0].seconds_left is None, "nothing is known yet"
    left = [event.seconds_left for event in ended]
    assert left[0] > left[1] > left[2] == 0  # type: ignore[operator]
    assert list(plan.run(train_instantly, tidy=True)) == []
    assert list(plan_for(quick_setup(), tmp_path, "codes").run(train_instantly, tidy=True)) == []


def test_a_job_that_fails_stops_only_those_that_need_it(
    quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    plan = plan_for(quick_setup("train.frozen_layers=1"), tmp_path, "tables")
    wanted = {"catseq", "gan-mr", "transformer"}
    plan.jobs = {
        name: job_folder
        for name, job_folder in plan.jobs.items()
        if job_folder.job.row.name in wanted
    }
    events = [(event.what, event.job.row.name) for event in plan.run(train_instantly, tidy=True)]
    assert ("done", "transformer") in events
    assert ("failed", "catseq") in events
    assert ("begun", "gan-mr") not in events
    (error,) = plan.failed.values()
    assert "only Transformers have layers to freeze" in str(error)


def test_jobs_of_another_process_are_waited_for(
    quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    plan, other = (plan_for(quick_setup(), tmp_path, "codes") for _ in range(2))
    first = next(iter(other.jobs.values()))
    events: list[JobEvent] = []
    with first.locked() as lock:
        assert lock is not None
        for event in plan.run(train_instantly, tidy=True):
            events.append(event)
            if event.what == "waiting":
                break
        names = [event.job.row.name for event in events if event.what == "begun"]
        assert names == ["settrans-fixed", "settrans-single"], "what nobody has claimed"
        assert events[-1].job.row.name == "settrans"
        list(first.train(lock, train_instantly, tidy=True))
        list(first.measure(plan.splits))
    assert len(plan.done()) == 3
    assert list(plan.run(train_instantly, tidy=True)) == []


def _do(corpus: Path, root: Path, changes: tuple[str, ...], code: str) -> None:
    """In a process that will be killed."""
    setup = Setup(Corpus(corpus), "tiny", 16, None, changes, code)
    for _ in plan_for(setup, root, "lambda").run(train_instantly, tidy=False):
        pass


def test_a_killed_plan_resumes_to_the_same_results(
    quick_setup: Callable[..., Setup], tested_corpus: Path, tmp_path: Path
) -> None:
    changes = (*QUICK, "train.batch_documents=1", "logging.checkpoint_steps=1")
    setup = replace(quick_setup(documents=16), changes=changes)
    first = setup.jobs(select_rows(["lambda"]), [0])[:1]
    killed = Plan(first, setup, tmp_path / "killed", splits=["inspec-part"])
    (job,) = killed.jobs.values()
    child = get_context("forkserver").Process(
        target=_do, args=(tested_corpus, tmp_path / "killed", changes, setup.code)
    )
    child.start()
    while job.examples_seen() < 4:
        assert child.exitcode is None
        time.sleep(0.01)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert not job.done([])
    list(killed.run(train_instantly, tidy=True))
    assert "resuming from" in (job.folder / "train.log").read_text()

    whole = Plan(first, setup, tmp_path / "whole", splits=["inspec-part"])
    list(whole.run(train_instantly, tidy=True))
    (undisturbed,) = whole.jobs.values()
    pair = [job_folder.measured("inspec-part") for job_folder in (job, undisturbed)]
    assert pair[0].figures == pair[1].figures
    assert pair[0].codes == pair[1].codes
    weights = [
        (job_folder.run / "model" / "weights.safetensors").read_bytes()
        for job_folder in (job, undisturbed)
    ]
    assert weights[0] == weights[1]


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
    result = quick_setup(documents=10).jobs(select_rows(["tables", "beyond"]), [0])
    return {job.row.name: job for job in result}


def test_estimates_use_the_speed_of_the_same_system(jobs: dict[str, Job]) -> None:
    done = [Took(jobs["settrans"], 20.0, 1.0), Took(jobs["catseq"], 40.0, 3.0)]
    forecast = Forecast(done, ["a", "b"])
    assert forecast.seconds(jobs["settrans"]) == pytest.approx(20 + 2)
    assert forecast.seconds(jobs["settrans"], examples_seen=5) == pytest.approx(10 + 2)
    assert forecast.seconds(jobs["exhird"]) == pytest.approx(30 + 4), "an average one"
    assert forecast.seconds(jobs["settrans-beam"]) == pytest.approx(4), "nothing to train"
    assert forecast.total([(jobs["settrans"], 0), (jobs["catseq"], 10)]) == pytest.approx(22 + 6)


def test_there_is_no_estimate_before_the_first_job(jobs: dict[str, Job]) -> None:
    forecast = Forecast([], ["a"])
    assert forecast.seconds(jobs["settrans"]) is None
    assert forecast.seconds(jobs["settrans-beam"]) is None, "it takes time, too"
    assert forecast.total([(jobs["settrans"], 0)]) is None
    forecast.note(jobs["settrans"], 2, 6.0)
    assert forecast.seconds(jobs["settrans"], examples_seen=2) == pytest.approx(24)
    assert forecast.seconds(jobs["catseq"]) == pytest.approx(30)
