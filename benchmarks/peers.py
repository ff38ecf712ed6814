"""Quality, speed, start-up time and memory of other tools and of our models.

    python3 -m venv /tmp/peers-venv
    /tmp/peers-venv/bin/pip install --no-deps -r benchmarks/peers-requirements.txt
    python benchmarks/peers.py [--model default] [--light light] [--markdown FILE]

Each tool runs with its default settings (exceptions are in `benchmarks/peer_tools.py`), in its own
process, on one thread. F1@M takes its best 5 or 10 phrases, whichever is better on the validation
set; F1@5 takes the first five valid phrases of ten. Our models decide the number of phrases, and so
do their parts (`--parts`): the network alone, and all but the network, each calibrated again.
KeyBERT is slow and gets an evenly spaced part of each set, on which it is compared with ours.

For timing, the tools alternate, so that other work on the machine slows all; seconds are CPU time
unless stated otherwise. Predictions of other tools are cached: a second run only scores. Ours are
always computed.
"""

import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median

from one2set.atomic import atomic_file
from one2set.data.reading.readers import read
from one2set.evaluation.comparison import CELLS, Cell, compare
from one2set.evaluation.protocols import PROTOCOLS, YE2021, Protocol
from one2set.evaluation.scoring import evaluate, gold_from_document, score
from peer_process import Documents, Process, Tool, parts, spread

_ROOT = Path(__file__).resolve().parents[1]
_OURS, _LIGHT = "one2set", "one2set light"
_PROTOCOLS = (YE2021, PROTOCOLS["mean-f1"])
_SHOWN = (Cell("present", "5"), Cell("present", "M"), Cell("absent", "M"))

Phrases = Mapping[str, list[str]]  # by the document's id, best first
Figures = dict[tuple[str, str, Protocol, Cell], str]  # by row, set, protocol and cell


def list_tools(options: Namespace) -> list[Tool]:
    """Our models first, if any; then the requested tools."""
    pool, fitted = options.data / "train-computing.jsonl.zst", options.cache / "tfidf.pickle"
    python = str(options.peers_python)
    peers = [
        Tool("first-phrases", ("first-phrases",), python),
        Tool("TF-IDF", ("tfidf", str(pool), str(fitted)), python),
        Tool("RAKE", ("rake",), python),
        Tool("YAKE", ("yake",), python),
        Tool("pytextrank", ("pytextrank",), python),
        Tool("KeyBERT", ("keybert", "1"), python, slow=True),
        Tool("KeyBERT-(1,2)", ("keybert", "2"), python, slow=True),
    ]
    chosen = [tool for tool in peers if options.tools is None or tool.name in options.tools]
    return [*_list_models(options), *chosen]


def _list_models(options: Namespace) -> Iterator[Tool]:
    """Our models: first the one that the others are compared with."""
    if options.model is not None:
        whole = Tool(_OURS, ("one2set", str(options.model)), sys.executable, ours=True)
        yield whole
        if options.before is not None:
            yield replace(whole, name=f"{_OURS} before", checkout=options.before.resolve())
    if options.light is not None:
        yield Tool(_LIGHT, ("one2set", str(options.light)), sys.executable, ours=True)
    if options.parts:
        valid = [str(options.data / f"valid/{name}.jsonl") for name in ("mixed", "kp20k")]
        for part, name in (("network", "network only"), ("knowledge", "without the network")):
            command = ("one2set-part", str(options.model), part, *valid)
            yield Tool(f"{_OURS}, {name}", command, sys.executable, ours=True)


# --- Quality --------------------------------------------------------------------------------------


def predict(tool: Tool, sets: Mapping[str, Documents], cache: Path) -> dict[str, Phrases]:
    """The phrases of a tool for every set, from the cache if possible."""
    folder = cache / tool.name
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}-{len(documents)}.jsonl" for name, documents in sets.items()}
    missing = [name for name in sets if tool.ours or not paths[name].exists()]
    if missing:
        with Process(tool, cache) as process:
            for name in missing:
                print(f"{tool.name}: {name}", file=sys.stderr, flush=True)
                with atomic_file(paths[name]) as file:
                    for part in parts(sets[name]):
                        for document, phrases in zip(
                            part, process.ask(part)["phrases"], strict=True
                        ):
                            line = json.dumps({"id": document.id, "keyphrases": phrases})
                            file.write(f"{line}\n".encode())
    records = {
        name: map(json.loads, path.read_text(encoding="utf-8").splitlines())
        for name, path in paths.items()
    }
    return {
        name: {record["id"]: record["keyphrases"] for record in records[name]} for name in records
    }


