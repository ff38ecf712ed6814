"""`one2set predict` as a user calls it."""

import errno
import gzip
import io
import json
import sys
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import pytest
from typer.testing import CliRunner

from one2set.bulk.pipeline import Raw, Source
from one2set.cli import app
from one2set.cli.bulk_output import write_bulk
from one2set.cores import count_cores
from one2set.data.document import StemmedDocument
from one2set.data.reading.readers import read
from one2set.errors import ConfigError, DataError
from one2set.extraction.candidates import build_candidates
from one2set.model.folder import save_model
from one2set.prediction.engine import Engine
from one2set.prediction.search import Search
from tests.commands import invoke, parse_jsonl, read_jsonl
from tests.networks import small_vocabulary, varied_transformer

SAMPLE = Path(str(files("one2set.data") / "sample" / "documents.jsonl"))


def run(*arguments: str | Path) -> str:
    """What `predict` writes to stdout."""
    return invoke("predict", *arguments).stdout


def test_a_line_for_each_document_as_the_engine_predicts(tiny_model: Path, tmp_path: Path) -> None:
    output = tmp_path / "p.jsonl"
    assert run(tiny_model, SAMPLE, "-o", output) == ""
    documents = list(read(SAMPLE))
    predictions = Engine.load(tiny_model).predict(documents)
    lines = read_jsonl(output)
    for line, document, prediction in zip(lines, documents, predictions, strict=True):
        assert line["id"] == document.id
        candidates = build_candidates(StemmedDocument.of(document), prediction)
        by_code = {slot.code: candidate for candidate in candidates for slot in candidate.slots}
        for phrase, slot in zip(line["keyphrases"], prediction.phrases, strict=True):
            assert phrase["text"] == slot.text
            assert phrase["score"] == pytest.approx(slot.score, rel=1e-5)
            best = max(other.probability for other in by_code[slot.code].slots)
            assert phrase["probability"] == pytest.approx(best, rel=1e-5)
            assert phrase["present"] is by_code[slot.code].present
        assert set(line) == {"id", "keyphrases"}
    texts = [[phrase["text"] for phrase in line["keyphrases"]] for line in lines]
    assert any(len(set(some)) < len(some) for some in texts), "duplicates are kept"


def test_an_input_is_not_replaced_by_its_output(tiny_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"abstract": "Sets of words."}\n')
    with pytest.raises(ConfigError, match=r"--output is .* is the input itself"):
        run(tiny_model, path, "-o", path, "--overwrite")
    assert path.read_text() == '{"abstract": "Sets of words."}\n'


def test_the_result_can_be_evaluated(tiny_model: Path, tmp_path: Path) -> None:
    output = tmp_path / "p.jsonl"
    run(tiny_model, SAMPLE, "-o", output)
    result = CliRunner().invoke(
        app, ["evaluate", str(SAMPLE), str(output), "--json", "--bootstrap", "0"]
    )
    assert result.exception is None
    assert json.loads(result.stdout)["documents"] == 60


def test_standard_output_and_text(tiny_model: Path, tmp_path: Path) -> None:
    run(tiny_model, SAMPLE, "-o", tmp_path / "p.jsonl")
    assert run(tiny_model, SAMPLE) == (tmp_path / "p.jsonl").read_text()
    texts = [
        ";".join(p["text"] for p in line["keyphrases"]) for line in read_jsonl(tmp_path / "p.jsonl")
    ]
    assert run(tiny_model, SAMPLE, "--format", "text").splitlines() == texts


