"""`one2set calibrate` as a user calls it."""

import io
from functools import partialmethod
from importlib.resources import files
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from one2set.cli import console
from one2set.errors import ConfigError, DataError
from one2set.keyphrases.calibration import Calibration
from one2set.model.manifest import update_manifest
from one2set.model.paths import BUNDLED
from tests.commands import read_jsonl, run

SAMPLE = str(files("one2set.data") / "sample" / "documents.jsonl")


def test_calibration_changes_the_probability_and_nothing_else(
    tiny_model: Path, tmp_path: Path
) -> None:
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    run("predict", tiny_model, SAMPLE, "-o", before)
    output = run("calibrate", tiny_model, SAMPLE, "--diagram", tmp_path / "reliability.png")
    assert "calibrated on 60 documents" in output
    assert "present" in output
    assert (tmp_path / "reliability.png").exists()
    run("predict", tiny_model, SAMPLE, "-o", after)
    assert Calibration.load(tiny_model).absent.generated is not None
    changed = 0
    for old, new in zip(read_jsonl(before), read_jsonl(after), strict=True):
        for keyphrase, calibrated in zip(old["keyphrases"], new["keyphrases"], strict=True):
            changed += keyphrase.pop("probability") != calibrated.pop("probability")
            assert keyphrase == calibrated
    assert changed > 100


def test_an_exported_model_is_calibrated_without_being_made_again(
    tiny_model: Path, tmp_path: Path
) -> None:
    run("export", tiny_model, "-o", tmp_path / "out")
    (tmp_path / "out" / "calibration.json").write_text("that of an older version")
    run("calibrate", tmp_path / "out", SAMPLE)
    assert Calibration.load(tmp_path / "out").absent.generated is not None
    assert Calibration.load(tiny_model) == Calibration()


def test_calibration_uses_the_span_rescorer(tiny_model: Path, tmp_path: Path) -> None:
    run("export", tiny_model, "-o", tmp_path / "net")
    run("learn", tmp_path / "net", "-o", tmp_path / "out", "--documents", SAMPLE)
    run("calibrate", tmp_path / "out", SAMPLE)
    seeing = Calibration.load(tmp_path / "out")
    (tmp_path / "out" / "span_rescorer.safetensors").unlink()
    update_manifest(tmp_path / "out")
    run("calibrate", tmp_path / "out", SAMPLE)
    assert Calibration.load(tmp_path / "out") != seeing


def test_a_terminal_shows_the_progress_of_the_fit(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=screen, force_terminal=True, width=120))
    # Draw each update at once, not ten times a second: a stage may take less.
    monkeypatch.setattr(Progress, "update", partialmethod(Progress.update, refresh=True))
    run("calibrate", tiny_model, SAMPLE)
    fitting = screen.getvalue()[screen.getvalue().index("Fitting") :]
    assert "to the second half" in fitting
    assert "67%" in fitting


@pytest.mark.parametrize(
    ("name", "message"),
    [("diagram.foo", "expected a name that ends in"), ("no/diagram.png", "there is no folder")],
)
def test_a_diagram_that_cannot_be_drawn_is_refused_at_once(
    name: str, message: str, tiny_model: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"--diagram is .*{message}"):
        run("calibrate", tiny_model, SAMPLE, "--diagram", tmp_path / name)
    assert not (tiny_model / "calibration.json").exists()


@pytest.mark.parametrize("model", BUNDLED)
def test_the_included_models_cannot_be_calibrated(model: str) -> None:
    with pytest.raises(ConfigError, match="calibrate a copy: one2set export default"):
        run("calibrate", model, SAMPLE)


def test_calibration_needs_known_keyphrases(tiny_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"id": "x", "title": "t", "abstract": "some words here"}\n')
    with pytest.raises(DataError, match="document 'x' has no keyphrases"):
        run("calibrate", tiny_model, path)
    path.write_text('{"id": "x", "title": "", "abstract": "", "keyphrases": ["a"]}\n')
    with pytest.raises(DataError, match="generates phrases for fewer than 2 documents"):
        run("calibrate", tiny_model, path)
    assert not (tiny_model / "calibration.json").exists()


def test_skipped_records_are_counted(tiny_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(f"{Path(SAMPLE).read_text()}{{bad\n")
    assert "1 record was skipped" in run("calibrate", tiny_model, path, "--on-error", "skip")
