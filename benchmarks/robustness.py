"""Whether anything that a user can pass crashes, hangs or eats the memory.

    python benchmarks/robustness.py [--model FOLDER] [--inputs 10000] [--seed 0]

1. Texts of any characters, odd ones preferred.
2. The sample's documents, cut, repeated, mixed, glued together and sprinkled with odd characters.
3. Files of any bytes under any name, and damaged ones of every format. They may be refused, by an
   error that the user is told.

Keyphrases must be sound: scores between 0 and 1 that fall, spans within the text, every phrase
once. The run ends with an error where one is not, where anything but a user's error is raised,
where an input takes longer than --seconds (and one more for every 50,000 characters), or where
memory has grown by more than --megabytes since a tenth of the inputs was done.
"""

import gzip
import random
import resource
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.data.reading.records import document_from_text
from one2set.errors import One2SetError
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.results import Keyphrase
from one2set.keyphrases.selection import Selection
from one2set.model.paths import DEFAULT

RANGES = [(0, 0x7F), (0x80, 0x24F), (0x250, 0xFFFF), (0x10000, 0x10FFFF), (0xD800, 0xDFFF)]
ODD = [
    *("", " ", "\n", "\r\n", "\t", "\0", "\x1b[31m", "\ufeff", "\u200b", "\u202e", "\u0301" * 40),
    *(
        "<digit>",
        "<unk>",
        "<eos>",
        "<null>",
        "<b>",
        "%s",
        "{}",
        "[red]",
        "\\",
        "$(ls)",
        "½",
        "ﬁ",
        "İ",
    ),
    *("👩‍👩‍👧‍👦", "한글", "中文", "हिन्दी", "שלום", "a" * 3000, "1" * 3000, "." * 500, ", " * 300),
]
NAMES = ["a", "a.txt", "a.md", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.gz", "a_src.txt", "a.pdf"]


def any_text(generator: random.Random) -> str:
    """Characters of a few kinds."""
    kinds = generator.sample(RANGES, generator.randint(1, len(RANGES)))
    length = int(generator.paretovariate(0.6)) % 4000
    return "".join(chr(generator.randint(*generator.choice(kinds))) for _ in range(length))


def mutated(generator: random.Random, texts: list[str]) -> str:
    """Parts of real texts, and odd things between them."""
    parts = []
    for _ in range(generator.randint(1, 6)):
        text = generator.choice(texts)
        start = generator.randrange(len(text))
        part = text[start : start + int(generator.paretovariate(0.5) * 10) % 3000]
        parts += [generator.choice(CHANGES)(part), generator.choice(ODD)]
    return generator.choice(["", " ", "\n"]).join(parts)


def repeated(text: str) -> str:
    return text[:50] * 40


def shuffled(text: str) -> str:
    return " ".join(sorted(text.split(), key=lambda word: word[::-1]))


CHANGES: list[Callable[[str], str]] = [str, str.upper, str.swapcase, str.title, repeated, shuffled]


def any_file(generator: random.Random, folder: Path, texts: list[str], sample: bytes) -> Path:
    """Bytes: random ones, text in some encoding, or the sample, damaged."""
    match generator.randrange(4):
        case 0:
            data = generator.randbytes(generator.randrange(2000))
        case 1:
            encoding = generator.choice(["utf-8", "utf-16", "latin-1", "utf-32"])
            data = mutated(generator, texts).encode(encoding, "replace")
        case 2:
            data = sample[: generator.randrange(4000)]
        case _:
            data = gzip.compress(sample[: generator.randrange(4000)])
    for _ in range(generator.randrange(4)):
        if data:
            at = generator.randrange(len(data))
            data = data[:at] + generator.randbytes(generator.randrange(3)) + data[at + 1 :]
    path = folder / generator.choice(NAMES)
    path.write_bytes(data)
    return path


def check(found: list[Keyphrase], text: str) -> None:
    """That keyphrases are sound."""
    assert all(one.score >= other.score for one, other in pairwise(found)), "order"
    assert all(0 <= one.score <= 1 for one in found), "score"
    assert len({one.text for one in found}) == len(found), "twice"
    for one in found:
        assert one.text, "empty"
        assert one.text == one.text.strip(), "white space"
        assert one.present == bool(one.spans), "present"
        assert all(0 <= start < end <= len(text) for start, end in one.spans), "spans"


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Trial:
    """The inputs that were tried."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.generator = KeyphraseGenerator(options.model)
        self.done = self.refused = self.characters = self.keyphrases = 0
        self.slowest, self.settled = 0.0, 0.0

    def document(self, document: Document, wanted: Selection) -> None:
        start = time.perf_counter()
        ((_, found),) = self.generator.stream([document], **asdict(wanted))
        seconds = time.perf_counter() - start
        check(found, document.text)
        self.slowest = max(self.slowest, seconds)
        self.keyphrases += len(found)
        self.characters += len(document.text)
        allowed = self.options.seconds + len(document.text) / 50_000
        assert seconds < allowed, f"{seconds:.1f} s for {len(document.text):,} characters"

    def file(self, path: Path, wanted: Selection) -> None:
        try:
            for document in read(path):
                self.document(document, wanted)
        except One2SetError:
            self.refused += 1

    def note(self) -> None:
        """Count an input, and look at the memory."""
        self.done += 1
        if self.done == self.options.inputs // 10:
            self.settled = megabytes()
        if self.settled and megabytes() > self.settled + self.options.megabytes:
            raise SystemExit(f"error: memory grew from {self.settled:.0f} to {megabytes():.0f} MB")


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5.0, help="for an input")
    parser.add_argument("--megabytes", type=float, default=200.0, help="that memory may grow by")
    options = parser.parse_args()
    sample = (files("one2set.data") / "sample" / "documents.jsonl").read_bytes()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sample.jsonl").write_bytes(sample)
        texts = [document.text for document in read(folder / "sample.jsonl")]
        trial, start = Trial(options), time.perf_counter()
        for number in range(options.inputs):
            generator = random.Random(f"{options.seed}-{number}")
            wanted = Selection(more=generator.choice([-3.0, 0.0, 0.0, 3.0, 50.0]))
            try:
                match number % 3:
                    case 0:
                        trial.document(document_from_text(any_text(generator)), wanted)
                    case 1:
                        trial.document(document_from_text(mutated(generator, texts)), wanted)
                    case _:
                        trial.file(any_file(generator, folder, texts, sample), wanted)
            except Exception:
                print(f"input {number} of --seed {options.seed}", file=sys.stderr)
                raise
            trial.note()
        seconds = time.perf_counter() - start
    print(
        f"{trial.done:,} inputs, {trial.characters:,} characters, {trial.keyphrases:,} keyphrases; "
        f"{trial.refused:,} files refused\n"
        f"{seconds:.0f} s, {trial.slowest:.2f} s for the slowest input\n"
        f"{trial.settled:.0f} MB after a tenth of them, {megabytes():.0f} MB at the end"
    )


if __name__ == "__main__":
    main()