def best_count(documents: Documents, result: Phrases) -> int:
    """5 or 10, by present F1@M."""

    def f1(count: int) -> float:
        best = [result[document.id][:count] for document in documents]
        return evaluate(documents, best)["present"]["M"].f1

    return max((5, 10), key=f1)


def compute_figures(
    name: str, documents: Documents, rows: Mapping[str, Phrases], cells: Sequence[Cell], n: int
) -> Figures:
    """F1 with its bootstrap interval. A mark compares a tool with ours: the interval of the
    difference is below 0 (`<`), contains 0 (`=`), or is above 0 (`>`)."""
    golds = [gold_from_document(document) for document in documents]
    scores = {
        row: score(golds, [result[document.id] for document in documents])
        for row, result in rows.items()
    }
    figures: Figures = {}
    for protocol in _PROTOCOLS:
        comparison = compare(scores, protocol, resamples=n, seed=0)
        assert comparison.intervals is not None
        for at, system in enumerate(comparison.systems):
            for cell in cells:
                low, high = comparison.intervals.f1[at, CELLS.index(cell)]
                below, above = comparison.intervals.difference[at, CELLS.index(cell)]
                sign = "<" if above < 0 else ">" if below > 0 else "="
                shown = f"{system.metrics[protocol.name][cell].f1:.3f} [{low:.3f}, {high:.3f}]"
                is_peer = at > 0 and comparison.systems[0].name.startswith(_OURS)
                figures[system.name, name, protocol, cell] = f"{shown} {sign}" if is_peer else shown
    return figures


def quality(tools: Sequence[Tool], options: Namespace) -> list[str]:
    """Tables of F1, tools by sets."""
    valid = list(read(str(options.data / "valid/kp20k.jsonl")))
    tests = {
        f"{path.stem}{suffix}": list(read(str(path)))
        for folder, suffix in (("test", ""), ("test-cased", "-cased"))
        for path in sorted((options.data / folder).glob("*.jsonl"))
        if options.sets is None or f"{path.stem}{suffix}" in options.sets
    }
    ours: dict[str, Phrases] = {}  # by set
    figures: Figures = {}
    for slow, most, mark in ((False, sys.maxsize, ""), (True, options.keybert_documents, " †")):
        sets = {name: spread(documents, most) for name, documents in tests.items()}
        result, counts = {}, {}
        for tool in (tool for tool in tools if tool.slow == slow):
            if tool.name == _OURS:
                ours = predict(tool, sets, options.cache)
                continue
            if tool.ours:
                result[tool.name] = predict(tool, sets, options.cache)
                continue
            validation = {"valid": spread(valid, most)}
            phrases = predict(tool, {**validation, **sets}, options.cache)
            count = best_count(validation["valid"], phrases["valid"])
            row = f"{tool.name}, best {count}{mark}"
            result[row], counts[row] = phrases, count
        if not result and (slow or not ours):
            continue
        for name, documents in sets.items():
            # The first five that count may come later than the five best.
            for at, cells in ((10, _SHOWN[:1]), (None, _SHOWN[1:])):
                rows = {_OURS + mark: ours[name]} if ours else {}
                rows |= {
                    row: {
                        id: best[: (at or counts[row]) if row in counts else None]
                        for id, best in by_set[name].items()
                    }
                    for row, by_set in result.items()
                }
                figures |= compute_figures(name, documents, rows, cells, options.resamples)
    return [*_quality_tables(figures, tests), _marks(options)]


def _quality_tables(figures: Figures, tests: Mapping[str, Documents]) -> Iterator[str]:
    header = ["", *(f"{name} ({len(documents)})" for name, documents in tests.items())]
    for protocol in _PROTOCOLS:
        for cell in _SHOWN:
            rows = dict.fromkeys(row for row, *_ in figures)
            cells = [[row, *(figures[row, name, protocol, cell] for name in tests)] for row in rows]
            yield f"### F1 {cell}, {protocol.name}: {', '.join(protocol.choices)}\n"
            yield table(header, cells)


