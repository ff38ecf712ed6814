"""Files of reference managers and libraries: BibTeX, RIS, MEDLINE, and Web of Science's own.

An entry without an abstract is a document that has only a title.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from one2set.data.document import Document
from one2set.data.reading.records import Fields, parse_record
from one2set.data.reading.streams import ErrorPolicy, read_lines, read_text
from one2set.errors import DataError, missing_extra

Kind = Literal["bibtex", "tagged"]
EXTENSIONS: dict[str, Kind] = {".bib": "bibtex", ".ris": "tagged", ".nbib": "tagged"}
_BIBTEX_START = re.compile(r"(?:\s*%.*\n)*\s*@\w{1,40}\s*[{(]")
# What matters in `"a" # name # {b}`. After a backslash, a brace or quote is text.
_MARK = re.compile(r'(?<!\\)["{}]|#')
# Characters of a string, which others may repeat: `@string{b = a # a}`, `@string{c = b # b}`, …
_LONGEST_STRING = 1 << 16
# Commas by the manual of biblatex, semicolons by many programs, and some mix both. A comma between
# digits is part of a term: 1,2-dichloroethane.
_BETWEEN_KEYWORDS = re.compile(r";|(?<!\d),|,(?!\d)")
# Zotero exports abstracts with their tags. Those of blocks separate words, those of CO<sub>2</sub>
# do not.
_TAG = re.compile(
    r"</?(?:((?:jats:)?(?:p|title|sec)|br|div|li|[ou]l|h[1-6])|(?:jats:)?(?:italic|bold|su[bp])|"
    r"[biu]|em|strong|span|a)(?:\s[^<>=]*+=[^<>]*+|\s*+/?)>",
    re.IGNORECASE,
)
# `TI  - text` in RIS, `PMID- text` in MEDLINE, `TI text` in Web of Science's format.
_TAGGED_START = re.compile(r"\s*(?:TY  - |PMID- |FN (?:Clarivate|Thomson|ISI))")
_DASHED = re.compile(r"(?=.{4}-)([A-Z][A-Z0-9]{1,3}) *- ?(.*)")
# Of RIS, exactly. A line of an abstract may begin with `RISC-V` or `AIM - `.
_RIS = re.compile(r"([A-Z][A-Z0-9])  - ?(.*)")
_SPACED = re.compile(r"([A-Z][A-Z0-9]) (.*)|(E[RF])")
# By whether tags have a dash. MEDLINE has PT, too, in the middle of an entry.
_BEGINS = {True: ("TY", "PMID"), False: ("PT",)}  # the first tag of an entry
_IDS = {True: ("ID", "PMID", "AN", "DO"), False: ("UT",)}
_MEANINGS = {"title": ("TI", "T1"), "abstract": ("AB", "N2")}  # the first one that has text
_KEYPHRASES = ("KW", "OT", "DE")


def recognise_references(text: str) -> Kind | None:
    """Recognise such a file by its beginning."""
    if _TAGGED_START.match(text):
        return "tagged"
    return "bibtex" if _BIBTEX_START.match(text) else None


def read_bibtex(path: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    """Read the entries of a BibTeX file, their fields without LaTeX."""
    try:
        from bibtexparser.entrypoint import parse_string
        from bibtexparser.library import Library
        from bibtexparser.model import DuplicateBlockKeyBlock, DuplicateFieldKeyBlock
    except ImportError:
        raise missing_extra("bibtexparser", extra="documents", purpose="reading BibTeX") from None
    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # its faults are reported below
    library = Library()
    for block in parse_string(read_text(path, errors) or "", parse_stack=[]).blocks:
        # BibTeX reads an entry that repeats a field, and takes the first one.
        entry = block.ignore_error_block if isinstance(block, DuplicateFieldKeyBlock) else None
        library.add(entry or block, fail_on_duplicate_key=False)
    for block in library.failed_blocks:
        is_double = isinstance(block, DuplicateBlockKeyBlock)
        what = "repeats the key of another entry" if is_double else "is not a complete BibTeX entry"
        line = (block.start_line or 0) + 1
        errors.report(what, fix="correct the entry", path=path, line=line)
    strings: dict[str, str] = {}
    for string in library.strings:
        try:
            strings[string.key.lower()] = _join_parts(string.value, strings, _LONGEST_STRING)
        except DataError as error:
            line = (string.start_line or 0) + 1
            errors.report(f"a string {error.what}", fix=error.fix, path=path, line=line)
    for entry in library.entries:
        line = (entry.start_line or 0) + 1
        values: dict[str, Any] = {}
        try:
            for field in entry.fields:
                text = _without_latex(_join_parts(field.value, strings, errors.max_line))
                name, is_list = field.key.lower(), fields.know_keyphrases(field.key.lower())
                value = _split_keywords(text) if is_list else " ".join(text.split())
                values.setdefault(name, value)
        except DataError as error:
            errors.report(f"a field {error.what}", fix=error.fix, path=path, line=line)
            continue
        record = {"id": entry.key, "abstract": "", **values}
        yield from parse_record(record, fields=fields, errors=errors, path=path, line=line)


def _join_parts(value: str, strings: Mapping[str, str], limit: int) -> str:
    """The text of `"a" # name # {b}`. A name that no @string defines stays as it is, such as jan;
    so does what is not valid, such as `{a} {b}`."""
    parts, size = [], 0
    for part, is_enclosed in _split_parts(value):
        text = part[1:-1] if is_enclosed else strings.get(part.lower(), part)
        parts.append(text)
        size += len(text)
        if size > limit:
            what = f"has more than {limit:,} characters when its parts are joined"
            raise DataError(what, fix="shorten it")
    return "".join(parts)


def _split_parts(value: str) -> Iterator[tuple[str, bool]]:
    """The parts between the #, and whether one pair of braces or quotes encloses each."""
    depth, in_quotes, groups, start = 0, False, 0, 0
    for mark in _MARK.finditer(value):
        match mark[0]:
            case "{":
                depth += 1
            case "}":
                depth -= 1
            case '"' if depth == 0:  # within braces, a quote is text
                in_quotes = not in_quotes
            case "#" if depth == 0 and not in_quotes:
                yield _part(value[start : mark.start()], groups)
                groups, start = 0, mark.end()
        groups += mark[0] in '}"' and depth == 0 and not in_quotes
    yield _part(value[start:], groups)


