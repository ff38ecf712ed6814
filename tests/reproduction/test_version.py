"""The version of the code changes with code that affects results, and only with it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from one2set.reproduction import version
from one2set.reproduction.version import hash_code

_CODE = """\
'''Adds.'''

from typing import TYPE_CHECKING

from one2set.data.text import words_of

if TYPE_CHECKING:
    from one2set.data.document import Document


def add(x, y):
    '''A sum.'''
    import math

    return math.fsum([x, y])  # of two
"""
_OTHER_LOSS = ("weight = self.null_weight", "weight = 2 * self.null_weight")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package's modules, to be edited."""
    sources = Path(version.__file__).parents[1]
    return Path(
        shutil.copytree(
            sources,
            tmp_path / "one2set",
            ignore=lambda folder, names: [
                name for name in names if not (Path(folder, name).is_dir() or name[-3:] == ".py")
            ],
        )
    )


@pytest.fixture
def version_of(package: Path) -> Callable[[], str]:
    """The version of the package as it is now."""
    return lambda: hash_code.__wrapped__(package)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_only_code_changes_the_version(tmp_path: Path) -> None:
    (tmp_path / "training").mkdir()

    def version_with(text: str) -> str:
        (tmp_path / "training/loop.py").write_text(text, encoding="utf-8")
        return hash_code.__wrapped__(tmp_path)

    base = version_with(_CODE)
    for old, new in (
        ("# of two", "# of both"),
        ("A sum", "The sum"),
        ("Adds", "Does"),
        ("x, y])", "x,  y])"),
        ("import words_of\n", "import stem_all\n"),
        ("import math\n", "import cmath\n"),
        ("if TYPE_CHECKING:\n    from one2set.data.document import Document\n", ""),
    ):
        assert old in _CODE
        assert version_with(_CODE.replace(old, new)) == base, old
    assert version_with(_CODE.replace("[x, y]", "[x, -y]")) != base
    assert version_with(_CODE + "if x:\n    add(1, 2)\n") != base


def test_the_version_covers_training_but_not_extraction(
    package: Path, version_of: Callable[[], str]
) -> None:
    base = version_of()
    assert base == hash_code()
    edit(package / "extraction" / "phrase_classifier.py", "_DROPOUT = 128, 3", "_DROPOUT = 129, 3")
    edit(package / "cli" / "train.py", "Optimiser steps", "Steps")
    assert version_of() == base
    edit(
        package / "training" / "objectives" / "set_loss.py",
        "weight = self.null_weight",
        "weight = 2 * self.null_weight",
    )
    assert version_of() != base


def test_moving_a_module_keeps_the_version(package: Path, version_of: Callable[[], str]) -> None:
    base = version_of()
    (package / "elsewhere").mkdir()
    (package / "training" / "objectives" / "set_loss.py").rename(
        package / "elsewhere" / "set_loss.py"
    )
    assert version_of() != base, "it is not found there yet"
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(
            text.replace("one2set.training.objectives.set_loss", "one2set.elsewhere.set_loss"),
            encoding="utf-8",
        )
    assert version_of() == base
    edit(
        package / "elsewhere" / "set_loss.py",
        "weight = self.null_weight",
        "weight = 2 * self.null_weight",
    )
    assert version_of() != base


def test_the_version_covers_training_and_measuring_but_not_the_report(package: Path) -> None:
    names = {str(path.relative_to(package)) for path in version._collect_modules(package)}
    assert {"training/loop.py", "training/objectives/set_loss.py", "model/exhird.py"} <= names
    assert {"evaluation/metrics.py", "prediction/engine.py", "data/batch.py"} <= names
    assert not {path.split("/")[0] for path in names} & {
        "export",
        "extraction",
        "keyphrases",
        "bulk",
        "serving",
        "cli",
        "adapters",
    }
    assert "reproduction/report.py" not in names
