"""Doing a plan: in order, once, beside others, and on after a kill -9."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from one2set.data.corpus.corpus import Corpus
from one2set.reproduction.execution import Event, Plan
from one2set.reproduction.plan import Setup, rows_for
from tests.reproduction.conftest import QUICK, at_once


def plan_for(setup: Setup, root: Path, *parts: str) -> Plan:
    return Plan(setup.jobs(rows_for(parts), [0]), setup, root, splits=["inspec-part"])


def test_jobs_are_done_in_order_and_once(quick_setup: Callable[..., Setup], tmp_path: Path) -> None:
    plan = plan_for(quick_setup(), tmp_path, "codes")
    events = list(plan.run(at_once, tidy=True))
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
    assert list(plan.run(at_once, tidy=True)) == []
    assert list(plan_for(quick_setup(), tmp_path, "codes").run(at_once, tidy=True)) == []


def test_a_job_that_fails_stops_only_those_that_need_it(
    quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    plan = plan_for(quick_setup("train.frozen_layers=1"), tmp_path, "tables")
    wanted = {"catseq", "gan-mr", "transformer"}
    plan.jobs = {name: one for name, one in plan.jobs.items() if one.job.row.name in wanted}
    events = [(event.what, event.job.row.name) for event in plan.run(at_once, tidy=True)]
    assert ("done", "transformer") in events
    assert ("failed", "catseq") in events
    assert ("begun", "gan-mr") not in events
    (error,) = plan.failed.values()
    assert "only Transformers have layers to freeze" in str(error)


def test_what_another_process_does_is_waited_for(
    quick_setup: Callable[..., Setup], tmp_path: Path
) -> None:
    plan, other = (plan_for(quick_setup(), tmp_path, "codes") for _ in range(2))
    first = next(iter(other.jobs.values()))
    events: list[Event] = []
    with first.locked() as lock:
        assert lock is not None
        for event in plan.run(at_once, tidy=True):
            events.append(event)
            if event.what == "waiting":
                break
        names = [event.job.row.name for event in events if event.what == "begun"]
        assert names == ["settrans-fixed", "settrans-single"], "what nobody has claimed"
        assert events[-1].job.row.name == "settrans"
        list(first.train(lock, at_once, tidy=True))
        list(first.measure(plan.splits))
    assert len(plan.done()) == 3
    assert list(plan.run(at_once, tidy=True)) == []


def _do(corpus: Path, root: Path, changes: tuple[str, ...], code: str) -> None:
    """In a process that will be killed."""
    setup = Setup(Corpus(corpus), "tiny", 16, None, changes, code)
    for _ in plan_for(setup, root, "lambda").run(at_once, tidy=False):
        pass


def test_a_plan_that_was_killed_goes_on_to_the_same_end(
    quick_setup: Callable[..., Setup], tested_corpus: Path, tmp_path: Path
) -> None:
    changes = (*QUICK, "train.batch_documents=1", "logging.checkpoint_steps=1")
    setup = replace(quick_setup(documents=16), changes=changes)
    first = setup.jobs(rows_for(["lambda"]), [0])[:1]
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
    list(killed.run(at_once, tidy=True))
    assert "resuming from" in (job.folder / "train.log").read_text()

    whole = Plan(first, setup, tmp_path / "whole", splits=["inspec-part"])
    list(whole.run(at_once, tidy=True))
    (undisturbed,) = whole.jobs.values()
    pair = [one.measured("inspec-part") for one in (job, undisturbed)]
    assert pair[0].figures == pair[1].figures
    assert pair[0].codes == pair[1].codes
    weights = [
        (one.run / "model" / "weights.safetensors").read_bytes() for one in (job, undisturbed)
    ]
    assert weights[0] == weights[1]
