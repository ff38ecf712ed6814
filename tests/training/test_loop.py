"""The loop validates, saves and stops when it should; a resumed run has the same weights."""

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from torch import Tensor

from one2set.data.corpus.corpus import Corpus
from one2set.data.corpus.prepare import Inputs, prepare
from one2set.data.example import Example
from one2set.model.folder import load_model
from one2set.model.settrans import SetTrans
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import Prediction
from one2set.training.loop import Ended, Event, Message, Step, Validated, _Clock, train
from one2set.training.run import Run
from one2set.training.schedule import Progress
from one2set.training.systems import SYSTEMS
from one2set.training.task import Task
from tests.training.conftest import ALONE, Miniature

Weights = Callable[[Run], dict[str, Tensor]]


def steps(events: list[Event]) -> list[int]:
    return [event.step for event in events if isinstance(event, Validated)]


def last(events: list[Event]) -> Ended:
    assert isinstance(events[-1], Ended)
    return events[-1]


@pytest.mark.parametrize("system", [n for n, row in SYSTEMS.items() if row.starts_from is None])
def test_every_system_learns(system: str, miniature: Miniature, tmp_path: Path) -> None:
    settings = (
        "model.dropout=0",
        "train.learning_rate=0.02",
        "limits.steps=16",
        "train.micro_batches=1",
    )
    run = miniature.run(tmp_path / "run", *settings, "validation.every=16", system=system)
    losses = [e.losses["loss"] for e in miniature.train(run) if isinstance(e, Step)]
    assert sum(losses[-3:]) < 0.75 * sum(losses[:3])
    assert (run.model / "weights.safetensors").exists()


@pytest.mark.parametrize("system", ["settrans", "catseq", "gan-mr"])
def test_an_interrupted_run_resumes_to_the_same_weights(
    system: str, miniature: Miniature, tmp_path: Path, weights: Weights
) -> None:
    before = SYSTEMS[system].starts_from
    init = tmp_path / "before" if before else None
    if before:
        miniature.train(miniature.run(tmp_path / "before", "limits.steps=2", system=before))
    settings = ("limits.steps=9", "train.batch_documents=8", "model.sequence_length=8")
    calm = miniature.run(tmp_path / "calm", *settings, system=system, init=init)
    miniature.train(calm)

    run = miniature.run(tmp_path / "run", *settings, system=system, init=init)
    for number in (signal.SIGINT, signal.SIGTERM):
        events = []
        for event in miniature.events(run):
            events.append(event)
            if isinstance(event, Step) and len([e for e in events if isinstance(e, Step)]) == 3:
                os.kill(os.getpid(), number)
        ended = last(events)
        # The signal came while the third event was handled; the fourth step was still taken.
        assert (ended.reason, ended.signal) == ("interrupted", number)
        assert len([e for e in events if isinstance(e, Step)]) == 4
    assert last(miniature.train(Run.load(run.folder))).reason == "limit"
    assert_same(weights(run), weights(calm))


def test_an_interrupted_validation_is_repeated(
    miniature: Miniature, tmp_path: Path, weights: Weights
) -> None:
    calm = miniature.run(tmp_path / "calm", "limits.steps=6")
    assert steps(miniature.train(calm)) == [4, 6]

    run = miniature.run(tmp_path / "run", "limits.steps=6")
    events = []
    for event in miniature.events(run):
        events.append(event)
        if isinstance(event, Step) and event.step == 4:
            os.kill(os.getpid(), signal.SIGINT)  # validation follows
    assert steps(events) == []
    assert last(events).progress.step == 4
    assert steps(miniature.train(run)) == [4, 6]
    assert_same(weights(run), weights(calm))


def test_a_finished_run_can_continue_with_a_higher_limit(
    miniature: Miniature, tmp_path: Path, weights: Weights
) -> None:
    whole = miniature.run(tmp_path / "whole", "limits.steps=8")
    miniature.train(whole)
    run = miniature.run(tmp_path / "run", "limits.steps=4")  # both validate there
    miniature.train(run)
    assert [type(event) for event in miniature.train(run)] == [Message, Ended]
    run.change(run.config.override(["limits.steps=8"]))
    miniature.train(run)
    assert_same(weights(run), weights(whole))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["validation.every=5", "limits.steps=12"], [5, 10, 12]),
        (["validation.every=0", "limits.epochs=2"], [7, 14]),  # 49 documents in batches of 8
        (["validation.every=3", "validation.first_epoch=2", "limits.steps=10"], [9, 10]),
    ],
)
def test_validations_come_when_they_are_due(
    settings: list[str], expected: list[int], miniature: Miniature, tmp_path: Path
) -> None:
    run = miniature.run(tmp_path / "run", *settings)
    assert steps(miniature.train(run)) == expected
    rows = map(json.loads, (run.folder / "metrics.jsonl").read_text().splitlines())
    assert [row["step"] for row in rows if row["kind"] == "valid"] == expected


