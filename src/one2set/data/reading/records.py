"""Conversion of records (JSON objects, table rows) to documents, and of plain texts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, Self

from one2set.data.document import Document
from one2set.data.reading.streams import ErrorPolicy, label
from one2set.data.specials import PEOS, SPECIALS
from one2set.data.text import looks_tokenised
from one2set.errors import ConfigError

# The token-list form: `document` is a list of words, its keyphrases come in two lists.
_TOKENS, _TOKEN_PHRASES = "document", ("extractive_keyphrases", "abstractive_keyphrases")
_MAX_TITLE_WORDS = 40
_NO_ABSTRACT = "[No abstract available]"  # in exports of Scopus


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of the fields of a record, by part of the document. The first one found is used, in
    upper or lower case. The defaults include the columns that Scopus, Web of Science, IEEE Xplore
    and Zotero export.

    Examples:
        >>> read("papers.jsonl", fields=Fields(abstract=("summary",)))
    """

    id: tuple[str, ...] = ("id", "key", "eid", "ut (unique wos id)")
    title: tuple[str, ...] = ("title", "article title", "document title")
    abstract: tuple[str, ...] = ("abstract", "text", "body", "abstract note")
    keyphrases: tuple[str, ...] = (
        "keyphrases",
        "author keywords",
        "keywords",
        "keyword",
        "manual tags",
    )

    @classmethod
    def from_options(cls, pairs: Iterable[str]) -> Self:
        """Make fields from options `PART=NAME`, such as `abstract=summary`."""
        parts = [field.name for field in fields(cls)]
        chosen = cls()
        for pair in pairs:
            part, _, name = pair.partition("=")
            if part not in parts or not name:
                raise ConfigError(
                    f"--field is {pair!r}; expected PART=NAME with PART one of {', '.join(parts)}; "
                    "pass for example --field abstract=summary"
                )
            chosen = replace(chosen, **{part: (name,)})
        return chosen

    def know(self, name: str) -> bool:
        """Whether a field of this name is read."""
        names = (*self.id, *self.title, *self.abstract, *self.keyphrases, _TOKENS, *_TOKEN_PHRASES)
        return _folded(name) in map(_folded, names)

    def know_keyphrases(self, name: str) -> bool:
        """Whether keyphrases are read from a field of this name."""
        return _folded(name) in map(_folded, self.keyphrases)


def _folded(name: str) -> str:
    return name.strip().casefold()


class _UnusableError(Exception):
    """What is wrong with a record, and how to fix it."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.fix = fix


def parse_record(
    record: Mapping[str, Any],
    *,
    fields: Fields,
    errors: ErrorPolicy,
    path: str,
    line: int,
    position: int = 1,
) -> Iterator[Document]:
    """Yield the document of a record; nothing if the record is invalid and skipped. `position`
    counts the records that begin on one line."""
    try:
        yield _document(record, fields, default_id(path, line, position))
    except _UnusableError as error:
        errors.report(str(error), fix=error.fix, path=path, line=line)


def default_id(path: str, line: int, position: int = 1) -> str:
    """The id of a record that has none: the line where it begins and, from the second one on that
    line, its position there."""
    place = f"{line}-{position}" if position > 1 else f"{line}"
    return f"{label(path).split('.')[0]}-{place}"


def make_document(
    id: str, *, title: str, abstract: str, keyphrases: tuple[str, ...] | None
) -> Document:
    """Make a document; whether it is tokenised already is decided by its text."""
    tokenised = looks_tokenised(f"{title} {abstract}")
    return Document(id, title, abstract, keyphrases, tokenised)


def document_from_text(text: str, id: str = "text") -> Document:
    """Make a document of a plain text.

    The first line becomes the title if it is short, does not end like a sentence, and more text
    follows. Spans in `Document.text` are spans in `text`: both are equal, but a carriage return
    after the title becomes a newline.
    """
    first, newline, rest = text.partition("\n")
    title = first.rstrip("\r")
    has_title = newline and rest.strip() and 0 < len(title.split()) <= _MAX_TITLE_WORDS
    if not has_title or "\r" in title or title.rstrip()[-1] in ".,;:":
        return make_document(id, title="", abstract=text, keyphrases=None)
    abstract = "\n" * (len(first) - len(title)) + rest
    return make_document(id, title=title, abstract=abstract, keyphrases=None)


def with_title(document: Document) -> Document:
    """Find the title of a document that was read from plain text; return any other unchanged."""
    if document.title or document.tokenised:
        return document
    split = document_from_text(document.abstract, document.id)
    return replace(split, keyphrases=document.keyphrases)


def parse_phrases(value: object) -> tuple[str, ...]:
    """Keyphrases from a list or from a string `a;b;c` or `a, b, c`. KP20k's marker `<peos>` is
    left out."""
    items = _split(value) if isinstance(value, str) else value
    if not isinstance(items, list):
        raise _UnusableError(
            f"keyphrases are {_shown(value)}",
            "expected a list of strings, or a;b;c or a, b, c in one string",
        )
    stripped = (item.strip() for item in _strings(items, "a keyphrase"))
    return tuple(item for item in stripped if item and item != SPECIALS[PEOS])


def _split(phrases: str) -> list[str]:
    """Split at semicolons, or else at commas that a space follows: 1,2-dichloroethane is one."""
    return phrases.split(";") if ";" in phrases else re.split(r",\s", phrases)


def _strings(items: list[Any], noun: str) -> list[str]:
    for item in items:
        if not isinstance(item, str):
            raise _UnusableError(f"{noun} is {_shown(item)}", "expected a string")
    return items


def _document(record: Mapping[str, Any], fields: Fields, other_id: str) -> Document:
    title: str | None
    abstract: str | None
    if isinstance(record.get(_TOKENS), list):
        title, abstract = "", " ".join(_strings(record[_TOKENS], f"a word of {_TOKENS!r}"))
        lists = [parse_phrases(record[name]) for name in _TOKEN_PHRASES if record.get(name)]
        known = any(name in record for name in _TOKEN_PHRASES)
        keyphrases = tuple(phrase for phrases in lists for phrase in phrases) if known else None
    else:
        title, abstract = (_text(record, names) for names in (fields.title, fields.abstract))
        if abstract is None:
            raise _UnusableError(
                f"has no {_either(fields.abstract)}; it has {_list_names(record)}",
                "name the field, for example --field abstract=summary",
            )
        value = _first(record, fields.keyphrases)
        keyphrases = None if value is None else parse_phrases(value)
    id = _first(record, fields.id)
    return make_document(
        other_id if id in (None, "") else str(id),
        title=title or "",
        abstract=abstract,
        keyphrases=keyphrases,
    )


def _find(record: Mapping[str, Any], names: Iterable[str]) -> list[Any]:
    """The values of fields with these names, in the order of the names."""
    folded = {_folded(name): name for name in record}
    keys = (name if name in record else folded.get(_folded(name)) for name in names)
    return [record[key] for key in keys if key is not None]


def _first(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((value for value in _find(record, names) if value is not None), None)


def _text(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The string of a text field, "" if it is null, None if the record has no such field."""
    values = _find(record, names)
    value = next((each for each in values if each is not None), None)
    if value is None or value == _NO_ABSTRACT:
        return "" if values else None
    if not isinstance(value, str):
        raise _UnusableError(f"{_either(names)} is {_shown(value)}", "expected a string")
    return value


def _list_names(record: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{name!r:.80}" for name in islice(record, 10))
    return f"{shown}, …" if len(record) > 10 else shown or "no fields"


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(repr, names))


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text[:40]}{'…' if len(text) > 40 else ''} ({type(value).__name__})"
