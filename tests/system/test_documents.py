"""Every command and Python example in README and docs runs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.system.command_server import fast_commands

from one2set.data.reading.readers import read
from one2set.evaluation.inputs import read_predictions
from one2set.evaluation.scoring import evaluate, gold_from_document

_ROOT = Path(__file__).resolve().parents[2]
_SHARED = _ROOT.parent / "shared"
_BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# CI runs the first two itself; benchmarks take minutes.
_NOT_HERE = ("make ", "pip ", "python benchmarks/")
_PAGES = [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with fast_commands(tmp_path_factory.mktemp("commands")) as folder:
        yield folder


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path, commands: Path) -> None:
    folders = [commands, Path(sys.executable).parent, os.environ["PATH"]]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(map(str, folders)),
        "PYTHONPATH": str(_ROOT / "src"),
    }
    ran = 0
    for language, code in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "bash":
            lines = [line for line in code.splitlines() if not line.startswith(_NOT_HERE)]
            code = "\n".join(lines)
            if "../shared" in code and not _SHARED.exists():
                continue
            command = ["bash", "-euo", "pipefail", "-c", code.replace("../shared", str(_SHARED))]
        else:
            # umap warns that tensorflow is missing by an ImportWarning, which Python hides.
            strict = ["-W", "error", "-W", "ignore::ImportWarning"]
            command = [sys.executable, *strict, "-c", code]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        ran += 1
    if page.name == "train.md":
        _assert_gain(tmp_path)
    if not ran:
        pytest.skip(f"{page.name} has no examples that can run here")


def _assert_gain(folder: Path) -> None:
    """The walkthrough on one's own table ends with a better model."""
    documents = list(read(folder / "test.csv"))
    golds = list(map(gold_from_document, documents))
    before, after = (
        evaluate(documents, read_predictions(str(folder / f"{name}.jsonl"), golds))
        for name in ("before", "after")
    )
    assert after["present"]["M"].f1 > before["present"]["M"].f1


_WRITES = re.compile(r"(?:one2set prepare|--output|-o) ([\w./-]+)")


def test_pages_can_be_followed_one_after_the_other() -> None:
    """In one folder: no two of them write the same file."""
    written: dict[str, str] = {}
    for page in _PAGES:
        blocks = [code for _, code in _BLOCK.findall(page.read_text(encoding="utf-8"))]
        code = "\n".join(line for line in "\n".join(blocks).splitlines() if "--resume" not in line)
        for name in _WRITES.findall(code):
            assert written.setdefault(name, page.name) == page.name, name
    assert len(written) > 10


def test_the_readme_has_examples() -> None:
    text = (_ROOT / "README.md").read_text(encoding="utf-8")
    languages = [language for language, _ in _BLOCK.findall(text)]
    assert languages.count("bash") >= 2
    assert "python" in languages
