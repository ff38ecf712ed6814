"""The version of the code that the results of a job depend on."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

# These modules train and measure; everything else that matters is imported by them.
_ROOTS = ("one2set.training.loop", "one2set.reproduction.measure")
_PACKAGE = Path(str(files("one2set")))


@cache
def hash_code(package: Path = _PACKAGE) -> str:
    """A short hash of the modules that train and measure. Comments, docstrings, imports and the
    paths of modules do not change it; nor do extraction, the command line, the server and the
    report."""
    modules = sorted(ast.dump(_Code().visit(tree)) for tree in _collect_modules(package).values())
    return hashlib.sha256("\n".join(modules).encode()).hexdigest()[:12]


class _Code(ast.NodeTransformer):
    """Drops imports, blocks for type checkers, and docstrings."""

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_If(self, node: ast.If) -> ast.AST | None:
        typing_only = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if typing_only else self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
        return super().generic_visit(node)


def _collect_modules(package: Path) -> dict[Path, ast.Module]:
    """The roots and all modules that they import, directly or indirectly."""
    modules: dict[Path, ast.Module] = {}
    waiting = [_find_file(package, name) for name in _ROOTS]
    while waiting:
        path = waiting.pop()
        if path is not None and path not in modules:
            modules[path] = ast.parse(path.read_text(encoding="utf-8"))
            waiting += [_find_file(package, name) for name in _find_imports(modules[path])]
    return modules


def _find_imports(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _find_file(package: Path, module: str) -> Path | None:
    """The file of a module of one2set; None for packages, which contain no code, and for other
    libraries."""
    name, *parts = module.split(".")
    path = package.joinpath(*parts).with_suffix(".py")
    return path if name == "one2set" and parts and path.exists() else None
