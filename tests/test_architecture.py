"""Imports run one way, files are short, references resolve."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = _ROOT / "src" / "one2set"
_MODULES = sorted(_PACKAGE.rglob("*.py"))
# A part may import from those before it, never from those after it.
_ORDER = (
    "errors",
    "atomic",
    "cores",
    "parallel",
    "arrays",
    "data",
    "evaluation",
    "model",
    "prediction",
    "training",
    "export",
    "extraction",
    "keyphrases",
    "bulk",
    "adapters",
    "serving",
    "reproduction",
    "cli",
)
_LONGEST = 500
# What `generate` must not load.
_ONLY_FOR_FITTING = (
    "extraction.fit_knowledge",
    "extraction.build_lexicon",
    "keyphrases.tuning",
    "keyphrases.reliability",
    "keyphrases.learn",
    "export.export",
)
_PAGES = [*_ROOT.glob("*.md"), *sorted((_ROOT / "docs").glob("*.md"))]
_LINK = re.compile(r"\]\((?!https?://)([^)#\s]+)?(#[^)\s]+)?\)")
_REFERENCE = re.compile(r"`((?:src|tests|benchmarks|examples)/[\w/.-]+\.py)(?::(\w+))?`")


def _name(path: Path) -> str:
    return str(path.relative_to(_ROOT))


def _part(module: str) -> str:
    """one2set.data.reading.readers → data"""
    return module.split(".")[1] if "." in module else ""


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            # `from one2set.cli import train` imports a module too.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", _MODULES, ids=_name)
def test_imports_run_one_way(path: Path) -> None:
    own = path.relative_to(_PACKAGE).parts[0].removesuffix(".py")
    if own in ("__init__", "__main__"):
        return  # the doors, which lead everywhere
    assert own in _ORDER, f"{own} has no place in the order of imports"
    for module in _imports(path):
        other = _part(module) if module.startswith("one2set.") else ""
        if other in _ORDER:
            assert _ORDER.index(other) <= _ORDER.index(own), f"{own} imports {module}"


@pytest.mark.parametrize("path", _MODULES, ids=_name)
def test_files_are_short_and_only_the_command_line_prints(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= _LONGEST
    assert text.lstrip().startswith('"""'), "a file has a docstring"
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    prints = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]
    assert not prints or "cli" in path.parts
    assert path.stem not in ("utils", "helpers", "misc", "common")


def test_the_command_line_starts_without_what_is_heavy_or_optional() -> None:
    heavy = ["torch", "scipy", "pyarrow", "zstandard", "nltk", "matplotlib", "tokenizers", "numpy"]
    code = f"import sys, one2set.cli; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "arguments",
    [["stats", "documents.jsonl"], ["evaluate", "documents.jsonl", "predictions.jsonl"]],
)
def test_the_core_install_scores_and_counts(arguments: list[str]) -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys("
        "['torch', 'scipy', 'pyarrow', 'zstandard', 'matplotlib', 'safetensors']))\n"
        f"sys.argv[1:] = {arguments!r}\nfrom one2set.cli import main; main()"
    )
    sample = _PACKAGE / "data" / "sample"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=sample, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_a_runtime_needs_is_there_without_torch() -> None:
    modules = ["prediction.runtime", "keyphrases.generator", "bulk.pipeline"]
    imports = "; ".join(f"import one2set.{name}" for name in modules)
    code = f"import sys; sys.modules['torch'] = None; {imports}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_generating_loads_nothing_that_it_can_do_without() -> None:
    # A first keyphrase took four times as long when nltk, and with it scipy, was loaded.
    heavy = ["nltk", "scipy", "sklearn", "pydantic", "torch", "importlib.metadata"]
    # Only `export` and `calibrate` need these.
    heavy += [f"one2set.{name}" for name in _ONLY_FOR_FITTING]
    code = (
        "import sys; from one2set import KeyphraseGenerator; "
        "assert KeyphraseGenerator(threads=1).generate('Sets of keyphrases, and sets of words.'); "
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("model", ["default", "light"])
def test_the_command_generate_loads_only_what_it_needs(model: str) -> None:
    command = ["generate", "--model", model, "Sets of keyphrases, and sets of words."]
    code = (
        f"import sys; sys.argv[1:] = {command!r}\n"
        "from one2set.cli import main\n"
        "try: main()\n"
        "finally: print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {*done.stderr.split()}
    assert "one2set.keyphrases.generator" in loaded
    assert not loaded & {"torch", *(f"one2set.{name}" for name in _ONLY_FOR_FITTING)}
    assert not any(name.startswith("one2set.training") for name in loaded)
    # A first keyphrase took twice as long with these.
    slow = {"pydantic", "multiprocessing", "rich", "html", "csv", "one2set.data.reading.readers"}
    if model == "light":
        slow |= {"onnxruntime", "tokenizers", "one2set.prediction.runtime"}
    assert not loaded & slow


@pytest.mark.parametrize("page", _PAGES, ids=_name)
def test_references_resolve(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in _LINK.findall(text):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{target} is linked but does not exist"
        if anchor:
            assert anchor[1:] in _anchors(linked), f"{target}{anchor} has no such heading"
    for file, name in _REFERENCE.findall(text):
        assert (_ROOT / file).exists(), f"{file} does not exist"
        if name:
            assert name in _names(_ROOT / file), f"{file} has no {name}"


def _anchors(page: Path) -> set[str]:
    """GitHub's: lower case, punctuation gone, spaces to hyphens."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _names(path: Path) -> set[str]:
    """The functions and classes of a module, and their methods."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_the_map_from_the_paper_names_a_test_for_every_row() -> None:
    text = (_ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "`src/" in line]
    assert rows
    for row in rows:
        assert "`tests/" in row, row