def test_patience_ends_a_run_and_the_model_is_the_best(
    miniature: Miniature, tmp_path: Path
) -> None:
    """With a rate that makes every step worse, the first validation is the best."""
    settings = ("train.learning_rate=5", "validation.every=1", "validation.patience=3")
    run = miniature.run(tmp_path / "run", *settings, "train.average_decay=0")
    kept = []
    for event in miniature.events(run):
        if isinstance(event, Validated):
            kept.append((event.best, (run.model / "weights.safetensors").read_bytes()))
    assert isinstance(event, Ended)
    assert event.reason == "patience"
    assert [best for best, _ in kept][-3:] == [False, False, False]
    best = event.progress.best_step
    assert len(kept) == best + 3
    assert len({model for _, model in kept[best - 1 :]}) == 1


def averaged(run: Run, weights: Weights) -> dict[str, Tensor]:
    """What the last checkpoint has as the network's moving average, which is not its weights."""
    result = {
        kind: {
            name.removeprefix(f"{kind}/network."): tensor
            for name, tensor in weights(run).items()
            if name.startswith(f"{kind}/network.")
        }
        for kind in ("average", "weights")
    }
    assert result["average"]
    assert not any(torch.equal(x, result["weights"][name]) for name, x in result["average"].items())
    return result["average"]


