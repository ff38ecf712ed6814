"""Run a plan on a Ray cluster: every job is a task, on any machine with free resources.

Jobs are the same as without Ray: the same command in the same folder, which all machines reach
under the same path, with the same lock. Ray chooses the machine, and another one if a worker
dies. A plan started on a cluster can be continued on one machine, and the reverse.
"""

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from one2set.bulk.ray import connect_to_ray, find_user_error
from one2set.data.corpus.corpus import Corpus
from one2set.errors import ConfigError, DataError
from one2set.reproduction.execution import SECONDS_BETWEEN_ROUNDS, EventKind, JobEvent, Plan
from one2set.reproduction.job import InterruptionError, JobFolder, launch
from one2set.reproduction.plan import Setup
from one2set.reproduction.version import hash_code
from one2set.training.config import SCALES
from one2set.training.interruption import catch_signals

_MAX_RETRIES = 3  # of a job whose worker died
_VISIBLE_SECONDS = 60.0  # until a network disk shows a file
_RESOURCES = {"num_cpus": "CPU", "num_gpus": "GPU"}  # Ray's names


@dataclass(frozen=True)
class _Running:
    """A job that runs on Ray."""

    folder: JobFolder
    result: Any  # Ray's reference to its result
    examples_seen: int  # seen before it started
    began: float = field(default_factory=time.monotonic)


def run_plan_on_ray(plan: Plan, *, processes: int, tidy: bool) -> Iterator[JobEvent]:
    """Run the unfinished jobs, as many at a time as the cluster has resources for. A failed job
    stops only the jobs that depend on it."""
    ray = connect_to_ray()
    setup, code = _make_absolute(plan.setup), hash_code()
    needs = _compute_needs(ray, plan, processes)
    task = ray.remote(_run_job).options(max_retries=_MAX_RETRIES, **needs)
    running: dict[str, _Running] = {}
    with catch_signals() as signals:
        while True:
            capacity = max(_count_capacity(ray, needs), 1)  # machines may come and go
            claimed: list[JobFolder] = []
            for name, job_folder in plan.jobs.items():
                if name in running or not plan.is_next(job_folder):
                    continue
                if not job_folder.is_free():
                    claimed.append(job_folder)
                elif len(running) < capacity:
                    far = JobFolder(job_folder.job, setup, job_folder.folder.parent.absolute())
                    result = task.remote(far, plan.splits, processes, tidy, code)
                    running[name] = _Running(job_folder, result, job_folder.examples_seen())
                    yield plan.event("begun", job_folder.job, beside=len(running) - 1)
            if not running and not claimed:
                return
            if running:
                yield from _wait(ray, plan, running)
                if running:
                    yield _report_progress(plan, running)
            else:
                yield plan.event("waiting", claimed[0].job, beside=len(claimed) - 1)
                time.sleep(SECONDS_BETWEEN_ROUNDS)
            if signals:
                _stop(ray, running)
                raise InterruptionError(signals[0])


def _run_job(far: JobFolder, splits: Sequence[str], processes: int, tidy: bool, code: str) -> None:
    """Run a job on a worker. If its last worker died and the training still runs, wait for it."""
    if (own := hash_code()) != code:
        raise ConfigError(
            f"the code on {platform.node()} has version {own}, but the plan was started with "
            f"{code}; install the same one2set on all machines of the cluster"
        )
    while True:
        with far.locked() as lock:
            if lock is not None:
                for _ in far.train(lock, launch(processes), tidy=tidy):
                    pass
                for _ in far.measure(splits):
                    pass
                return
        time.sleep(SECONDS_BETWEEN_ROUNDS)