class FullDisk(io.RawIOBase):
    """A device that takes nothing."""

    def writable(self) -> bool:
        return True

    def write(self, content: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_no_success_is_reported_before_all_is_written(
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is written to standard output stays in a buffer at first."""
    few = tmp_path / "few.jsonl"
    few.write_text(SAMPLE.read_text().splitlines(keepends=True)[0])
    source, work = Source((str(few),)), Raw(tiny_model, text=True)
    write_bulk(source, work, None, workers=1)
    assert "standard output: 1 documents" in capsys.readouterr().err
    full = io.BufferedWriter(FullDisk())
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(full))
    with pytest.raises(OSError, match="No space left"):
        write_bulk(source, work, None, workers=1)
    assert "documents" not in capsys.readouterr().err
    with suppress(OSError):
        full.close()  # or the collector of garbage would try, and warn


def test_any_input_several_at_once(tiny_model: Path, tmp_path: Path) -> None:
    packed, table = tmp_path / "packed.jsonl.gz", tmp_path / "table.csv"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    table.write_text("name,heading,summary\nx,Graphs,Graph networks learn.\n")
    fields = ("--field", "id=name", "--field", "title=heading", "--field", "abstract=summary")
    table_line = run(tiny_model, table, *fields)
    assert json.loads(table_line)["id"] == "x"
    assert run(tiny_model, packed) == run(tiny_model, SAMPLE)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "b.txt").write_text("Graph networks learn.")
    (folder / "a.txt").write_text("They forget.")
    records = parse_jsonl(run(tiny_model, folder, SAMPLE))
    assert [line["id"] for line in records[:2]] == ["a.txt", "b.txt"]
    assert len(records) == 62


def test_bad_records_stop_or_are_skipped(tiny_model: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    record = '{"id": "%s", "title": "t", "abstract": "x y"}\n'
    bad.write_text(record % "a" + "not json\n" + record % "b")
    output = tmp_path / "p.jsonl"
    with pytest.raises(DataError, match=r"bad.jsonl:2: is not JSON"):
        run(tiny_model, bad, "-o", output)
    assert not output.exists()
    report = tmp_path / "skipped.jsonl"
    options = ("--on-error", "skip", "--report", report, "--resume")
    run(tiny_model, bad, "-o", output, *options)
    assert [line["id"] for line in read_jsonl(output)] == ["a", "b"]
    assert [line["line"] for line in read_jsonl(report)] == [2]


def test_slots_beams_and_pools(tiny_model: Path, tmp_path: Path) -> None:
    documents = list(read(SAMPLE))[:10]
    few = tmp_path / "few.jsonl"
    few.write_text("".join(SAMPLE.read_text().splitlines(keepends=True)[:10]))
    for options, search in (
        ((), Search()),
        (("--beam", "3", "--length-penalty", "0.5"), Search(3, 0.5)),
        (("--beam", "2", "--pool"), Search(2, 1.0, pool=True)),
    ):
        records = parse_jsonl(run(tiny_model, few, "--slots", *options))
        predictions = Engine.load(tiny_model, search=search).predict(documents)
        for line, prediction in zip(records, predictions, strict=True):
            assert [slot["tokens"] for slot in line["slots"]] == [
                list(slot.tokens) for slot in prediction.slots
            ]
            assert [slot["code"] for slot in line["slots"]] == [s.code for s in prediction.slots]


def test_a_long_document_is_named(tiny_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"id": "long", "title": "", "abstract": "graph network " * 30}))
    result = CliRunner().invoke(
        app, ["predict", str(tiny_model), str(path), "--max-source-words", "20"]
    )
    line = json.loads(result.stdout)
    assert (line["source_length"], line["read_length"]) == (60, 20)
    assert "1 documents were longer than --max-source-words" in result.stderr


def test_batches_change_nothing_but_the_last_digits(tiny_model: Path) -> None:
    expected = parse_jsonl(run(tiny_model, SAMPLE))
    for options in (("--batch-tokens", "1"), ("--threads", "1"), ("--device", "cpu")):
        records = parse_jsonl(run(tiny_model, SAMPLE, *options))
        for line, other in zip(records, expected, strict=True):
            assert line["id"] == other["id"]
            texts = [[p["text"] for p in each["keyphrases"]] for each in (line, other)]
            assert texts[0] == texts[1]
            scores = [[p["score"] for p in each["keyphrases"]] for each in (line, other)]
            assert scores[0] == pytest.approx(scores[1], abs=1e-5)


def test_the_number_of_threads(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of --threads, or else of OMP_NUM_THREADS, or else one per core."""
    chosen: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", chosen.append)
    run(tiny_model, SAMPLE)
    assert chosen == []
    run(tiny_model, SAMPLE, "--threads", "3")
    monkeypatch.delenv("OMP_NUM_THREADS")
    run(tiny_model, SAMPLE)
    assert chosen == [3, count_cores()]


def test_a_sequence_keeps_its_order(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    save_model(folder, varied_transformer(), small_vocabulary(list(read(SAMPLE))))
    records = parse_jsonl(run(folder, SAMPLE, "--slots"))
    for line in records:
        texts = [slot["text"] for slot in line["slots"] if slot["text"]]
        assert [phrase["text"] for phrase in line["keyphrases"]] == texts
    scores = [[p["score"] for p in line["keyphrases"]] for line in records]
    assert any(some != sorted(some, reverse=True) for some in scores)


def test_exclusive_search_has_phrases_begin_differently(tmp_path: Path) -> None:
    documents = list(read(SAMPLE))
    folder, few = tmp_path / "model", tmp_path / "few.jsonl"
    save_model(folder, varied_transformer(), small_vocabulary(documents))
    few.write_text("".join(SAMPLE.read_text().splitlines(keepends=True)[:10]))

    def texts(*options: str) -> list[str]:
        return run(folder, few, "--format", "text", *options).splitlines()

    free, exclusive = texts(), texts("--exclusive", "-1")
    assert texts("--exclusive", "0") == free
    predictions = Engine.load(folder, search=Search(exclusive=-1)).predict(documents[:10])
    assert exclusive == [
        ";".join(slot.text for slot in prediction.phrases) for prediction in predictions
    ]
    split = [[line.split(";") for line in lines] for lines in (free, exclusive)]
    repeats = [sum(len(some) - len(set(some)) for some in each) for each in split]
    assert repeats[0] > 0 == repeats[1]


def test_a_run_s_folder_serves_as_its_model(tiny_model: Path, tmp_path: Path) -> None:
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    tiny_model.rename(run_folder / "model")
    assert run(run_folder, SAMPLE) == run(run_folder / "model", SAMPLE)


def test_the_model_limits_the_length_of_phrases(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    vocabulary = small_vocabulary(list(read(SAMPLE)))
    config = {"model": {"sequence_length": 7, "phrase_length": 3}}
    save_model(folder, varied_transformer(), vocabulary, config)
    lines = parse_jsonl(run(folder, SAMPLE, "--slots"))
    assert max(sum(len(slot["tokens"]) for slot in line["slots"]) for line in lines) == 7


def test_invalid_options_are_errors(tiny_model: Path, tmp_path: Path) -> None:
    output = tmp_path / "p.jsonl"
    for options, message in (
        (("--beam", "0"), "beam is 0; expected 1"),
        (("--length-penalty", "-1"), "length penalty is -1.0"),
        (("--exclusive", "1"), "exclusive is 1; this model generates a set"),
        (("--exclusive", "-2"), "exclusive is -2; expected a number of phrases, -1 for all"),
        (("--exclusive", "1", "--beam", "2"), "exclusive search is greedy"),
        (("--batch-tokens", "0"), "batch tokens is 0"),
        (("--resume",), "--resume needs --output; pass --output FILE too"),
        (("--overwrite",), "--overwrite needs --output; pass --output FILE too"),
        (("-o", output, "--resume", "--overwrite"), "cannot be used together"),
        (("--field", "x=y"), "--field is 'x=y'"),
        (("-o", tmp_path / "p.parquet", "--format", "text"), "rename it"),
        (("--format", "parquet"), "--format parquet needs --output; pass --output FILE too"),
        (("--format", "text", "--slots"), "--slots does not fit into lines of text"),
        (("-o", tmp_path / "p.csv"), r"expected a name that ends in \.jsonl, \.parquet, "),
    ):
        with pytest.raises(ConfigError, match=message):
            run(tiny_model, SAMPLE, *options)
    with pytest.raises(ConfigError, match=r"is not a model folder.* one2set generate"):
        run(SAMPLE, SAMPLE)
    with pytest.raises(DataError, match=r"\*.csv: matches no file"):
        run(tiny_model, f"{tmp_path}/*.csv")
    with pytest.raises(DataError, match=r"missing.jsonl: cannot be read"):
        run(tiny_model, tmp_path / "missing.jsonl")


def test_an_exported_model_gives_raw_output_too(exported_model: Path) -> None:
    result = CliRunner().invoke(app, ["predict", str(exported_model), str(SAMPLE), "--slots"])
    lines = parse_jsonl(result.stdout)
    assert all("probability" in keyphrase for line in lines for keyphrase in line["keyphrases"])
    assert all(line["slots"] for line in lines)
    assert f"for keyphrases: one2set generate --model {exported_model}" in result.stderr
