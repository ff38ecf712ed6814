"""Add keywords to the entries of a BibTeX file that have an abstract but no keywords.

python examples/bibtex_keywords.py library.bib > tagged.bib
"""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from one2set import KeyphraseGenerator


def entries(text: str) -> Iterator[str]:
    """The text in pieces: entries, `@…{…}`, and what stands between them."""
    start = 0
    for match in re.finditer(r"@\w+\s*\{", text):
        if match.start() < start:  # an @ inside an entry
            continue
        yield text[start : match.start()]
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield text[match.start() : end]
        start = end
    yield text[start:]


def field(entry: str, name: str) -> str:
    """The value of a field in braces or quotes, without TeX's braces; "" where there is none."""
    if not (match := re.search(rf'\b{name}\s*=\s*([{{"])', entry, re.IGNORECASE)):
        return ""
    depth, end, close = 0, match.end(), "}" if match[1] == "{" else '"'
    while end < len(entry) and (depth or entry[end] != close):
        depth += {"{": 1, "}": -1}.get(entry[end], 0)
        end += 1
    return " ".join(re.sub(r"[{}]", "", entry[match.end() : end]).split())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--top", type=int, default=6)
    arguments.add_argument("--model", default="default")
    given = arguments.parse_args()
    pieces = list(entries(given.file.read_text(encoding="utf-8")))
    tagged = [re.search(r"\bkeywords\s*=", entry, re.IGNORECASE) for entry in pieces]
    chosen = [n for n, e in enumerate(pieces) if field(e, "abstract") and not tagged[n]]
    texts = [f"{field(pieces[n], 'title')}\n{field(pieces[n], 'abstract')}" for n in chosen]
    found = KeyphraseGenerator(given.model).generate(texts, top=given.top)
    for n, keyphrases in zip(chosen, found, strict=True):
        keywords = ", ".join(keyphrase.text for keyphrase in keyphrases)
        pieces[n] = f"{pieces[n][:-1].rstrip().rstrip(',')},\n  keywords = {{{keywords}}}\n}}"
    print("".join(pieces), end="")


if __name__ == "__main__":
    main()
