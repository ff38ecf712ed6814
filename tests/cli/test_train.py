"""`one2set train` as a user calls it: options, messages, exit codes, files."""

import json
import os
import shutil
import signal
import time
from importlib.resources import as_file, files
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from one2set.cli import app
from one2set.cli.train import SYSTEMS as SYSTEM_NAMES
from one2set.data.corpus.corpus import Corpus
from one2set.data.reading.readers import read
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import One2SetError
from one2set.evaluation.metrics import compute_metrics, count_phrases
from one2set.evaluation.protocols import YE2021
from one2set.evaluation.scoring import gold_from_document, score
from one2set.export.export import export_model
from one2set.model.folder import load_model, save_model
from one2set.prediction.engine import Engine
from one2set.prediction.search import Search
from one2set.training.systems import SYSTEMS
from tests.commands import invoke, parse_jsonl
from tests.training.children import finish, start

DOCUMENT = '{"id": "bees", "title": "A study of bees", "abstract": "Bees dance in the dark."}'
QUICK = ["--scale", "tiny", "--set", "logging.curves=false"]


def train(corpus: Path, run: Path, *options: str) -> str:
    """What the command prints on stderr; it must succeed, or raise the user's error."""
    return invoke("train", corpus, "--output", run, *options).stderr


@pytest.mark.parametrize(("before", "after"), [(None, "1"), ("0", "0")])
def test_large_tensors_have_large_pages_unless_the_user_says_otherwise(
    corpus_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    before: str | None,
    after: str,
) -> None:
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", before or "")
    if before is None:
        monkeypatch.delenv("THP_MEM_ALLOC_ENABLE")
    train(corpus_folder, tmp_path / "run", *QUICK, "--steps", "1")
    assert os.environ["THP_MEM_ALLOC_ENABLE"] == after


def test_from_a_corpus_to_a_model(corpus_folder: Path, tmp_path: Path) -> None:
    output_text = train(corpus_folder, tmp_path / "run", "--scale", "tiny", "--steps", "3")
    assert "validation at step 3: loss " in output_text
    assert f"the model is {tmp_path / 'run' / 'model'}" in output_text
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        ".lock",
        "run.json",
        "config.toml",
        "checkpoints",
        "metrics.jsonl",
        "curves.png",
        "model",
    }
    model = load_model(tmp_path / "run" / "model")
    assert model.config["system"] == "settrans"
    assert model.config["limits"]["steps"] == 3
    rows = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(row)["kind"] for row in rows] == ["train", "train", "train", "valid"]


