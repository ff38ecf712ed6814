"""A job is locked, trained and measured once, and resumed to the same result."""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest
import torch

from one2set.errors import DataError
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import AS_TRAINED, NullBias
from one2set.reproduction.job import InterruptionError, JobFolder, has_ended, launch
from one2set.reproduction.plan import Setup, select_rows
from tests.reproduction.conftest import train_instantly


@pytest.fixture
def job(quick_setup: Callable[..., Setup], tmp_path: Path) -> JobFolder:
    setup = quick_setup()
    jobs = {job.row.name: job for job in setup.jobs(select_rows(["lambda"]), [0])}
    return JobFolder(jobs["settrans-lambda-0.05"], setup, tmp_path)


def test_a_model_is_measured_with_the_threads_of_its_training(
    quick_setup: Callable[..., Setup], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = quick_setup("machine.threads=3")
    job = JobFolder(setup.jobs(select_rows(["catseq"]), [0])[0], setup, tmp_path)
    chosen: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", chosen.append)
    with job.locked() as lock:
        assert lock is not None
        list(job.train(lock, train_instantly, tidy=True))
        chosen.clear()
        list(job.measure(["inspec-part"]))
    assert chosen == [3]


def refuse_to_start(arguments: Sequence[str], log: IO[bytes], lock: IO[bytes]) -> "Stubborn":
    raise AssertionError("it is trained already")


class Stubborn:
    """A training that goes on until it is asked to stop."""

    def __init__(self) -> None:
        self.asked = False

    def poll(self) -> int | None:
        os.kill(os.getpid(), signal.SIGTERM)
        return None

    def wait(self) -> int:
        return 143

    def terminate(self) -> None:
        self.asked = True


def test_a_job_is_done_once(job: JobFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = ["kp20k-part", "inspec-part"]
    assert not job.done(splits)
    with job.locked() as lock:
        assert lock is not None
        list(job.train(lock, train_instantly, tidy=True))
        assert list(job.measure(splits[:1])) == ["kp20k-part"]
        assert job.done(splits[:1])
        assert not job.done(splits)
        assert list(job.measure(splits)) == ["inspec-part"], "what is measured is kept"
        assert job.done(splits)
        monkeypatch.setattr(Engine, "load", refuse_to_start)
        list(job.train(lock, refuse_to_start, tidy=True))
        assert list(job.measure(splits)) == []
    record = job.training_record()
    assert record.examples_seen >= 8, "the last batch may go beyond"
    assert record.parameters > 0
    assert torch.backends.cpu.get_cpu_capability() in record.hardware
    assert job.examples_seen() == record.examples_seen
    assert not any((job.run / "checkpoints").glob("0*")), "a plan's would fill a disk"
    assert (job.run / "model").is_dir()
    assert len(job.addends("kp20k-part").f1) == job.measured("kp20k-part").documents == 10
    arguments = job.command()
    assert "--set=loss.null_weight_present=0.05" in arguments
    assert "--set=limits.documents=8" in arguments


def test_a_tuned_bias_is_what_is_measured(
    quick_setup: Callable[..., Setup], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup, tuned = quick_setup(), NullBias(0.25, -0.75)
    monkeypatch.setattr("one2set.reproduction.job.tune_null_bias", lambda *_: tuned)
    rows = select_rows(["settrans", "settrans-bias"])
    trained, biased = (JobFolder(job, setup, tmp_path) for job in setup.jobs(rows, [0]))
    for job, expected in ((trained, AS_TRAINED), (biased, tuned)):
        with job.locked() as lock:
            assert lock is not None
            list(job.train(lock, train_instantly, tidy=True))
        assert job.training_record().null_bias == expected
    for bias, silent in ((100.0, 1.0), (-100.0, 0.0)):
        record = biased.training_record().model_copy(update={"null_bias": NullBias(bias, bias)})
        (biased.folder / "training.json").write_text(record.model_dump_json())
        shutil.rmtree(biased.folder / "measured", ignore_errors=True)
        assert list(biased.measure(["inspec-part"])) == ["inspec-part"]
        assert {code.null for code in biased.measured("inspec-part").codes} == {silent}


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("settrans-beam", {"beam": 5}),
        ("transformer-exclusive", {"exclusive": -1}),
        ("exhird-exclusive", {"exclusive": -1}),  # instead of 1
    ],
)
def test_the_search_of_a_row_is_what_is_measured(
    quick_setup: Callable[..., Setup],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    changed: dict[str, Any],
) -> None:
    setup, searches = quick_setup(), []
    predict = Engine.predict

    def spy(engine: Engine, *args: Any, **kwargs: Any) -> Any:
        searches.append(engine.generation.search)
        return predict(engine, *args, **kwargs)

    monkeypatch.setattr(Engine, "predict", spy)
    for job in setup.jobs(select_rows([name]), [0]):
        folder = JobFolder(job, setup, tmp_path)
        with folder.locked() as lock:
            assert lock is not None
            list(folder.train(lock, train_instantly, tidy=True))
        searches.clear()
        list(folder.measure(["inspec-part"]))
    trained = Engine.load(folder.model).generation.search
    assert searches == [replace(trained, **changed)]
    assert searches != [trained]


def test_a_lock_keeps_other_processes_away(job: JobFolder) -> None:
    with job.locked() as lock:
        assert lock is not None
        with job.locked() as other:
            assert other is None
    with job.locked() as lock:
        assert lock is not None


def test_the_lock_lasts_as_long_as_the_training(
    job: JobFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A killed parent leaves its training behind; no second one may start."""
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with (tmp_path / "log").open("wb") as log, job.locked() as lock:
        assert lock is not None
        child = launch()(["train"], log, lock)
    with job.locked() as lock:
        assert lock is None
    child.terminate()
    child.wait()
    with job.locked() as lock:
        assert lock is not None


def test_a_failed_training_reports_the_reason(
    quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    setup = quick_setup("train.frozen_layers=1")
    jobs = {job.row.name: job for job in setup.jobs(select_rows(["tables"]), [0])}
    job = JobFolder(jobs["catseq"], setup, tmp_path)
    with job.locked() as lock:
        assert lock is not None
        with pytest.raises(DataError, match=r"(?s)catseq could not be trained:.*only Transformers"):
            list(job.train(lock, train_instantly, tidy=True))
    assert not has_ended(job.run, setup.corpus)


def test_a_signal_is_passed_on_to_the_training(job: JobFolder) -> None:
    child = Stubborn()
    with job.locked() as lock:
        assert lock is not None
        with pytest.raises(InterruptionError) as caught:
            list(job.train(lock, lambda *_: child, tidy=True))
    assert caught.value.signal == signal.SIGTERM
    assert child.asked
    assert not job.done([])


def start_script(folder: Path, processes: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments of a program in place of Python."""
    script = folder / "python"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with (folder / "log").open("wb") as log, (folder / "lock").open("wb") as lock:
        assert launch(processes)(["train", "corpus"], log, lock).wait() == 0
    return (folder / "log").read_text().split()


def test_launch_starts_one_process_or_torchrun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert start_script(tmp_path, 1, monkeypatch) == ["-m", "one2set", "train", "corpus"]
    assert start_script(tmp_path, 2, monkeypatch) == [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "-m",
        "one2set",
        "train",
        "corpus",
    ]
