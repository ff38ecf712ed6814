"""Throughput and latency of the server, against the library on the same documents.

    python benchmarks/serving.py [--model FOLDER] [--clients 1,4,16,64] [--documents 64] [--turns 4]

1. Load: clients on loopback, each sending one document after another, then two clients that send
   32 at a time. Measures documents per second and latencies, and the rate of the library on the
   same documents: in one call, and in calls of the size that the server can batch. Server and
   library alternate within every round, so that other work on the machine slows both.
2. Overload: 64 clients against a queue of 8. Every request must be answered, with 200 or with 429
   and Retry-After; rejected clients retry too early, after a quarter of a second.

Every client compares its answers with those of the library; a difference fails the run. "processor"
compares the CPU time of the library, in calls of equal size, with that of the server process. On a
busy machine it says more than the clock. Clients have their own process.
"""

import asyncio
import json
import random
import re
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from os import getpid, sysconf
from pathlib import Path
from statistics import quantiles

from one2set import Keyphrase, KeyphraseGenerator, read

_RETRY_SECONDS = 0.25
Answer = list[tuple[str, list[list[int]]]]


@dataclass
class Texts:
    """Texts, and the keyphrases that the library finds in them."""

    texts: list[str]
    answers: list[Answer]

    def pick(self, generator: random.Random, count: int) -> list[int]:
        return generator.choices(range(len(self.texts)), k=count)

    def check(self, numbers: Sequence[int], body: bytes) -> None:
        result = [
            [(keyphrase["text"], keyphrase["spans"]) for keyphrase in document["keyphrases"]]
            for document in json.loads(body)["documents"]
        ]
        if result != [self.answers[number] for number in numbers]:
            raise SystemExit("error: an answer differs from that of the library")


@dataclass
class Round:
    """The results of a round."""

    seconds: list[float] = field(default_factory=list)  # of each request that was answered with 200
    statuses: Counter[int] = field(default_factory=Counter)
    answers: list[tuple[list[int], bytes]] = field(default_factory=list)
    without_retry: int = 0


