"""A plan on a Ray cluster: a real one whose worker dies, and a fake one."""

import os
import re
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from typer.testing import CliRunner

from one2set.cli import app
from one2set.errors import ConfigError, DataError
from one2set.reproduction import ray as ray_plans
from one2set.reproduction.execution import Plan
from one2set.reproduction.job import InterruptionError, JobFolder
from one2set.reproduction.plan import Setup, select_rows
from one2set.reproduction.ray import run_plan_on_ray
from tests.clusters import capture_on_ray
from tests.reproduction.conftest import QUICK, train_instantly

# Its own process: Ray leaves threads and warnings behind. The worker is killed with -9 when the
# training has begun.
SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path
from tests.clusters import start_ray
from tests.processes import descendants

def kill():
    killed = False
    while not killed:
        time.sleep(0.01)
        for process in descendants(os.getpid()):
            try:
                name = Path(f"/proc/{process}/cmdline").read_bytes()
                below = [Path(f"/proc/{p}/cmdline").read_bytes() for p in descendants(process)]
            except OSError:
                continue
            if name.startswith(b"ray::_run_job") and any(
                b"/settrans-seed0-" in line for line in below
            ):
                os.kill(process, signal.SIGKILL)
                killed = True
    print("killed", flush=True)

start_ray(cpus=2)
threading.Thread(target=kill, daemon=True).start()
from one2set.data.corpus.corpus import Corpus
from one2set.reproduction.ray import run_plan_on_ray
from one2set.reproduction.execution import Plan
from one2set.reproduction.plan import Setup, select_rows
setup = Setup(Corpus(sys.argv[1]), "tiny", 8, None, tuple(sys.argv[2:]))
jobs = setup.jobs(select_rows(["settrans-beam"]), [0])
plan = Plan(jobs, setup, Path("together"), splits=setup.splits)
for event in run_plan_on_ray(plan, processes=1, tidy=True):
    print(event.what, event.job.row.name, event.jobs_done, event.examples_done, flush=True)

from one2set.reproduction import ray as ray_plans
ray_plans.hash_code = lambda: "another"
again = Plan(jobs[:1], setup, Path("again"), splits=setup.splits)
for event in run_plan_on_ray(again, processes=1, tidy=True):
    pass
print(*again.failed.values())
"""


def assert_alike(together: Plan, alone: Plan) -> None:
    names = [job_folder.job.name for job_folder in alone.done()]
    assert [job_folder.job.name for job_folder in together.done()] == names != []
    for name in names:
        job_folder, own = together.jobs[name], alone.jobs[name]
        for split in alone.splits:
            assert job_folder.measured(split).figures == own.measured(split).figures


def plan_for(setup: Setup, root: Path, *rows: str) -> Plan:
    return Plan(setup.jobs(select_rows(rows), [0]), setup, root, splits=setup.splits)


@pytest.mark.ray
def test_a_cluster_gives_the_results_of_one_machine_even_if_a_worker_dies(
    quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'one2set[ray]'")
    setup = quick_setup()
    corpus = os.path.relpath(setup.corpus.folder, tmp_path)
    lines = capture_on_ray(SCRIPT, corpus, *QUICK, folder=tmp_path).splitlines()
    assert "killed" in lines
    assert re.match(
        r"the code on \S+ has version \w+, but the plan was started with another", lines[-1]
    )
    events = [line for line in lines if line.startswith(("begun", "done"))]
    assert events == [
        "begun settrans 0 0",
        "done settrans 1 8",
        "begun settrans-beam 1 8",
        "done settrans-beam 2 8",
    ]
    alone = plan_for(setup, tmp_path / "alone", "settrans-beam")
    list(alone.run(train_instantly, tidy=True))
    assert_alike(plan_for(setup, tmp_path / "together", "settrans-beam"), alone)


# --- A cluster that is made up --------------------------------------------------------------------


class RayError(Exception):
    pass


class RayTaskError(RayError):
    """An error of the task, with its cause; Ray makes it an instance of the class of the cause."""

    cause: Exception

    @classmethod
    def of(cls, cause: Exception) -> Exception:
        dual = type("RayTaskError", (cls, type(cause)), {"__init__": lambda self: None})
        error: Exception = dual()
        error.cause, error.args = cause, (f"Traceback of everything\n{cause}",)  # type: ignore[attr-defined]
        return error


class MadeUp:
    """In the place of Ray, with machines of some CPUs and GPUs. It does a task when it is waited
    for; `fate` may have something else happen to it, by the name of the row."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, *machines: dict[str, float]) -> None:
        self.machines = machines
        self.fate: dict[str, list[Exception]] = {}
        self.asked: dict[str, Any] = {}
        self.most = 0
        self.cancelled: list[object] = []

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": machine} for machine in self.machines]

    def cluster_resources(self) -> dict[str, float]:
        return {name: machine[name] for machine in self.machines for name in machine}

    def remote(self, function: Callable[..., None]) -> "MadeUpTask":
        return MadeUpTask(self, function)

    def wait(
        self, results: Sequence["MadeUpResult"], *, num_returns: int = 1, timeout: float = 0
    ) -> tuple[Sequence["MadeUpResult"], Sequence["MadeUpResult"]]:
        self.most = max(self.most, len(results))
        return results[:num_returns], results[num_returns:]

    def get(self, result: "MadeUpResult") -> None:
        result.do()

    def cancel(self, result: "MadeUpResult") -> None:
        self.cancelled.append(result)


class MadeUpTask:
    def __init__(self, ray: MadeUp, function: Callable[..., None]) -> None:
        self.ray, self.function = ray, function

    def options(self, **asked: Any) -> Self:
        self.ray.asked = asked
        return self

    def remote(self, far: JobFolder, *arguments: Any) -> "MadeUpResult":
        assert far.folder.is_absolute()
        return MadeUpResult(self, far, arguments)


