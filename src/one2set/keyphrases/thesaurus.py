"""A thesaurus: the terms that a user allows, each with an identifier and other names.

It is read from a list of terms, a CSV file or SKOS. A phrase stands for a term if it has the stems
of one of its labels, in any order: *networks, neural* and *neural network* are the same. Numbers
must be the same: *type 1 diabetes* is not *type 2 diabetes*.
"""

import io
import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from warnings import catch_warnings, simplefilter

from one2set.data.text import PUNCTUATION, Span, Stems
from one2set.errors import ConfigError, DataError, missing_extra
from one2set.keyphrases.surface import stem_term

if TYPE_CHECKING:
    from one2set.keyphrases.scoring import ScoredPhrase

_LABELS = ("label", "term", "preflabel", "preferred", "name")  # columns of a CSV file
_IDS = ("id", "uri", "identifier", "notation")
_OTHERS = ("altlabel", "alternative", "alternatives", "synonyms", "other")
_RDF = {".ttl": "turtle", ".rdf": "xml", ".xml": "xml", ".nt": "nt", ".json": "json-ld"}
_RDF |= {".jsonld": "json-ld"}


class Term(NamedTuple):
    """A term: what is shown, its identifier, and its other labels."""

    label: str
    id: str | None = None
    other_labels: tuple[str, ...] = ()


class Thesaurus:
    """Terms by the stems of their labels."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self._exact: dict[Stems, Term] = {}
        self._any_order: dict[frozenset[str], Term] = {}
        all_terms = list(terms)
        # A preferred label is stronger than another term's alternative one.
        labels = [(term.label, term) for term in all_terms]
        labels += [(label, term) for term in all_terms for label in term.other_labels]
        for label, term in labels:
            stems = _stems(label)
            if stems:
                self._exact.setdefault(stems, term)
                self._any_order.setdefault(frozenset(stems), term)

    def __len__(self) -> int:
        return len({*self._exact.values()})

    def find(self, stems: Stems) -> Term | None:
        """The term with the stems of a phrase."""
        words = without_marks(stems)
        return self._exact.get(words) or self._any_order.get(frozenset(words))

    def choose(
        self, phrases: "Iterable[ScoredPhrase]", find: Callable[[str], tuple[Span, ...]]
    ) -> "list[ScoredPhrase]":
        """The terms of phrases. Phrases of the same term are merged: it has the highest of their
        scores, and all of their occurrences, except those within others. If they have none, those
        of its labels, which `find` finds in the text."""
        by_term: dict[Term, ScoredPhrase] = {}
        for phrase in phrases:
            if (term := self.find(phrase.stems)) is None:
                continue
            same = by_term.get(term, phrase)
            by_term[term] = phrase._replace(
                stems=_stems(term.label),
                score=max(phrase.score, same.score),
                spans=_keep_outermost([*phrase.spans, *same.spans]),
                term=term,
            )
        return [
            phrase if phrase.spans else phrase._replace(spans=_find_labels(term, find))
            for term, phrase in by_term.items()
        ]


def _find_labels(term: Term, find: Callable[[str], tuple[Span, ...]]) -> tuple[Span, ...]:
    return _keep_outermost(
        span for label in (term.label, *term.other_labels) for span in find(label)
    )


def _keep_outermost(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in order, without those that are within others."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or span[1] > kept[-1][1]:
            kept.append(span)
    return tuple(kept)


def _stems(label: str) -> Stems:
    return without_marks(stem_term(label))


def without_marks(stems: Stems) -> Stems:
    """Stems without punctuation, by which phrases and the entries of a list are compared."""
    return tuple(stem for stem in stems if stem not in PUNCTUATION)


def load_thesaurus(path: str | Path) -> Thesaurus:
    """The thesaurus in a file: .txt has a term per line, .csv columns such as `label`, `id` and
    `altLabel`, the others are SKOS. It is read again only if it has changed."""
    return _load_thesaurus(path, _version(path))


@lru_cache(maxsize=8)
def _load_thesaurus(path: str | Path, version: tuple[int, int]) -> Thesaurus:
    ending = Path(path).suffix.lower()
    if ending in _RDF:
        terms = _read_skos(path, _RDF[ending])
    elif ending == ".csv":
        terms = _read_csv(path)
    elif ending == ".txt":
        terms = (Term(line) for line in read_phrases(path))
    else:
        known = ", ".join((".txt", ".csv", *_RDF))
        raise ConfigError(f"the vocabulary {path} has no known ending; expected {known}")
    thesaurus = Thesaurus(terms)
    if not len(thesaurus):
        raise DataError(
            "has no terms", fix="pass a file with one term per line, or SKOS", path=path
        )
    return thesaurus


def load_stop_list(path: str | Path) -> frozenset[Stems]:
    """The stems of the phrases of a file, one per line. It is read again only if it has changed."""
    return _load_stop_list(path, _version(path))


@lru_cache(maxsize=8)
def _load_stop_list(path: str | Path, version: tuple[int, int]) -> frozenset[Stems]:
    return frozenset(map(_stems, read_phrases(path)))


def _version(path: str | Path) -> tuple[int, int]:
    """What differs after a change of a file: its time and its size."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0  # whoever reads it says why it cannot be read
    return status.st_mtime_ns, status.st_size


