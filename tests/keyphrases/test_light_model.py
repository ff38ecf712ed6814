"""The light model of the package, which has no network."""

import json
import pickle
import subprocess
import sys
from itertools import chain, repeat
from pathlib import Path

import pytest
from hypothesis import given, settings

from one2set.data.document import Document
from one2set.data.reading.records import document_from_text
from one2set.errors import ConfigError
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.model.paths import (
    BUNDLED,
    find_knowledge_folder,
    find_model_folder,
    is_light,
    is_model,
)
from one2set.prediction.loading import load_predictor
from one2set.prediction.predictor import NoNetwork
from tests.commands import invoke
from tests.data.test_text import ANY_TEXT
from tests.keyphrases.test_default_model import TEXT
from tests.keyphrases.test_generator import assert_sound


@pytest.fixture(scope="module")
def generator() -> KeyphraseGenerator:
    return KeyphraseGenerator("light")


def test_it_finds_the_keyphrases_of_a_real_text(generator: KeyphraseGenerator) -> None:
    keyphrases = generator.generate(TEXT)
    assert_sound(keyphrases, TEXT)
    assert {"fatigue", "selective laser melting"} <= {
        keyphrase.text.lower() for keyphrase in keyphrases
    }
    assert generator.generate([TEXT, TEXT[:200]])[0] == keyphrases


def test_a_long_text_has_five_keyphrases_too(
    generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    """Texts of different subjects, so that no phrase has a high mean over all passages."""
    text = "\n\n".join(document.text for document in documents[:20])
    keyphrases = generator.generate(text, only="present")
    assert_sound(keyphrases, text)
    assert len(keyphrases) == 5
    likely = generator.generate(text, only="present", point="f1")
    assert len(likely) < 5
    assert {keyphrase.text for keyphrase in likely} <= {keyphrase.text for keyphrase in keyphrases}


def test_the_light_model_needs_numpy_only() -> None:
    code = (
        "import sys; from one2set import KeyphraseGenerator\n"
        "found = KeyphraseGenerator('light').generate('We sort numbers by counting them.')\n"
        "modules = {name.partition('.')[0] for name in sys.modules}\n"
        "import json; print(json.dumps([len(found), sorted(modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, modules = json.loads(done.stdout)
    assert count > 0
    assert "numpy" in modules
    assert {"onnxruntime", "tokenizers", "torch", "scipy", "safetensors"}.isdisjoint(modules)


def test_it_shares_the_files_of_the_default_model() -> None:
    light, default = (find_model_folder(name) for name in ("light", "default"))
    assert is_light(light)
    assert not is_light(default)
    assert find_knowledge_folder(light).resolve() == find_knowledge_folder(default) == default
    assert sum(path.stat().st_size for path in light.iterdir()) < 10_000


def test_it_is_found_by_name(generator: KeyphraseGenerator, tmp_path: Path) -> None:
    assert all(map(is_model, BUNDLED))
    assert isinstance(load_predictor(find_model_folder("light")), NoNetwork)
    assert repr(pickle.loads(pickle.dumps(generator))) == repr(generator)
    (tmp_path / "light.json").write_text("{}")
    assert is_model(str(tmp_path))


def test_documents_stream_one_by_one(generator: KeyphraseGenerator) -> None:
    """The first result needs no second document."""
    first = document_from_text(TEXT)
    document, result = next(generator.stream(chain([first], repeat(Document("e", "", "end")))))
    assert document == first
    assert result == generator.generate(TEXT)


def test_it_has_no_raw_output(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="light has no network; use one2set generate"):
        invoke("predict", "light", tmp_path)


@settings(max_examples=60)
@given(ANY_TEXT)
def test_any_text_has_sound_keyphrases(generator: KeyphraseGenerator, text: str) -> None:
    assert_sound(generator.generate(text, more=3.0), text)