def test_validation_measures_and_saves_the_averaged_weights_without_dropout(
    miniature: Miniature, tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = miniature.run(tmp_path / "run", "limits.steps=4", "model.dropout=0.5")
    task = miniature.task(run)
    network = task.built.objective.network
    assert isinstance(network, SetTrans)
    generating: list[dict[str, Tensor]] = []

    def predict(engine: Engine, examples: Sequence[Example]) -> list[Prediction]:
        assert not network.training
        generating.append({name: weight.clone() for name, weight in network.named_parameters()})
        return predict_examples(engine, examples)

    predict_examples = Engine.predict_examples
    monkeypatch.setattr(Engine, "predict_examples", predict)
    with run.locked():
        events_ = list(train(task, processes=ALONE))
    expected = averaged(run, weights)
    assert generating
    for actual in generating:
        assert_same(actual, expected)
    saved = load_model(run.model).network.state_dict()
    assert_same({name: saved[name] for name in expected}, expected)

    again = miniature.task(run).built
    again.objective.load_state_dict({f"network.{n}": x for n, x in expected.items()})
    loss = again.objective.eval()(again.collate(task.valid[:]))
    (validated,) = [event for event in events_ if isinstance(event, Validated)]
    assert validated.metrics["loss"] == pytest.approx(loss.total.item(), rel=1e-4)
    # Training went on with its own weights, and with dropout.
    assert network.training


@pytest.mark.parametrize(
    ("select_by", "best"),
    [("f1", [True, False, True, False]), ("loss", [True, False, False, False])],
)
def test_the_best_weights_are_selected_by_the_configured_metric(
    select_by: str,
    best: list[bool],
    miniature: Miniature,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loss rises throughout, and only the third validation has correct phrases."""
    settings = ("train.learning_rate=5", "train.average_decay=0", "validation.every=1")
    selection = f"validation.select_by={select_by}"
    run = miniature.run(tmp_path / "run", *settings, selection, "limits.steps=4")
    task = miniature.task(run)
    gold = {example.id: [*example.present, *example.absent] for example in task.valid}
    steps_done = 0

    def generate(task: Task, examples: Sequence[Example]) -> list[list[str]]:
        if steps_done != 3:
            return [[] for _ in examples]
        return [[task.vocabulary.text(phrase) for phrase in gold[e.id]] for e in examples]

    monkeypatch.setattr(Task, "generate", generate)
    events_, models = [], []
    with run.locked():
        for event in train(task, processes=ALONE):
            if isinstance(event, Step):
                steps_done = event.step
            if isinstance(event, Validated):
                events_.append(event)
                models.append((run.model / "weights.safetensors").read_bytes())
    losses = [event.metrics["loss"] for event in events_]
    assert losses == sorted(losses)
    assert [event.metrics["f1"] > 0 for event in events_] == [False, False, True, False]
    assert [event.best for event in events_] == best
    assert models[0] == models[1]
    assert (models[1] != models[2]) == best[2]
    assert models[2] == models[3]


def test_validation_does_not_depend_on_earlier_random_numbers(
    miniature: Miniature, tmp_path: Path
) -> None:
    """Assignment is random here, in validation too."""

    def losses(drawn: int) -> list[float]:
        settings = ("limits.steps=2", "validation.every=1")
        run = miniature.run(tmp_path / str(drawn), *settings, system="settrans-random")
        result = []
        for event in miniature.events(run):
            torch.rand(drawn)
            if isinstance(event, Validated):
                result.append(event.metrics["loss"])
        return result

    assert losses(1) == losses(8)


def test_without_validation_documents_the_last_weights_are_the_model(
    miniature: Miniature, tmp_path: Path, weights: Weights
) -> None:
    documents = tmp_path / "documents.jsonl"
    documents.write_text(
        '{"title": "a study of bees", "abstract": "bees dance", "keyphrases": ["bees"]}\n'
        + '{"title": "on wasps", "abstract": "wasps sting", "keyphrases": ["wasps", "pain"]}\n'
    )
    prepare(tmp_path / "corpus", Inputs(train=[str(documents)]))
    alone = Miniature(Corpus(tmp_path / "corpus"))
    run = alone.run(tmp_path / "run", "limits.steps=3")
    events = alone.train(run)
    assert steps(events) == []
    expected = averaged(run, weights)
    saved = load_model(run.model).network.state_dict()
    assert_same({name: saved[name] for name in expected}, expected)


def test_checkpoints_are_written_by_steps_and_by_the_clock(
    miniature: Miniature, tmp_path: Path
) -> None:
    def saved(*settings: str) -> list[int]:
        run = miniature.run(tmp_path / "-".join(settings), *settings, "validation.every=50")
        result = []
        for event in miniature.events(run):
            if isinstance(event, Step):
                names = [path.name for path in run.checkpoints.glob("*")]
                result.append(max(map(int, names), default=0))
        return result

    limit = "limits.steps=7"
    by_steps = saved(limit, "logging.checkpoint_steps=3", "logging.checkpoint_minutes=0")
    assert by_steps == [0, 0, 0, 3, 3, 3, 6]
    by_clock = saved(limit, "logging.checkpoint_steps=0", "logging.checkpoint_minutes=1e-9")
    assert by_clock == [0, 1, 2, 3, 4, 5, 6]


def test_an_automatic_precision_is_reported_once(
    miniature: Miniature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("one2set.model.layers._WIDE", 8)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    messages: dict[str, list[str]] = {}
    for precision in ("auto", "float32", "bfloat16"):
        settings = ["limits.steps=2", f"machine.precision={precision}", "machine.device=cpu"]
        events = miniature.train(miniature.run(tmp_path / precision, *settings))
        messages[precision] = [event.text for event in events if isinstance(event, Message)]
    assert len(messages["auto"]) == 1
    assert "computing in bfloat16" in messages["auto"][0]
    assert messages["float32"] == messages["bfloat16"] == []


def test_a_run_resumes_in_another_precision(
    miniature: Miniature, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on another machine: a checkpoint has float32 weights either way."""
    monkeypatch.setattr("one2set.model.layers._WIDE", 8)
    run = miniature.run(tmp_path / "run", "limits.steps=2", "machine.precision=bfloat16")
    miniature.train(run)
    for steps, precision in ((4, "float32"), (6, "bfloat16")):
        settings = [f"limits.steps={steps}", f"machine.precision={precision}"]
        run.change(run.config.override(settings))
        assert last(miniature.train(run)).progress.step == steps


def test_minutes_end_a_run(miniature: Miniature, tmp_path: Path) -> None:
    run = miniature.run(tmp_path / "run", "limits.minutes=1e-6", "limits.epochs=0")
    ended = last(miniature.train(run))
    assert (ended.reason, ended.progress.step) == ("limit", 1)


def test_steps_report_the_learning_rate_and_the_fraction_done(
    miniature: Miniature, tmp_path: Path
) -> None:
    settings = ("train.schedule=linear", "train.warmup_steps=2", "limits.steps=8")
    run = miniature.run(tmp_path / "run", *settings)
    events_ = [event for event in miniature.train(run) if isinstance(event, Step)]
    assert [event.fraction_done for event in events_] == [step / 8 for step in range(1, 9)]
    rates = [event.learning_rate for event in events_]
    expected = [0.5, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]
    assert rates == pytest.approx([0.005 * part for part in expected])
    assert [event.step for event in events_] == list(range(1, 9))
    assert all(event.seconds_left >= 0 for event in events_)


def test_the_clock_continues_and_averages_the_last_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000.0
    monkeypatch.setattr("one2set.training.loop.time.monotonic", lambda: now)
    clock = _Clock(Progress(seconds=50.0, documents=300), fraction_done=0.2)
    now = 1_010.0
    assert clock.seconds() == 60
    assert clock.seconds_left(0.4) == pytest.approx(30)  # 0.2 took 10 seconds, 0.6 are left
    assert clock.seconds_left(1.0) == 0
    assert clock.documents_per_second(320) == pytest.approx(2)
    speeds = []
    for step in range(1, 22):  # a second and five documents each
        now += 1
        speeds.append(clock.documents_per_second(320 + 5 * step))
    assert speeds[18] == pytest.approx((20 + 19 * 5) / (10 + 19))
    assert speeds[19:] == pytest.approx([5, 5])


def assert_same(actual: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    assert actual.keys() == expected.keys()
    for name, tensor in expected.items():
        assert torch.equal(tensor, actual[name]), name
