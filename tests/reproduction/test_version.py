"""The version of the code: what matters changes it, what does not leaves it alone."""

from pathlib import Path

import pytest

from one2set.reproduction import version

_CODE = '"""Adds."""\n\n\ndef add(x, y):\n    """A sum."""\n    return x + y  # of two\n'


def version_of(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> str:
    path = folder / "module.py"
    path.write_text(text)
    monkeypatch.setattr(version, "_closure", lambda: {path})
    return version.code_version.__wrapped__()


def test_only_code_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = version_of(monkeypatch, tmp_path, _CODE)
    for old, new in (
        ("# of two", "# of both"),
        ("A sum", "The sum"),
        ("Adds", "Does"),
        (" +", "  +"),
    ):
        assert version_of(monkeypatch, tmp_path, _CODE.replace(old, new)) == base
    assert version_of(monkeypatch, tmp_path, _CODE.replace("x + y", "x - y")) != base


def test_what_trains_and_measures_counts_and_the_report_does_not() -> None:
    names = {"/".join(path.parts[-2:]) for path in version._closure()}
    assert {"one2set/systems.py", "training/set_loss.py", "model/exhird.py"} <= names
    assert {"evaluation/metrics.py", "prediction/engine.py", "data/batch.py"} <= names
    assert not names & {"reproduction/report.py", "serving/app.py", "cli/evaluate.py"}
