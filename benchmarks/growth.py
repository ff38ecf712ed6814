"""The cost of a document, by the number of documents and by the length of a text.

    python benchmarks/growth.py DOCUMENTS [--models light default] [--picture FILE]

Milliseconds of CPU time on one thread. The first plot is the time per document of a stream; if
there are too few documents, they are repeated, each time with another first word. The second is the
time per kB of one text, concatenated from different documents. Both are horizontal if the cost is
linear. A model stops before a point that would take longer than --seconds.
"""

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.keyphrases.generator import KeyphraseGenerator

_COUNTS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
_KILOBYTES = (1, 4, 16, 64, 256, 1_000)
Points = list[tuple[int, float]]


def stream_cost(
    generator: KeyphraseGenerator, documents: Sequence[Document], limit: float
) -> Points:
    """(documents, ms of each)"""
    points: Points = []
    for count in _COUNTS:
        if points and count * points[-1][1] / 1e3 > limit:
            break
        begin = time.process_time()
        for _ in generator.stream(islice(_repeated(documents), count)):
            pass
        points.append((count, (time.process_time() - begin) / count * 1e3))
        print(f"  {count:,} documents: {points[-1][1]:.2f} ms each", flush=True)
    return points


def length_cost(
    generator: KeyphraseGenerator, documents: Sequence[Document], limit: float
) -> Points:
    """(kB of a text, ms of each kB)"""
    every = "\n".join(document.text for document in documents)
    every *= 1 + 1_000_000 // len(every)
    points: Points = []
    for size in _KILOBYTES:
        if points and size * points[-1][1] / 1e3 > limit:
            break
        times = 3 if size < 64 else 1
        begin = time.process_time()
        for number in range(times):
            generator.generate(every[number : number + 1000 * size])
        points.append((size, (time.process_time() - begin) / times / size * 1e3))
        print(f"  {size:,} kB: {points[-1][1]:.2f} ms a kB", flush=True)
    return points


def _repeated(documents: Sequence[Document]) -> Iterator[Document]:
    for number, document in enumerate(cycle(documents)):
        turn = number // len(documents)
        if turn:
            document = replace(document, abstract=f"turn{turn} {document.abstract}")
        yield document


def draw(result: dict[str, tuple[Points, Points]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    labels = (("documents in the stream", "ms a document"), ("kB of one text", "ms a kB"))
    for side, (x, y) in enumerate(labels):
        axes = figure.add_subplot(1, 2, side + 1)
        for name, points in result.items():
            axes.plot(*zip(*points[side], strict=True), marker="o", label=name)
        axes.set(xlabel=x, ylabel=y, xscale="log", ylim=(0, None))
        axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("documents")
    parser.add_argument("--models", nargs="+", default=["light", "default"])
    parser.add_argument("--seconds", type=float, default=600.0, help="of the longest point")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    documents = list(read(options.documents))
    result = {}
    for model in options.models:
        print(model)
        generator = KeyphraseGenerator(model, threads=1)
        generator.generate(documents[0].text)
        costs = (cost(generator, documents, options.seconds) for cost in (stream_cost, length_cost))
        stream, length = costs
        result[model] = stream, length
    if options.picture is not None:
        draw(result, options.picture)


if __name__ == "__main__":
    main()
