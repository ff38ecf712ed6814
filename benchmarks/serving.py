"""What a server makes of many clients, against the library's own batches in the same run.

    python benchmarks/serving.py [--model FOLDER] [--clients 1,4,16,64] [--documents 64] [--turns 4]

1. Load: so many clients on loopback, each sending one document after another, then two that send
   32 at a time. Documents a second and times of requests, beside the library's `generate` of the
   same documents: all at once, and as many at once as clients have sent, which is all that a server
   can put together. Sides take turns within every round: whatever else the machine does slows all.
2. Overload: 64 clients against a queue of 8. Every request must be answered, with 200 or with 429
   and Retry-After; who is sent away comes again in a quarter of a second, which is too soon.

Every client compares its answers with the library's, word for word; a difference ends the run with
an error. "processor" compares the processor time that documents take the library, as many at once,
with that of the server's process: on a busy machine it says more than the clock. Clients have their
own process.
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

_TOO_SOON = 0.25  # seconds
Answer = list[tuple[str, list[list[int]]]]


@dataclass
class Texts:
    """Texts, and what the library finds in them."""

    texts: list[str]
    answers: list[Answer]

    def pick(self, generator: random.Random, count: int) -> list[int]:
        return generator.choices(range(len(self.texts)), k=count)

    def check(self, numbers: Sequence[int], body: bytes) -> None:
        found = [
            [(one["text"], one["spans"]) for one in document["keyphrases"]]
            for document in json.loads(body)["documents"]
        ]
        if found != [self.answers[number] for number in numbers]:
            raise SystemExit("error: a client got another answer than the library's")


@dataclass
class Round:
    """What clients have met."""

    seconds: list[float] = field(default_factory=list)  # of each request that was answered with 200
    statuses: Counter[int] = field(default_factory=Counter)
    answers: list[tuple[list[int], bytes]] = field(default_factory=list)
    without_retry: int = 0


class Client:
    """One connection, kept open. HTTP by hand, because clients must not be what takes the time."""

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


async def visit(
    port: int, texts: Texts, numbers: Sequence[int], clients: int, size: int = 1
) -> Round:
    """Clients take turns at sending these texts, `size` at a time."""
    met = Round()
    requests = iter([list(numbers[n : n + size]) for n in range(0, len(numbers), size)])

    async def client() -> None:
        async with Client(port) as connection:
            for chosen in requests:
                body = json.dumps({"documents": [texts.texts[n] for n in chosen]}).encode()
                start = time.perf_counter()
                status, headers, content = await connection.post(body)
                met.statuses[status] += 1
                if status == 200:
                    met.seconds.append(time.perf_counter() - start)
                    met.answers.append((chosen, content))
                else:
                    met.without_retry += "retry-after" not in headers
                    await asyncio.sleep(_TOO_SOON)

    await asyncio.gather(*(client() for _ in range(clients)))
    for chosen, content in met.answers:
        texts.check(chosen, content)
    if sum(met.statuses.values()) != -(-len(numbers) // size):
        raise SystemExit("error: a request was lost")
    return met


@contextmanager
def server(options: Namespace, *more: str) -> Iterator[tuple[int, int]]:
    """Its process and its port."""
    command = [sys.executable, "-m", "one2set", "serve", "--port", "0", "--model", options.model]
    command += ["--threads", str(options.threads), *more]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    try:
        found = re.search(r"http://\S+:(\d+)", line)
        if not found:
            raise SystemExit(line + process.stderr.read())
        yield process.pid, int(found[1])
    finally:
        process.terminate()
        process.wait()


def processor_seconds(process: int) -> float:
    """Of a process, since it began (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / sysconf("SC_CLK_TCK")


def comparable(found: Sequence[Keyphrase]) -> Answer:
    return [(one.text, [list(span) for span in one.spans]) for one in found]


def milliseconds(seconds: Sequence[float]) -> str:
    cuts = quantiles(seconds, n=100, method="inclusive")
    return "  ".join(f"{1e3 * cuts[cut - 1]:7.0f}" for cut in (50, 95, 99))


@dataclass
class Work:
    """Seconds of the clock and of the processor, of one side."""

    clock: float = 0.0
    processor: float = 0.0

    @contextmanager
    def of(self, process: int) -> Iterator[None]:
        """Add what is done in this block."""
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
                    met = asyncio.run(visit(port, texts, numbers, clients, size))
                seconds += met.seconds
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
        met = asyncio.run(visit(port, texts, numbers, 64))
    if met.without_retry or met.statuses.keys() - {200, 429}:
        raise SystemExit(f"error: answered {dict(met.statuses)}")
    print(
        f"overload, 64 clients and a queue of 8: {met.statuses[200]} answered as by the library, "
        f"{met.statuses[429]} told to come again, none lost; p50, p95, p99 of those answered "
        f"{milliseconds(met.seconds)} ms"
    )


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default="default")
    parser.add_argument("--clients", default="1,4,16,64", help="rounds of so many clients")
    parser.add_argument("--documents", type=int, default=64, help="of every turn")
    parser.add_argument("--turns", type=int, default=4, help="of each side, in every round")
    parser.add_argument("--threads", type=int, default=0, help="of server and library; 0 for all")
    options = parser.parse_args()
    generator = KeyphraseGenerator(options.model, threads=options.threads)
    sample = list(read(str(files("one2set.data") / "sample" / "documents.jsonl")))
    documents = [document.text for document in sample]
    texts = Texts(documents, list(map(comparable, generator.generate(documents))))
    load(generator, texts, options)
    overload(texts, options)


if __name__ == "__main__":
    main()
