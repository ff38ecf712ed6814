"""Whether the tests can fail: small faults are put into the source, one at a time.

    python benchmarks/mutation.py [--count 120] [--seed 1] [--output mutants.jsonl]

A fault (a mutant) is a change of one place in the syntax tree: another comparison, operator or
number, a negated condition, a dropped statement or keyword argument. The sample is drawn by the
seed, the same number of each package. The tests of a mutant are the file of the same name as its
module, or else those that import it. A mutant is killed if one of them fails, or takes too long.
Without it they must pass, which is tried with the first module of the sample only. The output names
the test that killed each.

Each mutant runs in a fork of a process that has imported the libraries but nothing of ours; an
import hook gives it the changed module, so no file is touched. Results are appended to the output,
and a repeated call does what is left. Tests that start processes of their own do not see a mutant
there.
"""

import ast
import json
import os
import resource
import signal
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from random import Random
from types import CodeType, ModuleType
from typing import Any, NamedTuple, cast

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TESTS = ROOT / "src" / "one2set", ROOT / "tests"
PACKAGES = ("model", "training", "evaluation", "keyphrases")
# Those that start no thread (a fork would not have it, and might wait for it for ever), and are no
# plugins of pytest, which wants to import these itself.
LIBRARIES = ("torch", "scipy.optimize", "pydantic", "rich")
SECONDS = 120  # of the processor, for the tests of a mutant

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutant(NamedTuple):
    """A changed module."""

    id: str  # the same in every run, while the source stays the same
    path: Path
    tree: ast.Module