class MadeUpResult:
    def __init__(self, task: MadeUpTask, far: JobFolder, arguments: Sequence[Any]) -> None:
        self.task, self.far, self.arguments = task, far, arguments

    def do(self) -> None:
        if fates := self.task.ray.fate.get(self.far.job.row.name):
            raise fates.pop(0)
        try:
            self.task.function(self.far, *self.arguments)
        except Exception as error:
            raise RayTaskError.of(error) from error


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> MadeUp:
    make_documents = MadeUp({"CPU": 2.0}, {"CPU": 1.0})
    monkeypatch.setattr(ray_plans, "connect_to_ray", lambda: make_documents)
    monkeypatch.setattr(ray_plans, "launch", lambda processes: train_instantly)
    return make_documents


def collect_events(plan: Plan) -> list[str]:
    events = run_plan_on_ray(plan, processes=1, tidy=True)
    return [f"{event.what} {event.job.row.name}" for event in events if event.what != "training"]


def test_jobs_fill_the_cluster_in_order_of_dependency(
    ray: MadeUp, quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    plan = plan_for(quick_setup(), tmp_path, "settrans-beam", "codes")
    events = collect_events(plan)
    assert events.index("done settrans") < events.index("begun settrans-beam")
    assert ray.most == 3, "three CPUs"
    assert events[:3] == ["begun settrans", "begun settrans-fixed", "begun settrans-single"]
    assert ray.asked == {"max_retries": 3, "num_cpus": 1}
    assert len(plan.done()) == 4
    assert collect_events(plan) == []


def test_errors_are_reported_as_without_ray(
    ray: MadeUp, quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    plan = plan_for(quick_setup("train.frozen_layers=1"), tmp_path, "catseq", "gan-mr", "codes")
    ray.fate = {
        "settrans-fixed": [RayError("The worker died unexpectedly.")],
        "settrans-single": [RayTaskError.of(InterruptionError(15))],
    }
    events = collect_events(plan)
    assert events.count("begun settrans-single") == 2, "it was asked to stop, and taken up again"
    assert {"failed catseq", "failed settrans-fixed", "done settrans-single"} <= {*events}
    assert "begun gan-mr" not in events
    errors = {name.split("-seed")[0]: error for name, error in plan.failed.items()}
    assert "only Transformers have layers to freeze" in str(errors["catseq"])
    assert "Traceback" not in str(errors["catseq"])
    assert isinstance(errors["settrans-fixed"], DataError)
    assert "RayError, The worker died unexpectedly.; see Ray's logs" in str(
        errors["settrans-fixed"]
    )

    plan = plan_for(quick_setup(), tmp_path, "settrans")
    ray.fate = {"settrans": [RayTaskError.of(ZeroDivisionError("a mistake"))]}
    with pytest.raises(RayTaskError, match="a mistake"):
        collect_events(plan)


def test_other_code_on_another_machine_is_refused(
    ray: MadeUp, quick_setup: Callable[..., Setup], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = iter(["here", "there"])
    monkeypatch.setattr(ray_plans, "hash_code", lambda: next(versions))
    plan = plan_for(quick_setup(), tmp_path, "settrans")
    collect_events(plan)
    (error,) = plan.failed.values()
    assert "has version there, but the plan was started with here; install the same" in str(error)


def test_a_disk_that_is_not_shared_is_noticed(
    ray: MadeUp, quick_setup: Callable[..., Setup], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_plans, "_VISIBLE_SECONDS", 0)
    monkeypatch.setattr(ray_plans, "_run_job", lambda *_: None)
    plan = plan_for(quick_setup(), tmp_path, "settrans")
    assert collect_events(plan) == ["begun settrans", "failed settrans"]
    (error,) = plan.failed.values()
    assert "--output must be a folder that all machines of the cluster share" in str(error)


def test_a_job_requests_the_resources_of_its_processes(
    ray: MadeUp, quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    plan = plan_for(quick_setup("machine.threads=2"), tmp_path, "settrans")
    with pytest.raises(ConfigError, match=r"needs 4 CPUs, and no machine .*--processes"):
        next(run_plan_on_ray(plan, processes=2, tidy=True))
    ray.machines = ({"CPU": 8.0, "GPU": 2.0},)
    next(run_plan_on_ray(plan, processes=2, tidy=True))
    assert ray.asked == {"max_retries": 3, "num_cpus": 4, "num_gpus": 2}
    plan = plan_for(quick_setup("machine.device=cpu"), tmp_path, "settrans")
    next(run_plan_on_ray(plan, processes=2, tidy=True))
    assert ray.asked == {"max_retries": 3, "num_cpus": 2}


def test_an_interruption_is_passed_on(
    ray: MadeUp, quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    plan = plan_for(quick_setup(), tmp_path, "codes")
    events = run_plan_on_ray(plan, processes=1, tidy=True)
    while next(events).what != "done":
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(InterruptionError):
        list(events)
    assert len(ray.cancelled) == 2, "the third is done"


def test_the_command_shows_progress_and_writes_the_report(
    ray: MadeUp, quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    corpus = str(quick_setup().corpus.folder)
    arguments = ["reproduce", corpus, "-o", str(tmp_path / "out"), "--engine", "ray"]
    arguments += ["--scale", "tiny", "--documents", "8", "--seeds", "1", "--only", "settrans"]
    result = CliRunner().invoke(app, [*arguments, *(f"--set={setting}" for setting in QUICK)])
    assert result.exit_code == 0, result.exception
    assert "training settrans (seed 0)" in result.stderr
    assert "1 of 1 jobs, 8 of 8 examples" in result.stderr
    assert (tmp_path / "out" / "report.html").exists()
