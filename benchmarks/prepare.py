"""Throughput and memory of `one2set prepare`.

    python benchmarks/prepare.py                     # ../shared/data: the pool, validation, tests
    python benchmarks/prepare.py --documents 500000  # the pool repeated, with different titles

Prints documents per second and the peak memory of the process and its workers together: resident
(pages that workers share with their parent count for each) and proportional (they count once).
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from one2set.data.reading.readers import read

_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--train", nargs="*", type=Path, help="training files; default: the pool")
    parser.add_argument("--documents", type=int, help="repeat the training data up to this number")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    pool = [*sorted(_DATA.glob("train-*.jsonl.zst")), _DATA / "train-kp20k-992.jsonl"]
    train: list[Path] = options.train or pool
    if not all(path.exists() for path in train):
        sys.exit(f"{_DATA} is not here; pass --train FILE…")
    with tempfile.TemporaryDirectory() as folder:
        if options.documents:
            train = [_repeat_documents(train, options.documents, Path(folder))]
        command = [sys.executable, "-m", "one2set", "prepare", f"{folder}/corpus"]
        command += [f"--workers={options.workers}"]
        command += [f"--train={path}" for path in train]
        if not options.train:
            command += [f"--valid={_DATA / 'valid' / 'kp20k.jsonl'}"]
            command += [f"--test={path}" for path in sorted((_DATA / "test").glob("*.jsonl"))]
        started = time.perf_counter()
        process = subprocess.Popen(command)
        resident = proportional = 0
        while process.poll() is None:
            sizes = list(_memory(process.pid))
            resident = max(resident, sum(size for size, _ in sizes))
            proportional = max(proportional, sum(share for _, share in sizes))
            time.sleep(0.2)
        seconds = time.perf_counter() - started
        if process.returncode:
            sys.exit(process.returncode)
    print(
        f"{seconds:.1f} s; peak memory of {options.workers + 1} processes: "
        f"{resident / 1024:.0f} MB resident, {proportional / 1024:.0f} MB proportional"
    )


def _repeat_documents(paths: list[Path], documents: int, folder: Path) -> Path:
    """Repeat the documents, with the number of the round in their titles."""
    target = folder / "repeated.jsonl"
    left, turn = documents, 0
    with target.open("wb") as file:
        while left:
            turn += 1
            for path in paths:
                for document in read(path):
                    if not left:
                        return target
                    left -= 1
                    record = {
                        "title": f"{document.title} round{turn}",
                        "abstract": document.abstract,
                        "keyphrases": document.keyphrases,
                    }
                    file.write(orjson.dumps(record) + b"\n")
    return target


def _memory(process: int) -> Iterator[tuple[int, int]]:
    """Resident and proportional kilobytes of a process and of all below it."""
    try:
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return
    sizes = {line.split()[0]: int(line.split()[1]) for line in rollup.splitlines()[1:]}
    yield sizes["Rss:"], sizes["Pss:"]
    for child in children:
        yield from _memory(int(child))


if __name__ == "__main__":
    main()
