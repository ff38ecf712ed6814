"""The version of the code, as far as a job's outcome depends on it."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

# What trains and what measures; all else that matters is imported by them.
_ROOTS = ("one2set.cli.train", "one2set.reproduction.measure")


@cache
def code_version() -> str:
    """A short hash of the modules that train and measure. Comments and docstrings, the command line
    of others, the server and the report do not change it."""
    digest = hashlib.sha256()
    for path in sorted(_closure()):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            _drop_docstring(node)
        digest.update(ast.dump(tree).encode())
    return digest.hexdigest()[:12]


def _closure() -> set[Path]:
    """The files of the roots and of what they import, directly or not."""
    found: set[Path] = set()
    waiting = [_file(name) for name in _ROOTS]
    while waiting:
        path = waiting.pop()
        if path is not None and path not in found:
            found.add(path)
            waiting += [_file(name) for name in _imports(path)]
    return found


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _file(module: str) -> Path | None:
    """The file of a module of ours; packages hold no code here, and others' modules are theirs."""
    package, *parts = module.split(".")
    path = Path(str(files("one2set"))).joinpath(*parts).with_suffix(".py")
    return path if package == "one2set" and parts and path.exists() else None


def _drop_docstring(node: ast.AST) -> None:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
        return
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        node.body = node.body[1:]