def _marks(options: Namespace) -> str:
    return (
        "`[low, high]`: the 95 % bootstrap interval. `<`, `=`, `>`: that of the difference to "
        f"{_OURS} lies below 0, around it, above it. †: on at most {options.keybert_documents} "
        "evenly spread documents of each set.\n"
    )


# --- Speed ----------------------------------------------------------------------------------------


def speed(tools: Sequence[Tool], options: Namespace) -> list[str]:
    """A table of documents/s, milliseconds of one document, start and memory."""
    documents = spread(list(read(str(options.data / "test/kp20k-500.jsonl"))), options.documents)
    figures = _turns(tools, documents, options.cache)
    starts: dict[str, list[tuple[float, float]]] = {tool.name: [] for tool in tools}
    for _ in range(options.starts):
        for tool in tools:
            begin = time.perf_counter()
            with Process(tool, options.cache) as process:
                processor = process.ask(documents[:1])["since_start"]
                starts[tool.name].append((processor, time.perf_counter() - begin))
    rows, models = [], [name for name in (_OURS, _LIGHT) if name in figures]
    medians = {name: [median(side) for side in zip(*starts[name], strict=True)] for name in starts}
    for name, (rate, single, memory) in figures.items():
        row = [f"{rate:.1f}", f"{single * 1e3:.0f}", *(f"{start:.2f}" for start in medians[name])]
        row.append(f"{memory:.0f}")
        for ours in models:
            row.append(f"{figures[ours][0] / rate:.2f}")
            row += [f"{a / b:.2f}" for a, b in zip(medians[name], medians[ours], strict=True)]
        rows.append([name, *row])
    header = ["", "documents/s", "one document, ms", "start, s", "start, s of the clock", "MB"]
    for ours in models:
        header += [f"{ours} is × as fast", "starts × as fast", "by the clock"]
    title = f"### Speed on one core, {len(documents)} documents of KP20k, nine at a time\n"
    return [title, table(header, rows), "Start: from the process's to its first keyphrases.\n"]


def _turns(
    tools: Sequence[Tool], documents: Documents, cache: Path
) -> dict[str, tuple[float, float, float]]:
    """Documents/s, seconds of one document, and MB of each tool."""
    count = 0
    seconds = {tool.name: 0.0 for tool in tools}
    alone: dict[str, list[float]] = {tool.name: [] for tool in tools}
    memory: dict[str, float] = {}
    with ExitStack() as stack:
        processes = {tool.name: stack.enter_context(Process(tool, cache)) for tool in tools}
        for process in processes.values():
            process.ask(documents[:1])  # to warm up
        for part in parts(documents):
            count += len(part) - 1
            for name, process in processes.items():
                seconds[name] += process.ask(part[:-1])["seconds"]
                answer = process.ask(part[-1:])
                alone[name].append(answer["seconds"])
                memory[name] = answer["memory"]
    return {name: (count / seconds[name], median(alone[name]), memory[name]) for name in seconds}


# --- Both -----------------------------------------------------------------------------------------


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown, aligned."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "".join(
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |\n"
        for line in lines
    )


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", type=Path, help="the folder of a model or a run")
    parser.add_argument("--light", type=Path, help="also our light model")
    parser.add_argument("--before", type=Path, help="also a checkout of an earlier version")
    parser.add_argument("--sets", nargs="*", help="only these test sets; no names: no quality")
    parser.add_argument("--parts", action="store_true", help="also parts of our model")
    parser.add_argument("--tools", nargs="*", help="only these tools")
    parser.add_argument("--data", type=Path, default=_ROOT.parent / "shared/data")
    parser.add_argument("--peers-python", type=Path, default=Path("/tmp/peers-venv/bin/python"))
    parser.add_argument("--cache", type=Path, default=_ROOT / "runs/peers")
    parser.add_argument("--keybert-documents", type=int, default=60, help="documents of each set")
    parser.add_argument("--documents", type=int, default=40, help="documents to time; 0: no speed")
    parser.add_argument("--starts", type=int, default=3, help="starts; the median counts")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    tools = list_tools(options)
    pages = [] if options.sets == [] else quality(tools, options)
    if options.documents:
        pages += speed([tool for tool in tools if "one2set-part" not in tool.command], options)
    print(*pages, sep="\n")
    if options.markdown is not None:
        options.markdown.write_text("\n".join(pages), encoding="utf-8")


if __name__ == "__main__":
    main()
