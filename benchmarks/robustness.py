"""Check that no input crashes the generator, hangs it or exhausts the memory.

    python benchmarks/robustness.py [--model FOLDER] [--inputs 10000] [--seed 0]

1. Texts of random characters, mostly unusual ones.
2. The documents of the sample, truncated, repeated, mixed, joined, and with unusual characters.
3. Files of random bytes under any name, and damaged files of every format. They may be refused with
   an error for the user.

Keyphrases must be sound: scores between 0 and 1 in descending order, spans within the text, no
duplicates. The run fails if they are not, if anything but a user error is raised, if an input takes
longer than --seconds (plus one for every 50,000 characters), or if memory has grown by more than
--megabytes since a tenth of the inputs.
"""

import gzip
import random
import resource
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
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


def make_random_text(generator: random.Random) -> str:
    """Characters of a few kinds."""
    kinds = generator.sample(RANGES, generator.randint(1, len(RANGES)))
    length = int(generator.paretovariate(0.6)) % 4000
    return "".join(chr(generator.randint(*generator.choice(kinds))) for _ in range(length))


def mutate_text(generator: random.Random, texts: list[str]) -> str:
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


def write_random_file(
    generator: random.Random, folder: Path, texts: list[str], sample: bytes
) -> Path:
    """Write a file of random bytes, of text in some encoding, or of the damaged sample."""
    match generator.randrange(4):
        case 0:
            data = generator.randbytes(generator.randrange(2000))
        case 1:
            encoding = generator.choice(["utf-8", "utf-16", "latin-1", "utf-32"])
            data = mutate_text(generator, texts).encode(encoding, "replace")
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


def check(keyphrases: list[Keyphrase], text: str) -> None:
    """Assert that keyphrases are sound."""
    assert all(a.score >= b.score for a, b in pairwise(keyphrases)), "order"
    assert all(0 <= keyphrase.score <= 1 for keyphrase in keyphrases), "score"
    assert len({keyphrase.text for keyphrase in keyphrases}) == len(keyphrases), "twice"
    for keyphrase in keyphrases:
        assert keyphrase.text, "empty"
        assert keyphrase.text == keyphrase.text.strip(), "white space"
        assert keyphrase.present == bool(keyphrase.spans), "present"
        assert all(0 <= start < end <= len(text) for start, end in keyphrase.spans), "spans"


def get_peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Trial:
    """Runs the generator on inputs, and counts them."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.generator = KeyphraseGenerator(options.model)
        self.done = self.refused = self.characters = self.keyphrases = 0
        self.slowest, self.settled = 0.0, 0.0

    def document(self, document: Document, selection: Selection) -> None:
        start = time.perf_counter()
        ((_, result),) = self.generator.stream_selected([document], selection)
        seconds = time.perf_counter() - start
        check(result, document.text)
        self.slowest = max(self.slowest, seconds)
        self.keyphrases += len(result)
        self.characters += len(document.text)
        allowed = self.options.seconds + len(document.text) / 50_000
        assert seconds < allowed, f"{seconds:.1f} s for {len(document.text):,} characters"

    def file(self, path: Path, selection: Selection) -> None:
        try:
            for document in read(path):
                self.document(document, selection)
        except One2SetError:
            self.refused += 1

    def note(self) -> None:
        """Count an input, and check the memory."""
        self.done += 1
        if self.done == self.options.inputs // 10:
            self.settled = get_peak_megabytes()
        if self.settled and get_peak_megabytes() > self.settled + self.options.megabytes:
            raise SystemExit(
                f"error: memory grew from {self.settled:.0f} to {get_peak_megabytes():.0f} MB"
            )


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default=DEFAULT)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5.0, help="maximum for an input")
    parser.add_argument("--megabytes", type=float, default=200.0, help="maximum growth of memory")
    options = parser.parse_args()
    sample = (files("one2set.data") / "sample" / "documents.jsonl").read_bytes()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sample.jsonl").write_bytes(sample)
        texts = [document.text for document in read(folder / "sample.jsonl")]
        trial, start = Trial(options), time.perf_counter()
        for number in range(options.inputs):
            generator = random.Random(f"{options.seed}-{number}")
            selection = Selection(more=generator.choice([-3.0, 0.0, 0.0, 3.0, 50.0]))
            try:
                match number % 3:
                    case 0:
                        trial.document(document_from_text(make_random_text(generator)), selection)
                    case 1:
                        trial.document(document_from_text(mutate_text(generator, texts)), selection)
                    case _:
                        trial.file(write_random_file(generator, folder, texts, sample), selection)
            except Exception:
                print(f"input {number} of --seed {options.seed}", file=sys.stderr)
                raise
            trial.note()
        seconds = time.perf_counter() - start
    print(
        f"{trial.done:,} inputs, {trial.characters:,} characters, {trial.keyphrases:,} keyphrases; "
        f"{trial.refused:,} files refused\n"
        f"{seconds:.0f} s, {trial.slowest:.2f} s for the slowest input\n"
        f"{trial.settled:.0f} MB after a tenth of them, {get_peak_megabytes():.0f} MB at the end"
    )


if __name__ == "__main__":
    main()
