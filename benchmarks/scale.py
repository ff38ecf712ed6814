"""Documents per second and core: several processes against several threads.

    python benchmarks/scale.py MODEL DOCUMENTS [--documents 512] [--workers 2]

Times are CPU time, so that other work on the machine matters little. Threads wait for one another,
and Python code uses only one of them; the loss shows as fewer documents per second. The first line
is the speed of the reader alone.
"""

import resource
import time
from argparse import ArgumentParser
from collections.abc import Callable
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.keyphrases.generator import KeyphraseGenerator


def generate(model: Path, documents: list[Document], threads: int) -> None:
    generator = KeyphraseGenerator(model, threads=threads)
    next(generator.stream(documents[:1]))
    started = time.process_time()
    count = sum(1 for _ in generator.stream(documents))
    seconds = time.process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{threads} threads: {count / seconds:,.1f} documents/s per core, {memory:,.0f} MB")


def run_in_processes(target: Callable[..., None], count: int, *arguments: object) -> None:
    started = [get_context("spawn").Process(target=target, args=arguments) for _ in range(count)]
    for process in started:
        process.start()
    for process in started:
        process.join()


def main() -> None:
    arguments = ArgumentParser(description=__doc__)
    arguments.add_argument("model", type=Path)
    arguments.add_argument("inputs")
    arguments.add_argument("--documents", type=int, default=512)
    arguments.add_argument("--workers", type=int, default=2)
    given = arguments.parse_args()
    started = time.process_time()
    documents = list(islice(read(given.inputs), given.documents))
    seconds = time.process_time() - started
    words = sum(len(document.words()) for document in documents) / len(documents)
    print(f"reading: {len(documents) / seconds:,.0f} documents/s of {words:.0f} words")
    print(f"one process with {given.workers} threads")
    run_in_processes(generate, 1, given.model, documents, given.workers)
    print(f"{given.workers} processes with one thread each")
    run_in_processes(generate, given.workers, given.model, documents, 1)


if __name__ == "__main__":
    main()
