"""Mutation testing: put small faults into the source, one at a time, and see whether tests fail.

    python benchmarks/mutation.py [--count 120] [--seed 1] [--output mutants.jsonl] [--again]

A mutant is one change of the syntax tree: another comparison, operator or number, a negated
condition, a dropped statement or keyword argument. The sample depends on the seed and has the same
number of each package. Code that cannot change a result is left out: annotations, messages,
`__repr__`, encodings.

First, each test file runs once without a fault, to record the functions that its tests call and
their CPU time (OUTPUT.calls; only changed files run again). A mutant is tried with the tests that
call the changed function, fastest first: those of the test file of its module, then others up to a
minute. It is killed if one of them fails or takes too long. `--again` tries survivors again, after
tests were added. The output names the test that killed each mutant.

Each run is a fork of a process that has imported the libraries but no module of one2set; an import
hook provides the changed module, so no file is touched. Results are appended to the output, and a
repeated call continues. Processes that a test starts itself do not have the mutant.
"""

import ast
import gc
import json
import os
import resource
import signal
import sys
import threading
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from random import Random
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple, cast

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TESTS = ROOT / "src" / "one2set", ROOT / "tests"
PACKAGES = ("model", "training", "evaluation", "keyphrases")
# Their tests, and those of what is built on them that are fast.
TEST_FOLDERS = (*PACKAGES, "prediction")
# Those that start no thread (a fork would not have it, and might wait for it for ever), and are no
# plugins of pytest, which wants to import these itself.
LIBRARIES = (
    "torch._dynamo",
    "safetensors.torch",
    "scipy.optimize",
    "sympy",
    "tokenizers",
    "orjson",
    "pydantic.main",
    "rich.progress",
)
SECONDS = 20  # of the processor: the tests of a mutant, as far as they are of other modules
_OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist")
_MEMORY = 16 << 30
# Arguments that change no result of the tests: checks, types, and the default on Linux, on a CPU.
_IDLE = ("strict", "encoding", "stacklevel", "bound", "daemon", "device")

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
    function: str  # that it is in, such as Class.method; "" if it is in none
    tree: ast.Module


@dataclass(frozen=True)
class Place:
    """A place where a module can be changed: its index in the syntax tree."""

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
        id = f"{place}: {_short(before)} → {_short(after)}"
        return Mutant(id, self.path, _function_at(tree, line), tree)


def _function_at(tree: ast.Module, line: int) -> str:
    """The qualified name of the outermost function that has a line in its body."""
    bodies: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    for prefix, body in bodies:
        for node in body:
            if isinstance(node, ast.ClassDef):
                bodies.append((f"{prefix}{node.name}.", node.body))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body[
                0
            ].lineno <= line <= cast(int, node.end_lineno):
                return f"{prefix}{node.name}"
    return ""


