"""Fault injection: kill commands, damage models, send hostile texts and requests.

    python benchmarks/faults.py [kills] [texts] [folders] [server] [--kills 96] [--seed 0]

1. kills: `prepare`, `train`, `reproduce` and `generate -o` are killed (-9) and repeated until they
   end. Half of the kills are at random times; the others follow a random number of changes to the
   output, so that they hit the writing on any machine. The result must equal that of an undisturbed
   command, file by file and byte by byte, except measured times, and nothing else may be left.
2. texts: `robustness.py`, with both models of the package.
3. folders: every damage of `tests/keyphrases/damages.py`, not only a part of them as in the tests.
4. server: bodies that were expensive to refuse, a text whose every word is a candidate, and 200
   clients. The table has the peak memory and the longest wait for /healthz meanwhile.

Networks are tiny, except those of the server and of texts. A difference, a traceback or a wrong
status fails the run.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from importlib.resources import files
from pathlib import Path

from one2set import KeyphraseGenerator, read
from serving import Answer, comparable, server

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = Path(str(files("one2set.data") / "sample" / "documents.jsonl"))
_TINY = ("logging.curves=false", "model.width=16", "model.feed_forward=16", "machine.threads=1")
# Files with dates and durations. A killed training session has no duration.
_TIMES = {"job.json", "training.json", "sessions.jsonl", "train.log", "progress.json"}
_TIMES |= {"checkpoint.json", "report.html", "report.md", "results.json"}
_TIMED = {"seconds", "cpu_seconds", "documents_per_second"}
_LOCKS = {".lock", ".claim"}


@dataclass(frozen=True)
class Command:
    """A command that writes into the folder `out`, and its share of the kills."""

    name: str
    arguments: Sequence[str]
    share: float


@dataclass
class Undisturbed:
    """The results of an undisturbed command."""

    seconds: float
    changes: int
    results: Mapping[str, object]


def commands(folder: Path) -> Iterator[Command]:
    """Each with what it needs, which the commands before it have made, or is made here."""
    lines = SAMPLE.read_text(encoding="utf-8").splitlines(keepends=True)
    train, test, many = (folder / f"{name}.jsonl" for name in ("train", "kp20k", "many"))
    train.write_text("".join(lines[10:]), encoding="utf-8")
    test.write_text("".join(lines[:10]), encoding="utf-8")
    rows = [{**json.loads(lines[n % len(lines)]), "id": f"d{n}"} for n in range(1_100)]
    many.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    out, corpus, run, model = (folder / name for name in ("out", "corpus", "run", "model"))
    held_out = ["--hold-out", "0.2", "--test", f"kp20k={test}"]
    inputs = ["--train", str(many), "--train", str(train), *held_out]
    yield Command("prepare", ["prepare", f"{out}/corpus", *inputs, "--overwrite"], 0.3)
    run_command(["prepare", str(corpus), "--train", str(train), *held_out])
    settings = (*_TINY, "logging.checkpoint_steps=1", "validation.every=4")
    tiny = [str(corpus), "--scale", "tiny", *(f"--set={setting}" for setting in settings)]
    trained = ["train", *tiny, "--steps", "12", "--output", f"{out}/run", "--resume"]
    yield Command("train", trained, 0.2)
    row = [
        "--only",
        "settrans",
        "--seeds",
        "1",
        "--documents",
        "12",
        "--set=train.batch_documents=1",
    ]
    yield Command("reproduce", ["reproduce", *tiny, *row, "--output", f"{out}/reproduced"], 0.1)
    run_command(["train", *tiny, "--steps", "2", "--output", str(run)])
    run_command(["export", str(run), "--output", str(model)])
    generated = ["generate", str(many), "--model", str(model), "--workers", "2", "--resume"]
    yield Command("generate", [*generated, "--output", f"{out}/k.jsonl"], 0.4)


def run_command(arguments: Sequence[str]) -> None:
    process, log = start(arguments)
    if process.wait():
        raise SystemExit(f"error: {' '.join(arguments)}\n{log.read_text()}")


def start(arguments: Sequence[str]) -> tuple[subprocess.Popen[bytes], Path]:
    """A process in a group of its own, and what it prints."""
    with tempfile.NamedTemporaryFile(prefix="faults-", suffix=".log", delete=False) as log:
        command = [sys.executable, "-m", "one2set", *arguments]
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    return process, Path(log.name)


def look(folder: Path) -> list[tuple[str, int, int]]:
    """All files with their sizes and times. What vanishes meanwhile is left out."""
    result = []
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                status = os.stat(path := os.path.join(parent, name))
                result.append((path, status.st_size, status.st_mtime_ns))
    return sorted(result)


def follow(process: subprocess.Popen[bytes], folder: Path, until: Callable[[int], bool]) -> int:
    """How often the files of a folder change, until the process ends or `until` is true of it."""
    changes, before = 0, look(folder)
    while process.poll() is None and not until(changes):
        time.sleep(0.01)
        if (now := look(folder)) != before:
            changes, before = changes + 1, now
    return changes


def results(folder: Path) -> dict[str, object]:
    """The files of a folder: their names, and what was computed."""
    result: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in _TIMES | _LOCKS:
            timed = path.name == "metrics.jsonl" or path.match("measured/*.json")
            result[str(path.relative_to(folder))] = (
                without_times(path) if timed else path.read_bytes()
            )
    return result


def without_times(path: Path) -> object:
    text = path.read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines() if path.suffix == ".jsonl" else [text])
    return [{key: row[key] for key in row if key not in _TIMED} for row in rows]


def kills(options: Namespace) -> None:
    print(f"{'command':10} {'kills':>6} {'while writing':>14} {'results compared':>17}")
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name), Path(name) / "out"
        for command in commands(folder):
            out.mkdir()
            begun = time.monotonic()
            process, log = start(command.arguments)
            changes = follow(process, out, lambda changes: False)
            if process.wait():
                raise SystemExit(f"error: {command.name}\n{log.read_text()}")
            calm = Undisturbed(time.monotonic() - begun, changes, results(out))
            shutil.rmtree(out)
            done = compared = writing = 0
            while done < command.share * options.kills:
                out.mkdir()
                killed, hit = disturb(command, out, calm, chance)
                shutil.rmtree(out)
                done, writing, compared = done + killed, writing + hit, compared + 1
            print(f"{command.name:10} {done:6} {writing:14} {compared:17}", flush=True)


def disturb(
    command: Command, out: Path, undisturbed: Undisturbed, chance: random.Random
) -> tuple[int, int]:
    """Kill a command again and again until it ends: how often, and how often after it wrote."""
    killed = writing = 0
    while True:
        process, log = start(command.arguments)
        if chance.random() < 0.5:
            end = time.monotonic() + chance.uniform(0, undisturbed.seconds)
            changes = follow(process, out, lambda changes: time.monotonic() > end)  # noqa: B023
        else:
            most = chance.randint(1, max(undisturbed.changes, 1))
            changes = follow(process, out, lambda changes: changes >= most)  # noqa: B023
        if process.poll() is not None:
            break
        # Those that it has started stay alive every other time, as after the kernel's OOM killer.
        if chance.random() < 0.5:
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        killed, writing = killed + 1, writing + (changes > 0)
    told = log.read_text(encoding="utf-8")
    if process.returncode:
        raise SystemExit(f"error: {command.name} ended with {process.returncode}\n{told}")
    result = results(out)
    if result != undisturbed.results:
        names = result.keys() | undisturbed.results.keys()
        other = [
            name for name in names if result.get(name, "") != undisturbed.results.get(name, "")
        ]
        raise SystemExit(f"error: {command.name} has other results: {', '.join(sorted(other))}")
    return killed, writing


def texts(options: Namespace) -> None:
    for model in ("light", "default"):
        print(f"{model}:", flush=True)
        arguments = ["--model", model, "--inputs", str(options.texts), "--seed", str(options.seed)]
        arguments += ["--seconds", "60"]  # of the clock, which a busy machine stretches
        subprocess.run(
            [sys.executable, ROOT / "benchmarks" / "robustness.py", *arguments], check=True
        )


def folders(options: Namespace) -> None:
    command = [sys.executable, "-m", "pytest", "tests/keyphrases/test_damaged_models.py", "-s"]
    environment = {**os.environ, "ONE2SET_DAMAGE_STEP": "1"}
    subprocess.run([*command, "-p", "no:xdist"], cwd=ROOT, env=environment, check=True)


@dataclass
class Case:
    """What happens to a server during a case."""

    name: str
    statuses: Counter[int] = field(default_factory=Counter)
    largest: int = 0  # bytes of an answer
    seconds: float = 0.0
    longest_wait: float = 0.0  # of /healthz
    peak: float = 0.0  # MB

    @contextmanager
    def watched(self, process: int, port: int) -> Iterator["Case"]:
        """Measure what is done in this block, and print it."""
        Path(f"/proc/{process}/clear_refs").write_text("5", encoding="utf-8")  # forget the peak
        ended = threading.Event()
        thread = threading.Thread(target=self._ask, args=(port, ended))
        begun = time.monotonic()
        thread.start()
        try:
            yield self
        finally:
            self.seconds = time.monotonic() - begun
            ended.set()
            thread.join()
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        self.peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        told = ", ".join(f"{count} × {status}" for status, count in self.statuses.items())
        print(
            f"{self.name:34} {told:>12} {self.largest:11,} {self.seconds:8.1f} {self.peak:8.0f} "
            f"{self.longest_wait:10.2f}",
            flush=True,
        )

    def _ask(self, port: int, ended: threading.Event) -> None:
        while not ended.is_set():
            begun = time.monotonic()
            request(port, "GET", "/healthz")
            self.longest_wait = max(self.longest_wait, time.monotonic() - begun)
            time.sleep(0.05)

    def add(self, status: int, body: bytes) -> None:
        self.statuses[status] += 1
        self.largest = max(self.largest, len(body))


def request(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def overrun(options: Namespace) -> None:
    documents = [document.text for document in read(str(SAMPLE))]
    generator = KeyphraseGenerator(options.model, threads=1)
    expected = list(map(comparable, generator.generate(documents)))
    del generator
    ones = b'{"documents": [' + b"1," * 249_990 + b"1]}"
    words = json.dumps({"text": "x " * 100_000}).encode()
    print(f"{'case':34} {'answers':>12} {'bytes':>11} {'seconds':>8} {'peak MB':>8} /healthz s")
    patient = ("--timeout", "600")  # a busy machine is slow, which is not what is tested
    with server(Namespace(model=options.model, threads=1), *patient) as (process, port):
        with Case("nothing").watched(process, port):
            time.sleep(0.5)
        with Case("500 kB of [1,1,1,…]").watched(process, port) as case:
            case.add(*request(port, "POST", "/v1/keyphrases", ones))
        if case.statuses.keys() != {422}:
            raise SystemExit("error: expected 422")
        with Case("/v1/explore of 200,000 characters").watched(process, port) as case:
            case.add(*request(port, "POST", "/v1/explore", words))
        if 500 in case.statuses:
            raise SystemExit("error: expected an answer or a refusal")
        with Case("200 clients, 600 requests").watched(process, port) as case:
            ask_at_once(port, documents, expected, case)
        if case.statuses != {200: 600}:
            raise SystemExit("error: expected 600 answers")


def ask_at_once(
    port: int, documents: Sequence[str], expected: Sequence[Answer], case: Case
) -> None:
    """200 clients send three documents each, and compare the answers with the library's."""

    def ask(client: int) -> None:
        for turn in range(3):
            number = (3 * client + turn) % len(documents)
            body = json.dumps({"documents": [documents[number]]}).encode()
            status, content = request(port, "POST", "/v1/keyphrases", body)
            case.add(status, content)
            if status == 200:
                (document,) = json.loads(content)["documents"]
                if [
                    (keyphrase["text"], keyphrase["spans"]) for keyphrase in document["keyphrases"]
                ] != expected[number]:
                    raise SystemExit("error: a client got another answer than the library's")

    with ThreadPoolExecutor(200) as clients:
        list(clients.map(ask, range(200)))


PARTS = {"kills": kills, "texts": texts, "folders": folders, "server": overrun}


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all"
    )
    parser.add_argument("--kills", type=int, default=96, help="of all commands together")
    parser.add_argument("--texts", type=int, default=2_000, help="for each model")
    parser.add_argument("--model", default="light", help="of the server")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.parts or PARTS:
        if name not in PARTS:
            parser.error(f"part {name}; expected one of {', '.join(PARTS)}")
        begun = time.monotonic()
        PARTS[name](options)
        print(f"{name}: {time.monotonic() - begun:.0f} s\n", flush=True)


if __name__ == "__main__":
    main()