class Client:
    """One persistent connection. HTTP is written by hand, so that clients take little time."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> "Client":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def post(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        head = (
            "POST /v1/keyphrases HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        content = await self._reader.readexactly(int(headers["content-length"]))
        return int(first.split()[1]), headers, content


async def run_clients(
    port: int, texts: Texts, numbers: Sequence[int], clients: int, size: int = 1
) -> Round:
    """Send texts from several clients, `size` at a time."""
    round_ = Round()
    requests = iter([list(numbers[n : n + size]) for n in range(0, len(numbers), size)])

    async def client() -> None:
        async with Client(port) as connection:
            for chosen in requests:
                body = json.dumps({"documents": [texts.texts[n] for n in chosen]}).encode()
                start = time.perf_counter()
                status, headers, content = await connection.post(body)
                round_.statuses[status] += 1
                if status == 200:
                    round_.seconds.append(time.perf_counter() - start)
                    round_.answers.append((chosen, content))
                else:
                    round_.without_retry += "retry-after" not in headers
                    await asyncio.sleep(_RETRY_SECONDS)

    await asyncio.gather(*(client() for _ in range(clients)))
    for chosen, content in round_.answers:
        texts.check(chosen, content)
    if sum(round_.statuses.values()) != -(-len(numbers) // size):
        raise SystemExit("error: a request was lost")
    return round_


@contextmanager
def server(options: Namespace, *more: str) -> Iterator[tuple[int, int]]:
    """Run a server within the block. Yields its process id and port."""
    command = [sys.executable, "-m", "one2set", "serve", "--port", "0", "--model", options.model]
    command += ["--threads", str(options.threads), *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    try:
        result = re.search(r"http://\S+:(\d+)", line)
        if not result:
            raise SystemExit(line + process.stderr.read())
        yield process.pid, int(result[1])
    finally:
        process.terminate()
        process.wait()


def processor_seconds(process: int) -> float:
    """The CPU time of a process since its start (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / sysconf("SC_CLK_TCK")


def comparable(keyphrases: Sequence[Keyphrase]) -> Answer:
    return [(keyphrase.text, [list(span) for span in keyphrase.spans]) for keyphrase in keyphrases]


def milliseconds(seconds: Sequence[float]) -> str:
    cuts = quantiles(seconds, n=100, method="inclusive")
    return "  ".join(f"{1e3 * cuts[cut - 1]:7.0f}" for cut in (50, 95, 99))


@dataclass
class Work:
    """Wall and CPU seconds."""

    clock: float = 0.0
    processor: float = 0.0

    @contextmanager
    def of(self, process: int) -> Iterator[None]:
        """Add the time of the block."""
        start, begun = time.perf_counter(), processor_seconds(process)
        yield
        self.clock += time.perf_counter() - start
        self.processor += processor_seconds(process) - begun


def load(generator: KeyphraseGenerator, texts: Texts, options: Namespace) -> None:
    def library(numbers: Sequence[int], at_once: int) -> None:
        for n in range(0, len(numbers), at_once):
            generator.generate([texts.texts[number] for number in numbers[n : n + at_once]])

    plan = [(int(clients), 1) for clients in options.clients.split(",")] + [(2, 32)]
    choice, documents = random.Random(0), options.documents * options.turns
    print(
        "clients × documents  documents/s  of all at once  of as many at once  processor  "
        "p50 ms   p95 ms   p99 ms"
    )
    with server(options) as (process, port):
        for clients, size in plan:
            whole, alike, ours, seconds = Work(), Work(), Work(), list[float]()
            for _ in range(options.turns):
                numbers = texts.pick(choice, options.documents)
                with whole.of(getpid()):
                    library(numbers, options.documents)
                with alike.of(getpid()):
                    library(numbers, clients * size)
                with ours.of(process):
                    round_ = asyncio.run(run_clients(port, texts, numbers, clients, size))
                seconds += round_.seconds
            print(
                f"{clients:7} × {size:<9}  {documents / ours.clock:11.1f}  "
                f"{whole.clock / ours.clock:14.0%}  {alike.clock / ours.clock:18.0%}  "
                f"{alike.processor / ours.processor:9.0%}  {milliseconds(seconds)}"
            )
    print(
        f"the library, all at once: {documents / whole.clock:.1f} documents/s, "
        f"{1e3 * whole.processor / documents:.1f} ms of processor each\n"
    )


def overload(texts: Texts, options: Namespace) -> None:
    with server(options, "--queue", "8", "--max-documents", "4") as (_, port):
        numbers = texts.pick(random.Random(0), options.documents * options.turns * 2)
        round_ = asyncio.run(run_clients(port, texts, numbers, 64))
    if round_.without_retry or round_.statuses.keys() - {200, 429}:
        raise SystemExit(f"error: answered {dict(round_.statuses)}")
    print(
        f"overload, 64 clients and a queue of 8: {round_.statuses[200]} equal answers, "
        f"{round_.statuses[429]} rejected, none lost; p50, p95, p99 of those answered "
        f"{milliseconds(round_.seconds)} ms"
    )


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default="default")
    parser.add_argument("--clients", default="1,4,16,64", help="number of clients of each round")
    parser.add_argument("--documents", type=int, default=64, help="documents per turn")
    parser.add_argument(
        "--turns", type=int, default=4, help="turns of server and library in each round"
    )
    parser.add_argument(
        "--threads", type=int, default=0, help="threads of server and library; 0 for all cores"
    )
    options = parser.parse_args()
    generator = KeyphraseGenerator(options.model, threads=options.threads)
    sample = list(read(str(files("one2set.data") / "sample" / "documents.jsonl")))
    documents = [document.text for document in sample]
    texts = Texts(documents, list(map(comparable, generator.generate(documents))))
    load(generator, texts, options)
    overload(texts, options)


if __name__ == "__main__":
    main()