def find_places(path: Path) -> list[Place]:
    """All places of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [Place(path, index) for index, _ in enumerate(_visit(tree))]


def _visit(node: ast.AST) -> Iterator[tuple[Any, str]]:
    """Yield each node that can be changed, and the kind of change."""
    match node:
        # Annotations do nothing, messages are for people, and protocols are for the type checker.
        case ast.JoinedStr() | ast.Raise() | ast.Assert():
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.ClassDef(bases=[ast.Name(id="Protocol"), *_]):
            return
        case ast.FunctionDef(name="__repr__"):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            children: list[ast.AST] = [*node.args.defaults, *node.body]
            children += [default for default in node.args.kw_defaults if default is not None]
        case ast.ClassDef():
            children = list(node.body)
        case ast.keyword(arg=str(name)) if name in _IDLE:
            return
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
                if keyword.arg is not None and keyword.arg not in _IDLE:
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
    """Draw mutants, the same number of each package."""
    random = Random(seed)
    chosen = []
    for package in PACKAGES:
        paths = sorted((SOURCE / package).rglob("*.py"))
        every = [place for path in paths for place in find_places(path)]
        chosen += random.sample(every, min(count // len(PACKAGES), len(every)))
    random.shuffle(chosen)  # so that the beginning is a random sample too
    return [place.mutate() for place in chosen]


def _module(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


class _Hook(MetaPathFinder):
    """Imports the mutant instead of its module."""

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


@dataclass(frozen=True)
class Test:
    """A test, as it runs without a fault."""

    id: str
    seconds: float  # of the processor
    calls: frozenset[str]  # functions of the packages, such as src/one2set/data/text.py:stem


class _Recorder:
    """A pytest plugin that records what each test calls."""

    def __init__(self) -> None:
        self._files = {str(path): str(path.relative_to(ROOT)) for path in _modules()}
        self._calls: set[str] = set()
        self._shared: set[str] = set()  # fixtures may serve several tests
        self._passed: list[tuple[str, float, set[str]]] = []

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        if (path := self._files.get(frame.f_code.co_filename)) is not None:
            self._calls.add(f"{path}:{frame.f_code.co_qualname.partition('.<locals>')[0]}")

    def _record(self) -> set[str]:
        self._calls = set()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        return self._calls

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None]:
        calls = self._record()
        try:
            yield
        finally:
            sys.settrace(None)
            self._shared |= calls

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None]:
        calls, start = self._record(), time.process_time()
        try:
            yield
        finally:
            sys.settrace(None)
        self._passed.append((item.nodeid, time.process_time() - start, calls))

    def tests(self) -> list[dict[str, Any]]:
        """Those that passed."""
        return [
            {"id": id, "seconds": round(seconds, 3), "calls": sorted(calls | self._shared)}
            for id, seconds, calls in self._passed
        ]


class _Witness:
    """A pytest plugin that runs tests in the given order, and reports the first that fails."""

    def __init__(self, pipe: int, tests: Sequence[Test]) -> None:
        self._pipe, self._order = pipe, {test.id: order for order, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._order]
        items.sort(key=lambda item: self._order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self._pipe, report.nodeid.encode())

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            os.write(self._pipe, b"import")


def _modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py"))]


def record_tests(cache: Path) -> list[Test]:
    """All tests of TEST_FOLDERS. Files that are in the cache and have not changed do not run."""
    known: dict[str, list[dict[str, Any]]] = {}
    if cache.exists():
        records = map(json.loads, cache.read_text(encoding="utf-8").splitlines())
        known = {record["file"]: record["tests"] for record in records}
    files = [file for name in TEST_FOLDERS for file in _test_files(TESTS / name)]
    result = []
    for number, file in enumerate(files, 1):
        key = f"{file.relative_to(ROOT)} {sha256(file.read_bytes()).hexdigest()[:16]}"
        if key not in known:
            print(f"recording {number}/{len(files)} {file.relative_to(ROOT)}", flush=True)
            run_in_fork(partial(_record_file, key, file, cache), 1_800)
            last = json.loads(cache.read_text(encoding="utf-8").splitlines()[-1])
            known[key] = last["tests"] if last["file"] == key else []
        result += [
            Test(test["id"], test["seconds"], frozenset(test["calls"])) for test in known[key]
        ]
    return result


def _test_files(path: Path) -> list[Path]:
    result = [path] if path.is_file() else sorted(path.rglob("test_*.py"))
    return [file for file in result if file.name != "test_kill.py"]  # it starts processes


def _record_file(key: str, file: Path, cache: Path) -> int:
    recorder = _Recorder()
    pytest.main([*_OPTIONS, str(file)], [recorder])
    with cache.open("a", encoding="utf-8") as out:
        out.write(f"{json.dumps({'file': key, 'tests': recorder.tests()})}\n")
    return 0


def run_in_fork(work: Callable[[], int], seconds: int) -> int:
    """The exit status of work in a fork, which has a limit of CPU seconds."""
    if not (child := os.fork()):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        signal.alarm(20 * seconds)  # it may wait for ever
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os._exit(work())
    return os.waitpid(child, 0)[1]


def tests_of(mutant: Mutant, tests: Sequence[Test]) -> tuple[list[Test], list[Test]]:
    """Those that call the changed function, the fastest first, in the test file of the same name as
    the module, and elsewhere. Outside of functions, all of that file and those that call anything
    of the module."""
    module = mutant.path.relative_to(SOURCE)
    place = f"{mutant.path.relative_to(ROOT)}:{mutant.function}"
    own = str((TESTS / module).with_name(f"test_{module.name}").relative_to(ROOT))
    calling = sorted(
        (
            test
            for test in tests
            if place in test.calls
            or (not mutant.function and test.id.startswith(f"{own}::"))
            or (not mutant.function and any(call.startswith(place) for call in test.calls))
        ),
        key=lambda test: test.seconds,
    )
    ours = [test for test in calling if test.id.startswith(f"{own}::")]
    others, total = [], 0.0
    for test in calling:
        if not test.id.startswith(f"{own}::") and (total := total + test.seconds) < SECONDS:
            others.append(test)
    # File by file, so that fixtures are set up once.
    return ours, sorted(others, key=lambda test: test.id.partition("::")[0])


def killer(mutant: Mutant, tests: Sequence[Test]) -> str | None:
    """The test that fails with a mutant; None if none does."""
    for some in tests_of(mutant, tests):
        if some and (found := _killer(mutant, some)) is not None:
            return found
    return None


def _killer(mutant: Mutant, tests: Sequence[Test]) -> str | None:
    reading, writing = os.pipe()

    def work() -> int:
        sys.meta_path.insert(0, _Hook(mutant))
        files = dict.fromkeys(test.id.partition("::")[0] for test in tests)
        return int(pytest.main([*_OPTIONS, "-x", *files], [_Witness(writing, tests)]))

    status = run_in_fork(work, 30 + int(4 * sum(test.seconds for test in tests)))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        witness = pipe.read(1_000)
    if os.WIFSIGNALED(status):
        return "time" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGALRM) else "crash"
    return (witness or "conftest") if status else None


def run(
    chosen: Sequence[Mutant], tests: Sequence[Test], output: Path, *, again: bool
) -> dict[str, str | None]:
    """What killed each mutant. Those of the output are not run again, but for its survivors if
    `again`."""
    done: dict[str, str | None] = {}
    if output.exists():
        records = map(json.loads, output.read_text(encoding="utf-8").splitlines())
        done = {record["mutant"]: record["killer"] for record in records}
    left = [
        keyphrase
        for keyphrase in chosen
        if keyphrase.id not in done or (again and done[keyphrase.id] is None)
    ]
    start = time.monotonic()
    for number, mutant in enumerate(left):
        done[mutant.id] = killed_by = killer(mutant, tests)
        record = {"mutant": mutant.id, "killer": killed_by}
        with output.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(record, ensure_ascii=False)}\n")
        minutes = (time.monotonic() - start) / (number + 1) * (len(left) - number - 1) / 60
        told = f"{mutant.id}: {killed_by or 'SURVIVED'}"
        print(f"{number + 1}/{len(left)}, {minutes:.0f} min left: {told}", flush=True)
    return {mutant.id: done[mutant.id] for mutant in chosen}


def main() -> None:
    """Run the sample, and print a table of packages and the survivors."""
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=120, help="mutants in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("mutants.jsonl"))
    parser.add_argument("--again", action="store_true", help="try survivors again")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    output = options.output.resolve()
    os.chdir(ROOT)
    for name in LIBRARIES:
        import_module(name)
    gc.freeze()
    if len(os.listdir("/proc/self/task")) > 1:
        sys.exit("a library has started a thread, so that no fork is safe")
    tests = record_tests(output.with_suffix(".calls"))
    chosen = sample(options.count, options.seed)
    results = run(chosen, tests, output, again=options.again)
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
