"""The default model of the package."""

import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from typer.testing import CliRunner

from one2set.cli import app
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.model.paths import DEFAULT, find_model_folder
from tests.data.test_text import ANY_TEXT
from tests.keyphrases.test_generator import assert_sound

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "examples" / "abstract.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def generator() -> KeyphraseGenerator:
    return KeyphraseGenerator(threads=1)


def test_it_finds_the_keyphrases_of_a_real_text(generator: KeyphraseGenerator) -> None:
    keyphrases = generator.generate(TEXT)
    present = {keyphrase.text.lower() for keyphrase in keyphrases if keyphrase.present}
    assert {"fatigue", "selective laser melting"} <= present
    assert any(not keyphrase.present for keyphrase in generator.generate(TEXT, more=1.0))
    assert [keyphrase.score for keyphrase in keyphrases] == sorted(
        (keyphrase.score for keyphrase in keyphrases), reverse=True
    )
    for keyphrase in keyphrases:
        assert all(TEXT[start:end].strip() for start, end in keyphrase.spans)
        assert keyphrase.present == bool(keyphrase.spans)


def test_one_text_is_the_same_as_in_a_batch(generator: KeyphraseGenerator) -> None:
    texts = [TEXT, "We sort numbers by counting them.", TEXT[100:400]]
    assert generator.generate(texts) == [generator.generate(text) for text in texts]


def test_it_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'scipy', 'onnx', 'pyarrow']))\n"
        "from one2set import KeyphraseGenerator\n"
        "print(len(KeyphraseGenerator(threads=1).generate('We sort numbers by counting them.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0


def test_the_command_of_make_run_works(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    (command,) = re.findall(r"\$\(BIN\)/one2set (.+)", recipe)
    monkeypatch.chdir(ROOT)
    shown = CliRunner().invoke(app, command.split())
    assert shown.exit_code == 0
    assert "Present" in shown.stdout


def test_the_model_is_small_and_its_notice_names_the_weights() -> None:
    package = Path(str(files("one2set")))
    size = sum(path.stat().st_size for path in package.rglob("*") if path.is_file())
    assert size < 80e6
    assert "all-MiniLM-L6-v2" in (find_model_folder(DEFAULT) / "NOTICE").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["€ £", "!!", "\u200b", "_", "…", "한", "½", "\ufffd"])
def test_texts_without_words_raise_no_error(generator: KeyphraseGenerator, text: str) -> None:
    assert_sound(generator.generate(text), text)


@settings(max_examples=40)
@given(ANY_TEXT)
def test_any_text_has_sound_keyphrases(generator: KeyphraseGenerator, text: str) -> None:
    assert_sound(generator.generate(text, more=3.0), text)
