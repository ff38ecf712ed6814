"""`one2set export` as a user calls it."""

import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from one2set.errors import ConfigError
from tests.commands import run

SAMPLE = str(files("one2set.data") / "sample" / "documents.jsonl")


def test_an_exported_model_runs_without_torch(tiny_model: Path, tmp_path: Path) -> None:
    output = run("export", tiny_model, "-o", tmp_path / "float", "--float32")
    both = re.search(r"bundled sample, ([\d,]+) of ([\d,]+) phrases equal", output)
    assert both is not None
    assert both[1] == both[2], "in float32 nothing changes"
    assert "MB" in run("export", tiny_model, "-o", tmp_path / "int8")
    with pytest.raises(ConfigError, match="exists already"):
        run("export", tiny_model, "-o", tmp_path / "int8")
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'scipy', 'onnx', 'safetensors']))\n"
        "from pathlib import Path\n"
        "from one2set.data.document import Document\n"
        "from one2set.prediction.runtime import Runtime\n"
        f"runtime = Runtime(Path({str(tmp_path / 'int8')!r}), threads=1)\n"
        "print(len(next(runtime.predict([Document('d', 'Sets', 'Of words.')])).slots))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "8"


def test_a_light_model_has_nothing_to_export(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="light is a light model, which has no network"):
        run("export", "light", "-o", tmp_path / "out")