def _wait(ray: Any, plan: Plan, running: dict[str, _Running]) -> Iterator[JobEvent]:
    """Wait until a job ends, at most some seconds."""
    by_result = {job.result: name for name, job in running.items()}
    ended, _ = ray.wait(list(by_result), timeout=SECONDS_BETWEEN_ROUNDS)
    for result in ended:
        job_folder = running.pop(by_result[result]).folder
        try:
            ray.get(result)
            _expect_done(job_folder, plan.splits)
        except ray.exceptions.RayError as error:
            if isinstance(getattr(error, "cause", None), InterruptionError):
                continue  # stopped with a checkpoint: start it again
            if (cause := find_user_error(error)) is None and isinstance(
                error, ray.exceptions.RayTaskError
            ):
                raise  # a bug of ours
            plan.failed[job_folder.job.name] = cause or DataError(
                f"{job_folder.job.row.name} failed: {type(error).__name__}, {error}",
                fix="see Ray's logs, and run the same command again",
                path=job_folder.folder,
            )
        except ConfigError as error:
            plan.failed[job_folder.job.name] = error
        what: EventKind = "failed" if job_folder.job.name in plan.failed else "done"
        yield plan.event(what, job_folder.job, beside=len(running))


def _expect_done(job_folder: JobFolder, splits: Sequence[str]) -> None:
    """Wait until the results of another machine are visible here; raise ConfigError if they
    never are."""
    until = time.monotonic() + _VISIBLE_SECONDS
    while not job_folder.done(splits):
        if time.monotonic() > until:
            raise ConfigError(
                f"the results of {job_folder.job.row.name} are not in {job_folder.folder} of this "
                "machine; --output must be a folder that all machines of the cluster share"
            )
        time.sleep(SECONDS_BETWEEN_ROUNDS)


def _report_progress(plan: Plan, running: Mapping[str, _Running]) -> JobEvent:
    """The progress of all running jobs, as an event of the first."""
    forecast, examples_seen = plan.forecast(), {}
    for name, running_job in running.items():
        folder = running_job.folder
        examples_seen[name] = (
            folder.job.num_examples if folder.trained() else folder.examples_seen()
        )
        forecast.note(
            folder.job,
            examples_seen[name] - running_job.examples_seen,
            time.monotonic() - running_job.began,
        )
    first = next(iter(running.values())).folder
    sets = first.unmeasured(plan.splits) if first.trained() else []
    return plan.event(
        "measuring" if sets else "training",
        first.job,
        split=sets[0] if sets else "",
        forecast=forecast,
        examples_seen=examples_seen,
        beside=len(running) - 1,
    )


def _stop(ray: Any, running: Mapping[str, _Running]) -> None:
    """Ask all trainings to save a checkpoint, and wait until they have."""
    results = [job.result for job in running.values()]
    for result in results:
        ray.cancel(result)
    if results:
        ray.wait(results, num_returns=len(results))


def _compute_needs(ray: Any, plan: Plan, processes: int) -> dict[str, int]:
    """The resources of a job: for each process a GPU, if the cluster has any, and its threads (one
    unless they are set)."""
    machine = next(iter(plan.jobs.values())).job.config.machine
    needs = {"num_cpus": processes * (machine.threads or 1)}
    if machine.device in ("auto", "cuda") and ray.cluster_resources().get("GPU"):
        needs["num_gpus"] = processes
    if not _count_capacity(ray, needs):
        resources = " and ".join(f"{count} {_RESOURCES[name]}s" for name, count in needs.items())
        raise ConfigError(
            f"a job needs {resources}, and no machine of the Ray cluster has that many; use fewer "
            "--processes or --set machine.threads=…, or connect to another cluster (RAY_ADDRESS)"
        )
    return needs


def _count_capacity(ray: Any, needs: Mapping[str, int]) -> int:
    """The number of jobs that can run at the same time."""
    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return sum(
        min(int(has.get(_RESOURCES[name], 0) // count) for name, count in needs.items())
        for has in machines
    )


def _make_absolute(setup: Setup) -> Setup:
    """The setup with absolute paths, which are valid in other processes."""
    corpus = Corpus(setup.corpus.folder.absolute())
    scale = setup.scale if setup.scale in SCALES else str(Path(setup.scale).absolute())
    return replace(setup, corpus=corpus, scale=scale)
