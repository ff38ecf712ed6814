"""What every format of documents has in common: blocks of text, and how they become one text.

A format yields headings and paragraphs in reading order. Here what is not prose is left out:
addresses, what stands before an abstract (authors, affiliations), and the list of references.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

_NUMBER = r"(?:[\dIVX]{1,4}(?:\.\d+)*\.?\s+)?"
_REFERENCES = re.compile(
    rf"{_NUMBER}(?:references|bibliography|works cited|literature(?: cited)?)(?: and notes)?\s*:?",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2})*\.?\s+[A-Z][^.;,]{2,60}")
_AFTER_REFERENCES = re.compile(r"(?:appendi(?:x|ces)|supplement)", re.IGNORECASE)
_ABSTRACT = re.compile(rf"{_NUMBER}abstract\s*(?:[.:—–-]\s*|$)", re.IGNORECASE)
_FRONT_WORDS = 300  # before an abstract: authors and affiliations, not a chapter
_ADDRESS = re.compile(
    r"(?:(?:https?|ftp)://|www\.|doi:\s?10\.)[^\s<>()\[\]]*[^\s<>()\[\].,;:]"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}",
    re.IGNORECASE,
)
_BRACKETS_LEFT = re.compile(r"\(\s*\)|\[\s*\]|<\s*>")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\xad": ""}
    | {"\uf001": "fi", "\uf002": "fl"}  # the places that Times New Roman and others have for them
)
_LONE_LIGATURE = re.compile("(?<=\\w) ([ﬀ-ﬄ]) (?=\\w)")  # of another font than its word
_SPACE = re.compile(r"[\s\x00-\x1f\x7f]+")
# The end of a line within a block, such as <br>. Readers write it, `compose` splits blocks there,
# unless a sentence goes on: two of them always end it.
LINE_BREAK = "\u2028"
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s|$)")
_LINE_END = re.compile(r"[.!?…:;][\"'”’)\]]*$")
_FEWEST_WORDS = 3  # of a line of prose; those of a list are often shorter
_HYPHENS = "-\xad\u2010"
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Block(NamedTuple):
    """A heading or a paragraph."""

    text: str
    heading: bool = False


@dataclass(frozen=True, slots=True)
class Extract:
    """The output of a format's reader. `abstract` is set if it is separate from the blocks.
    `between` separates blocks. No phrase goes on after a blank line; where blocks are guessed, one
    line end leaves that open."""

    title: str
    blocks: Sequence[Block]
    abstract: str = ""
    between: str = "\n\n"


def compose(extract: Extract) -> tuple[str, str]:
    """Make one title, in one line, and one text, with a blank line between blocks."""
    title = clean(extract.title)
    blocks = [Block(text, block.heading) for block in extract.blocks for text in _split(block)]
    blocks = _without_title([block for block in blocks if block.text], title)
    lines = [block.text for block in _without_references(_without_front_matter(blocks))]
    abstract = clean(extract.abstract)
    if _letters(abstract) not in _letters(" ".join(lines)):
        lines.insert(0, abstract)
    return title, extract.between.join(lines)


def _split(block: Block) -> list[str]:
    """Split a block at its line breaks, except those by which somebody wrapped a sentence.

    There, the next line begins with a small letter, and the line before is no end of a sentence.
    Lists of terms and verses may look like that, too, so a sentence must end further on, and the
    line before must have some words; headings are no lists. A break before a capital stays an end,
    although the sentence may go on with a name: lines of addresses and lists begin so.
    """
    texts: list[list[str]] = []  # of each text, the lines; both from the last to the first
    following, has_end = "", False
    for line in map(clean, reversed(block.text.split(LINE_BREAK))):
        is_prose = block.heading or (has_end and len(line.split()) >= _FEWEST_WORDS)
        if is_prose and following[:1].islower() and line and not _LINE_END.search(line):
            texts[-1].append(line)
        else:
            texts.append([line])
            has_end = False
        following, has_end = line, has_end or _SENTENCE_END.search(line) is not None
    return [" ".join(reversed(lines)) for lines in reversed(texts)]


def clean(text: str) -> str:
    """One line without addresses, soft hyphens, ligatures, control characters and half
    surrogates."""
    text = _LONE_LIGATURE.sub(r"\1", text).translate(_LIGATURES)
    text = _ADDRESS.sub("", text)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _SPACE.sub(" ", _BRACKETS_LEFT.sub("", text)).strip()


def is_references(text: str) -> bool:
    """Whether this is the heading of a list of references."""
    return _REFERENCES.fullmatch(text.strip()) is not None


def is_section(text: str) -> bool:
    """Whether a line alone is a heading that matters here, in formats that do not mark headings."""
    text = text.strip()
    return (
        is_references(text)
        or (len(text) < 80 and _AFTER_REFERENCES.match(text) is not None)
        or (len(text) < 20 and _ABSTRACT.match(text) is not None)
    )


def join_lines(lines: Iterable[str], known: set[str]) -> str:
    """Join the lines of a paragraph and undo hyphenation: `key-` and `phrase` become one word,
    unless `known`, the words of the document, has them with a hyphen only."""
    parts: list[str] = []
    for line in map(str.strip, lines):
        last = parts[-1] if parts else ""
        if last[-1:] and last[-1] in _HYPHENS and last[-2:-1].isalpha() and line[:1].islower():
            parts[-1] = last[:-1] + _hyphen_between(last[:-1], line, known)
            parts.append(line)
        else:
            parts += [" ", line] if parts else [line]
    return "".join(parts)


def _hyphen_between(before: str, after: str, known: set[str]) -> str:
    """The hyphen of a compound, or nothing."""
    first, second = _last_word(before), _first_word(after)
    compound, whole = f"{first}-{second}".lower(), f"{first}{second}".lower()
    return "-" if compound in known and whole not in known else ""


def words_with_hyphens(lines: Sequence[str]) -> set[str]:
    """The words within lines, with their hyphens, for `join_lines`."""
    return {word.lower() for line in lines for word in _WORD.findall(line)}


def _last_word(text: str) -> str:
    return text.rsplit(maxsplit=1)[-1].lstrip("([{\"'“‘")


def _first_word(line: str) -> str:
    match = _WORD.match(line)
    return match.group() if match else ""


def _letters(text: str) -> str:
    """A text without case, spaces and marks, to compare by."""
    return "".join(filter(str.isalnum, text.lower()))


def _without_title(blocks: list[Block], title: str) -> list[Block]:
    """Leave out a repetition of the title at the beginning, on one line or several."""
    title_letters = _letters(title)
    for start in range(min(len(blocks), 8) if title_letters else 0):
        letters = ""
        for end in range(start, min(start + 6, len(blocks))):
            letters += _letters(blocks[end].text)
            if letters == title_letters:
                return blocks[:start] + blocks[end + 1 :]
    return blocks


def _without_front_matter(blocks: list[Block]) -> list[Block]:
    """Begin with the abstract, if there is one near the beginning."""
    words = 0
    for number, block in enumerate(blocks):
        if match := _ABSTRACT.match(block.text):
            rest = block.text[match.end() :]
            return ([Block(rest)] if rest else []) + blocks[number + 1 :]
        words += len(block.text.split())
        if words > _FRONT_WORDS:
            break
    return blocks


def _without_references(blocks: Sequence[Block]) -> Iterator[Block]:
    """Leave out references, up to the next heading or the end."""
    inside = False
    for block in blocks:
        if is_references(block.text):
            inside = True
        elif block.heading or (inside and is_section(block.text)):
            inside = False
        if not inside:
            yield block


def paragraphs(lines: Sequence[str]) -> Iterator[Block]:
    """Group the lines of a page into paragraphs, where only line ends are known: a line that is
    short, and ends a sentence or is followed by a capital, ends its paragraph."""
    typical = sorted(map(len, lines))[len(lines) * 3 // 4] if lines else 0
    known = words_with_hyphens(lines)
    current: list[str] = []
    for line, following in pairwise([*lines, ""]):
        if is_section(line) or _NUMBERED.fullmatch(line):
            if current:
                yield Block(join_lines(current, known))
            yield Block(line, heading=is_section(line))  # a reference may be numbered, too
            current = []
            continue
        current.append(line)
        end = line.rstrip()[-1:]
        is_short = len(line) < 0.85 * typical
        if is_short and (end in ".!?:" or (len(line) < 0.6 * typical and following[:1].isupper())):
            yield Block(join_lines(current, known))
            current = []
    if current:
        yield Block(join_lines(current, known))
