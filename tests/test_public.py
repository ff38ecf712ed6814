"""Public names are documented; documents and examples use no others."""

import inspect
import re
from pathlib import Path

import pytest

import one2set

_ROOT = Path(__file__).resolve().parents[1]
_TEXTS = [*_ROOT.glob("*.md"), *(_ROOT / "docs").glob("*.md"), *(_ROOT / "examples").glob("*.py")]
_IMPORT = re.compile(r"^\s*(?:from|import)\s+(one2set[\w.]*)", re.MULTILINE)
_NAMES = [name for name in one2set.__all__ if name != "__version__"]


@pytest.mark.parametrize("path", _TEXTS, ids=lambda path: path.name)
def test_documents_and_examples_import_public_modules_only(path: Path) -> None:
    for module in _IMPORT.findall(path.read_text(encoding="utf-8")):
        assert module == "one2set" or module.startswith("one2set.adapters."), module


@pytest.mark.parametrize("name", _NAMES)
def test_names_are_listed_documented_and_on_the_page(name: str) -> None:
    assert name in dir(one2set)
    assert re.search(rf"^ +{name} +\w", one2set.__doc__ or "", re.MULTILINE)
    assert inspect.getdoc(getattr(one2set, name))
    assert f"::: one2set.{name}\n" in (_ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_completion_offers_the_public_names_only() -> None:
    assert dir(one2set) == sorted(one2set.__all__)


def test_unknown_names_are_attribute_errors() -> None:
    assert not hasattr(one2set, "nothing")


@pytest.mark.parametrize(
    "function",
    [
        one2set.KeyphraseGenerator.generate,
        one2set.KeyphraseGenerator.stream,
        one2set.read,
        one2set.evaluate,
    ],
)
def test_functions_describe_all_parameters(function: object) -> None:
    assert callable(function)
    text = inspect.getdoc(function) or ""
    for name in inspect.signature(function).parameters:
        assert name == "self" or re.search(rf"^ +{name}: \S", text, re.MULTILINE), name
    for heading in ("Args:", "Returns:", "Raises:", "Examples:"):
        assert heading in text
