"""Files of reference managers and libraries: BibTeX, RIS, MEDLINE, and Web of Science's own.

An entry without an abstract is a document that has only a title.
"""

import logging
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from one2set.data.document import Document
from one2set.data.reading.records import Fields, parse_record
from one2set.data.reading.streams import ErrorPolicy, read_lines, read_text
from one2set.errors import DataError, missing_extra

Kind = Literal["bibtex", "tagged"]
EXTENSIONS: dict[str, Kind] = {".bib": "bibtex", ".ris": "tagged", ".nbib": "tagged"}
_BIBTEX_START = re.compile(r"(?:\s*%.*\n)*\s*@\w{1,40}\s*[{(]")
_CONCATENATION = re.compile(r'\A"|"\s*#\s*"|"\Z')  # "a" # "b"
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
        from bibtexparser.middlewares.parsestack import default_parse_stack
        from bibtexparser.model import DuplicateBlockKeyBlock, DuplicateFieldKeyBlock
    except ImportError:
        raise missing_extra("bibtexparser", extra="documents", purpose="reading BibTeX") from None
    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # its faults are reported below
    library = Library()
    for block in parse_string(read_text(path, errors) or "", parse_stack=[]).blocks:
        # BibTeX reads an entry that repeats a field, and takes the first one.
        entry = block.ignore_error_block if isinstance(block, DuplicateFieldKeyBlock) else None
        library.add(entry or block, fail_on_duplicate_key=False)
    for step in default_parse_stack():
        library = step.transform(library)
    for block in library.failed_blocks:
        is_double = isinstance(block, DuplicateBlockKeyBlock)
        what = "repeats the key of another entry" if is_double else "is not a complete BibTeX entry"
        line = (block.start_line or 0) + 1
        errors.report(what, fix="correct the entry", path=path, line=line)
    for entry in library.entries:
        values: dict[str, Any] = {}
        for field in entry.fields:
            value = str(field.value)
            if field.enclosing == "no-enclosing":  # quotes within {…} or "…" belong to the text
                value = _CONCATENATION.sub("", value)
            name, text = field.key.lower(), _without_latex(value)
            if fields.know_keyphrases(name):
                keywords = _BETWEEN_KEYWORDS.split(text)
                if len(keywords) == 1:  # EndNote writes one per line
                    keywords = text.splitlines()
                values.setdefault(name, [" ".join(keyword.split()) for keyword in keywords])
            else:
                values.setdefault(name, " ".join(text.split()))
        record = {"id": entry.key, "abstract": "", **values}
        line = (entry.start_line or 0) + 1
        yield from parse_record(record, fields=fields, errors=errors, path=path, line=line)


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