def _part(text: str, groups: int) -> tuple[str, bool]:
    text = text.strip()
    return text, groups == 1 and (text[0] + text[-1]) in ("{}", '""')


def _split_keywords(text: str) -> list[str]:
    """Split at commas and semicolons, or at line ends where lines are keywords. EndNote writes one
    per line, and those of MEDLINE have commas: `Models, Statistical`. A list that was wrapped has
    commas at line ends, or in at least half of its lines."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    with_commas = sum(len(_BETWEEN_KEYWORDS.split(line)) > 1 for line in lines)
    is_wrapped = 2 * with_commas >= len(lines) or any(line.endswith(",") for line in lines)
    keywords = _BETWEEN_KEYWORDS.split(text) if ";" in text or is_wrapped else lines
    return [" ".join(keyword.split()) for keyword in keywords]


def _without_latex(value: str) -> str:
    """The text of a field without LaTeX and tags of HTML; if it is not valid LaTeX, as it is
    written, without braces."""
    from one2set.data.reading.document_formats.latex import to_text

    try:
        text = to_text(value)
    except DataError:
        text = value.replace("{", "").replace("}", "")
    return _TAG.sub(lambda match: " " if match[1] else "", text)


def read_tagged(path: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    """Read the entries of a file with a tag at the beginning of each line."""
    lines = ((number, line) for number, line in read_lines(path, errors) if line is not None)
    texts = {*_MEANINGS["title"], *_MEANINGS["abstract"]}
    texts.update(name.upper() for name in (*fields.title, *fields.abstract))
    keyphrases = {*_KEYPHRASES, *(name.strip().upper() for name in fields.keyphrases)}
    for number, entry, has_dashes in _entries(lines, keyphrases, path, errors):
        if texts.isdisjoint(entry):
            errors.report(
                f"has no title (TI or T1) and no abstract (AB or N2); it has {', '.join(entry)}",
                fix="add one, or name the field, for example --field abstract=N1",
                path=path,
                line=number,
            )
            continue
        record: dict[str, Any] = {
            tag: (";" if tag in keyphrases else " ").join(values) for tag, values in entry.items()
        }
        for part, tags in _MEANINGS.items():
            # Some programs write a text under both of its tags.
            texts_of = (" ".join(entry.get(tag, ())) for tag in tags)
            record[part] = next(filter(str.strip, texts_of), "")
        record["keyphrases"] = [
            keyphrase.strip()
            for tag in _KEYPHRASES
            for value in entry.get(tag, ())
            for keyphrase in value.split(";")
        ] or None
        record["id"] = next((entry[tag][0] for tag in _IDS[has_dashes] if tag in entry), None)
        yield from parse_record(record, fields=fields, errors=errors, path=path, line=number)


Entry = dict[str, list[str]]


def _entries(
    lines: Iterable[tuple[int, str]], keyphrases: set[str], path: str, errors: ErrorPolicy
) -> Iterator[tuple[int, Entry, bool]]:
    """The values of each entry by tag, with the line where it begins, and whether tags have
    dashes. A line without a tag continues the one before: so does `UV light` where tags have
    dashes. There, a keyphrase goes on only in an indented line, as EndNote writes one per line. Of
    an entry that is too long, which is reported, no more is kept."""
    entry: dict[str, list[list[str]]] = {}  # of a value, the lines
    tag, first, has_dashes, size = "", 1, False, 0

    def take() -> Iterator[tuple[int, Entry, bool]]:
        if entry and size > errors.max_line:
            what = f"an entry has more than {errors.max_line:,} characters"
            errors.report(what, fix="split it, or raise --max-line", path=path, line=first)
        elif entry:
            joined = {tag: list(map(" ".join, values)) for tag, values in entry.items()}
            yield first, joined, has_dashes

    for number, line in lines:
        dashed = _RIS if "TY" in entry else _DASHED
        match = dashed.fullmatch(line) or (None if has_dashes else _SPACED.fullmatch(line))
        size += len(line)
        if match is None:
            if tag and line.strip() and size <= errors.max_line:
                if has_dashes and tag in keyphrases and not line[0].isspace():
                    entry[tag].append([])
                entry[tag][-1].append(line.strip())
            continue
        if entry and (match.group(1) or match.group(3)) in (*_BEGINS[match.re is dashed], "ER"):
            yield from take()
            entry = {}
        has_dashes = match.re is dashed
        tag, value = match.group(1) or match.group(3), (match.group(2) or "").strip()
        if tag in ("FN", "VR", "ER", "EF"):
            tag = ""
            continue
        if not entry:
            first, size = number, len(line)
        if size <= errors.max_line:
            entry.setdefault(tag, []).append([value])
    yield from take()