def unchanged(path: Path) -> Mutant:
    """A module without a fault."""
    return Mutant("unchanged", path, ast.parse(path.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Place:
    """Where a module can be changed: the index of a place in its tree."""

    path: Path
    index: int

    def mutate(self) -> Mutant:
        """The module, changed here."""
        tree = ast.parse(self.path.read_text(encoding="utf-8"))
        node, field = list(_visit(tree))[self.index]
        told = node.test if field == "test" else node
        line, before, after = node.lineno, ast.unparse(told), "(dropped)"
        if field == "drop":
            _drop(tree, node)
        else:
            _change(node, field)
            after = ast.unparse(node.test if field == "test" else node)
        place = f"{self.path.relative_to(ROOT)}:{line}"
        return Mutant(f"{place}: {_short(before)} → {_short(after)}", self.path, tree)


def places(path: Path) -> list[Place]:
    """All places of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [Place(path, index) for index, _ in enumerate(_visit(tree))]


def _visit(node: ast.AST) -> Iterator[tuple[Any, str]]:
    """Each node that can be changed, and what of it."""
    match node:
        # Annotations do nothing, messages are for people, and protocols are for the type checker.
        case ast.JoinedStr() | ast.Raise() | ast.Assert():
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.ClassDef(bases=[ast.Name(id="Protocol"), *_]):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            children: list[ast.AST] = [*node.args.defaults, *node.body]
            children += [default for default in node.args.kw_defaults if default is not None]
        case ast.ClassDef():
            children = list(node.body)
        case ast.AnnAssign():
            children = [] if node.value is None else [node.value]
        case ast.Subscript():
            children = [node.value, node.slice] if isinstance(node.ctx, ast.Load) else []
        case _:
            children = list(ast.iter_child_nodes(node))
    match node:
        case ast.Compare(ops=[op]) if type(op) in _SWAPPED:
            yield node, "op"
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp() if type(node.op) in _SWAPPED:
            yield node, "op"
        case ast.Constant(value=bool() | int() | float()):
            yield node, "value"
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, "sign"
        case ast.If() | ast.IfExp():
            yield node, "test"
        case ast.Call(keywords=[*keywords]):
            for index, keyword in enumerate(keywords):
                if keyword.arg is not None:
                    yield node, f"keyword {index}"
        case ast.Expr(value=ast.Call()):
            yield node, "drop"
    for child in children:
        yield from _visit(child)


def _change(node: Any, field: str) -> None:
    match field:
        case "op" if isinstance(node, ast.Compare):
            node.ops = [cast(ast.cmpop, _SWAPPED[type(node.ops[0])]())]
        case "op":
            node.op = _SWAPPED[type(node.op)]()
        case "value":
            value = node.value
            node.value = not value if isinstance(value, bool) else value + 1
        case "sign":
            node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
            if isinstance(node.op, ast.Not):
                node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case "test":
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case _:
            del node.keywords[int(field.split()[1])]


def _drop(tree: ast.AST, statement: ast.AST) -> None:
    for node in ast.walk(tree):
        for _, body in ast.iter_fields(node):
            if isinstance(body, list) and statement in body:
                body[body.index(statement)] = ast.copy_location(ast.Pass(), statement)


def _short(text: str) -> str:
    return " ".join(text.split())[:150]


def sample(count: int, seed: int) -> list[Mutant]:
    """So many mutants, as many of each package as of the others."""
    random = Random(seed)
    chosen = []
    for package in PACKAGES:
        paths = sorted((SOURCE / package).rglob("*.py"))
        every = [place for path in paths for place in places(path)]
        chosen += random.sample(every, min(count // len(PACKAGES), len(every)))
    random.shuffle(chosen)  # so that the beginning of the sample is one too
    return [place.mutate() for place in chosen]


def tests_of(path: Path) -> list[str]:
    """The test file of the same name, or else those that import the module."""
    own = TESTS / path.relative_to(SOURCE).with_name(f"test_{path.name}")
    if own.exists():
        return [str(own)]
    imports = f"from {_module(path)} import"
    return [str(each) for each in sorted(TESTS.rglob("test_*.py")) if imports in each.read_text()]


def _module(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


class _Hook(MetaPathFinder):
    """Gives importers the mutant in the place of its module."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant, self._name = mutant, _module(mutant.path)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        loader = _Loader(fullname, str(self._mutant.path))
        loader.tree = self._mutant.tree
        return spec_from_file_location(fullname, self._mutant.path, loader=loader)


class _Loader(SourceFileLoader):
    tree: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        return compile(ast.fix_missing_locations(self.tree), self.path, "exec")


class _Witness:
    """A pytest plugin that tells which test fails first."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._pipe, report.nodeid.encode())

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            os.write(self._pipe, b"import")


def killer(mutant: Mutant) -> str | None:
    """The test that fails with a mutant, run in a fork; None if none does."""
    files = tests_of(mutant.path)
    if not files:
        return None
    reading, writing = os.pipe()
    if not (child := os.fork()):
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        sys.meta_path.insert(0, _Hook(mutant))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        code = pytest.main(["-x", "-p", "no:cacheprovider", *files], [_Witness(writing)])
        os._exit(int(code))
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        witness = pipe.read(1_000)
    if os.WIFSIGNALED(status):
        return "time" if os.WTERMSIG(status) == signal.SIGXCPU else "crash"
    return (witness or "conftest") if status else None


def run(chosen: Sequence[Mutant], output: Path) -> dict[str, str | None]:
    """What killed each mutant. Those of the output are not run again."""
    done: dict[str, str | None] = {}
    if output.exists():
        records = map(json.loads, output.read_text(encoding="utf-8").splitlines())
        done = {record["mutant"]: record["killer"] for record in records}
    left = [mutant for mutant in chosen if mutant.id not in done]
    if left and (failed := killer(unchanged(left[0].path))) is not None:
        sys.exit(f"{failed} fails without a fault")
    for number, mutant in enumerate(left, len(chosen) - len(left) + 1):
        done[mutant.id] = killed_by = killer(mutant)
        record = {"mutant": mutant.id, "killer": killed_by}
        with output.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(record, ensure_ascii=False)}\n")
        print(f"{number}/{len(chosen)} {mutant.id}: {killed_by or 'SURVIVED'}", flush=True)
    return {mutant.id: done[mutant.id] for mutant in chosen}


def main() -> None:
    """Run the sample, and print a table of packages and the survivors."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=120, help="mutants in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("mutants.jsonl"))
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(ROOT)
    for name in LIBRARIES:
        import_module(name)
    if len(os.listdir("/proc/self/task")) > 1:
        sys.exit("a library has started a thread, so that no fork is safe")
    results = run(sample(options.count, options.seed), options.output)
    every, killed = Counter[str](), Counter[str]()
    for id, killed_by in results.items():
        package = Path(id.partition(":")[0]).parts[2]
        every[package] += 1
        killed[package] += killed_by is not None
    print(f"\n{'package':12} {'killed':>7} {'of':>5}")
    for package in PACKAGES:
        print(f"{package:12} {killed[package]:7} {every[package]:5}")
    print(f"{'all':12} {killed.total():7} {every.total():5}\n")
    for id, killed_by in results.items():
        if killed_by is None:
            print(f"survived: {id}")


if __name__ == "__main__":
    main()