def hash_list(path: str | Path) -> str:
    """The hash of the content of a thesaurus or a stop list."""
    return sha256(_read_text(path).encode()).hexdigest()


def read_phrases(path: str | Path) -> list[str]:
    """The lines of a file, without empty ones and those that begin with #."""
    lines = (line.strip() for line in _read_text(path).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _read_text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror})", fix="check its name", path=path
        ) from None
    except UnicodeDecodeError:
        raise DataError("is not UTF-8", fix="convert it with iconv", path=path) from None


def _read_csv(path: str | Path) -> Iterator[Term]:
    import csv

    text = _read_text(path)
    delimiter = max(",;\t", key=text.split("\n", 1)[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        columns = {(name or "").strip().lower(): name for name in reader.fieldnames or ()}
        rows = list(reader)
    except csv.Error as error:
        fix = "quote labels that contain quotes"
        raise DataError(f"is not CSV ({error})", fix=fix, path=path) from None
    label, id, others = (
        next((columns[name] for name in names if name in columns), None)
        for names in (_LABELS, _IDS, _OTHERS)
    )
    if label is None:
        raise DataError(
            "has no column of labels", fix=f"name it one of {', '.join(_LABELS)}", path=path
        )
    for number, row in enumerate(rows, start=1):
        if None in row:
            raise DataError(
                f"row {number} has more cells than the header",
                fix=f"quote labels that contain {delimiter!r}",
                path=path,
            )
        if row[label]:
            joined = (row[others] or "") if others else ""
            alternatives = tuple(filter(None, map(str.strip, joined.split("|"))))
            name = " ".join(row[label].split())  # it may have line ends
            yield Term(name, (row[id] or None) if id else None, alternatives)


def _read_skos(path: str | Path, format: str) -> Iterator[Term]:
    try:
        from rdflib import Graph
        from rdflib.namespace import SKOS
    except ImportError:
        raise missing_extra("rdflib", extra="skos", purpose="Reading SKOS") from None
    _read_text(path)  # with our words for a file that cannot be read
    graph = Graph()
    try:
        with catch_warnings():
            simplefilter("ignore", DeprecationWarning)  # of rdflib's own JSON-LD parser
            graph.parse(path, format=format)
    except Exception as error:  # each format has its own errors
        raise DataError(
            f"is not SKOS ({type(error).__name__}: {str(error)[:80]})",
            fix="pass Turtle, RDF/XML, N-Triples or JSON-LD",
            path=path,
        ) from None
    for concept in sorted({*graph.subjects(SKOS.prefLabel)}, key=str):
        preferred = _english(graph.objects(concept, SKOS.prefLabel))
        if preferred:
            others = (SKOS.altLabel, SKOS.hiddenLabel)
            labels = [label for kind in others for label in _english(graph.objects(concept, kind))]
            yield Term(preferred[0], str(concept), (*preferred[1:], *labels))


def _english(labels: Iterable[object]) -> list[str]:
    """Labels in English, or in no language."""
    tagged = [(getattr(label, "language", None), str(label)) for label in labels]
    return sorted(text for language, text in tagged if (language or "en").split("-")[0] == "en")