@pytest.mark.parametrize(
    ("system", "search"),
    [
        ("catseq", Search()),
        ("catseqtg", Search()),
        ("copyrnn", Search(beam=8, length_penalty=0.0, pool=True, keep=10)),
    ],
)
def test_recurrent_systems_from_a_corpus_to_keyphrases(
    system: str, search: Search, corpus_folder: Path, tmp_path: Path
) -> None:
    """The model knows how it is to generate, and one document has no title."""
    run, documents = tmp_path / "run", tmp_path / "documents.jsonl"
    train(corpus_folder, run, "--system", system, "--steps", "3", *QUICK)
    assert "learning_rate = 0.001 " in (run / "config.toml").read_text()
    assert Engine.load(run).generation.search == search
    documents.write_text(
        '{"id": "a", "title": "graphs", "abstract": "We colour planar graphs."}\n'
        '{"id": "b", "title": "", "abstract": "A text without a title, of no great length."}\n'
    )
    arguments = ["predict", str(run), str(documents), "--slots"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    lines = parse_jsonl(result.stdout)
    assert [line["id"] for line in lines] == ["a", "b"]
    if system == "copyrnn":
        assert [len(line["slots"]) for line in lines] == [8, 8]  # of ten, a beam of eight has eight
        fewer = CliRunner().invoke(app, [*arguments, "--keep", "3"]).stdout.splitlines()
        for line, few in zip(lines, map(json.loads, fewer), strict=True):
            assert few["slots"] == line["slots"][:3]


def test_options_reach_the_run(corpus_folder: Path, tmp_path: Path) -> None:
    chosen = ["--system", "transformer", "--seed", "4", "--documents", "8", *QUICK]
    train(corpus_folder, tmp_path / "run", *chosen, "--set", "train.batch_documents=3")
    metadata = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (metadata["system"], metadata["seed"]) == ("transformer", 4)
    assert "batch_documents = 3" in (tmp_path / "run" / "config.toml").read_text()
    rows = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(rows[-2])["documents"] >= 8


def test_a_run_is_resumed_with_its_own_settings(corpus_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    output_text = train(corpus_folder, run, "--resume", "--steps", "2", "--seed", "4", *QUICK)
    assert "there is nothing to resume; this is a new run" in output_text
    with pytest.raises(One2SetError, match="contains a run; continue it with --resume"):
        train(corpus_folder, run, *QUICK)
    output_text = train(corpus_folder, run, "--resume", "--steps", "4")
    assert "limits.steps is now 4 (was 2)" in output_text
    with pytest.raises(One2SetError, match="started from random weights; omit the option"):
        train(corpus_folder, run, "--resume", "--steps", "5", "--init", str(run))
    assert f"resuming from {run / 'checkpoints' / '00000002'}" in output_text
    assert "step 4" in output_text


@pytest.mark.parametrize("system", ["catseq", "exhird", "catseqtg-2rf1", "gan-mr"])
def test_networks_of_other_kinds_are_trained_resumed_and_used(
    system: str, corpus_folder: Path, tmp_path: Path
) -> None:
    options = ["--system", system, *QUICK, "--set", "train.batch_documents=3"]
    options += ["--set", "validation.documents=2", "--set", "model.hidden_width=8"]
    options += ["--set", "model.sequence_length=8"]
    options += ["--set", "adversarial.head_start=1"]  # the second step is the generator's
    before = SYSTEMS[system].starts_from
    if before is not None:
        with pytest.raises(One2SetError, match=f"train {corpus_folder} --system {before} --output"):
            train(corpus_folder, tmp_path / "whole", *options)
        same = ["--set", "model.hidden_width=8", *QUICK]
        train(corpus_folder, tmp_path / "before", "--system", before, "--steps", "1", *same)
        options += ["--init", str(tmp_path / "before")]
    train(corpus_folder, tmp_path / "whole", "--steps", "2", *options)
    train(corpus_folder, tmp_path / "halves", "--steps", "1", *options)
    train(corpus_folder, tmp_path / "halves", "--resume", "--steps", "2")
    last = "checkpoints/00000002/weights.safetensors"
    whole, halves = (load_file(tmp_path / name / last) for name in ("whole", "halves"))
    assert whole.keys() == halves.keys()
    for name, weight in whole.items():
        assert torch.equal(weight, halves[name]), name
    document = tmp_path / "bees.jsonl"
    document.write_text(DOCUMENT)
    result = CliRunner().invoke(app, ["predict", str(tmp_path / "halves"), str(document)])
    assert result.exception is None
    assert json.loads(result.stdout)["id"] == "bees"


def test_a_model_is_trained_further_on_another_corpus(corpus_folder: Path, tmp_path: Path) -> None:
    """Exported, as the one inside the package is; its sizes and its words are kept."""
    train(corpus_folder, tmp_path / "before", "--steps", "1", *QUICK)
    model = tmp_path / "model"
    export_model(tmp_path / "before", model, int8=False)
    documents = tmp_path / "mine.jsonl"
    documents.write_text(
        "".join(
            json.dumps(
                {
                    "id": str(n),
                    "title": f"Bees {n}",
                    "abstract": "Bees dance in hives.",
                    "keywords": ["bees", "dance"],
                }
            )
            + "\n"
            for n in range(6)
        )
    )
    prepare = ["prepare", str(tmp_path / "corpus"), "--train", str(documents), "--hold-out", "0.3"]
    invoke(*prepare, "--vocabulary", model)
    train(tmp_path / "corpus", tmp_path / "after", "--from", str(model), "--steps", "1")
    before, after = load_model(model), load_model(tmp_path / "after" / "model")
    assert after.network.arguments == before.network.arguments
    assert isinstance(after.vocabulary, WordVocabulary)
    assert isinstance(before.vocabulary, WordVocabulary)
    size = before.vocabulary.size
    assert after.vocabulary.words[:size] == before.vocabulary.words[:size]
    assert "hives" in after.vocabulary.words
    for name, weight in before.network.state_dict().items():
        change = (after.network.state_dict()[name] - weight).abs().max()
        assert 0 <= change < 0.05, name
    prepare[1] = str(tmp_path / "own words")
    invoke(*prepare)
    with pytest.raises(One2SetError, match="prepare the corpus again with --vocabulary"):
        train(tmp_path / "own words", tmp_path / "x", "--from", str(model), "--steps", "1")
    with pytest.raises(One2SetError, match="--from and --init cannot be used together"):
        train(tmp_path / "corpus", tmp_path / "x", "--from", str(model), "--init", str(model))


@pytest.mark.parametrize("system", ["settrans", "transformer"])
def test_a_model_without_a_system_is_trained_further(
    system: str, corpus_folder: Path, tmp_path: Path
) -> None:
    """As imported by an earlier version: the network tells which system it is."""
    train(corpus_folder, tmp_path / "before", "--system", system, "--steps", "1", *QUICK)
    network, vocabulary, config = load_model(tmp_path / "before" / "model")
    save_model(tmp_path / "model", network, vocabulary, {"generation": config["generation"]})
    train(corpus_folder, tmp_path / "after", "--from", str(tmp_path / "model"), "--steps", "1")
    assert load_model(tmp_path / "after" / "model").config["system"] == system


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--system", "bart"], "system is 'bart'; expected one of transformer, settrans"),
        (["--scale", "huge"], "scale is 'huge'; expected tiny, small, medium, paper"),
        (["--set", "train.batchdocuments=1"], "did you mean train.batch_documents?"),
        (["--steps", "-1"], "limits.steps is -1; input should be greater than or equal to 0"),
        (["--init", "nowhere"], "nowhere/config.json: cannot be read"),
    ],
)
def test_wrong_options_are_reported(
    options: list[str], message: str, corpus_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(One2SetError) as caught:
        train(corpus_folder, tmp_path / "run", *QUICK, *options)
    assert message in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_corpus_that_differs_from_its_manifest_is_reported(
    corpus_folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "corpus"
    shutil.copytree(corpus_folder, copy)
    shard = copy / "train" / "00000.arrow"
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    with pytest.raises(One2SetError, match=r"00000\.arrow: does not have the hash"):
        train(copy, tmp_path / "run", *QUICK)
    assert not (tmp_path / "run").exists()


def test_settings_are_printed_with_their_help() -> None:
    result = CliRunner().invoke(app, ["train", "--settings", "paper"])
    assert result.exit_code == 0
    assert "batch_documents = 12  # Maximum number of documents per batch" in result.stdout


def test_sigterm_saves_and_prints_how_to_resume(corpus_folder: Path, tmp_path: Path) -> None:
    run, output = tmp_path / "run", tmp_path / "output.txt"
    command = ["train", str(corpus_folder), "--output", str(run), *QUICK]
    child = start([*command, "--set", "limits.epochs=1000"], output=output)
    while child.is_alive() and not (run / "metrics.jsonl").exists():
        time.sleep(0.01)
    assert child.pid is not None
    os.kill(child.pid, signal.SIGTERM)
    assert finish(child) == 128 + signal.SIGTERM, output.read_text()
    output_text = output.read_text()
    assert f"continue with: one2set train {corpus_folder} --output {run} --resume" in output_text
    assert len(list((run / "checkpoints").iterdir())) == 1
    assert "Traceback" not in output_text


def test_a_full_disk_is_reported(corpus_folder: Path, tmp_path: Path) -> None:
    """The second checkpoint cannot be written; the first one stays, and the run can go on."""
    run, output = tmp_path / "run", tmp_path / "output.txt"
    command = ["train", str(corpus_folder), "--output", str(run), *QUICK, "--steps", "6"]
    every = ["--set", "logging.checkpoint_steps=2", "--set", "validation.every=6"]
    child = start([*command, *every], output=output, full_after=run / "checkpoints" / "00000002")
    assert finish(child) == 2, output.read_text()
    output_text = " ".join(output.read_text().split())
    assert "00000004: the checkpoint could not be written (" in output_text
    assert "File too large" in output_text
    assert f"the last good checkpoint is {run / 'checkpoints' / '00000002'}" in output_text
    assert "Traceback" not in output_text
    child = start([*command, "--resume"], output=output)
    assert finish(child) == 0, output.read_text()


@pytest.mark.parametrize("system", ["settrans", "copyrnn"])
def test_validation_scores_equal_those_of_predictions(
    system: str, corpus_folder: Path, tmp_path: Path
) -> None:
    """The figures of the best step are those of the model on the raw validation documents."""
    run = tmp_path / "run"
    learn = [
        "limits.epochs=0",
        "limits.steps=30",
        "validation.every=30",
        "train.learning_rate=5e-3",
    ]
    settings = (part for x in learn for part in ("--set", x))
    train(corpus_folder, run, "--system", system, *QUICK, *settings)
    rows = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    (row,) = (row for row in rows if row["kind"] == "valid")
    held_out = {example.id for example in Corpus(corpus_folder).split("valid")}
    with as_file(files("one2set.data").joinpath("sample", "documents.jsonl")) as path:
        documents = [document for document in read(str(path)) if document.id in held_out]
    predictions = Engine.load(run).predict(documents)
    output_text = [[slot.text for slot in prediction.phrases] for prediction in predictions]
    scores = score([gold_from_document(document) for document in documents], output_text)
    assert row["duplication"] == scores.duplication
    for name, group in (("f1", "all"), ("f1_present", "present"), ("f1_absent", "absent")):
        assert row[name] == compute_metrics(scores.groups[group], "M", YE2021).f1  # type: ignore[index]
    for name, group in (("num_present", "present"), ("num_absent", "absent")):
        assert row[name] == count_phrases(scores.groups[group]).predicted  # type: ignore[index]
    assert row["num_present"] + row["num_absent"] > 0


def test_the_help_lists_the_systems() -> None:
    assert SYSTEM_NAMES.split(", ") == list(SYSTEMS)
