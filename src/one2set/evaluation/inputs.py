"""Read gold phrases and predictions from files, and align them.

A missing, extra or duplicate document is an error that names the file and line.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import orjson

from one2set.data.reading.locations import COMPRESSED
from one2set.data.reading.readers import read
from one2set.data.reading.records import Fields
from one2set.data.reading.streams import ErrorPolicy, read_lines
from one2set.data.specials import EOS, SPECIALS
from one2set.errors import DataError
from one2set.evaluation.scoring import Gold, gold_from_document, gold_from_lines, split_phrases

_PHRASE_KEYS = ("keyphrases", "keywords", "predictions")


def read_pair(source_path: str, target_path: str) -> list[Gold]:
    """Read the gold of two text files: lines `title <eos> abstract`, and lines `a;b;c`."""
    sources = list(_read_lines(source_path))
    targets = list(_read_lines(target_path))
    _check_length(target_path, len(targets), source_path, len(sources), "lines")
    for number, source in enumerate(sources, 1):
        if not source.strip() or source.count(SPECIALS[EOS]) > 1:
            raise DataError(
                f"contains {SPECIALS[EOS]} {source.count(SPECIALS[EOS])} times"
                if source.strip()
                else "is an empty line",
                fix="write `title <eos> abstract`, or the abstract alone",
                path=source_path,
                line=number,
            )
    return [gold_from_lines(*pair) for pair in zip(sources, targets, strict=True)]


def read_gold(path: str, *, fields: Fields) -> list[Gold]:
    """Read the gold of a file of documents with keyphrases, in any format."""
    golds: dict[str | None, Gold] = {}
    for document in read(path, fields=fields):
        document.expect_keyphrases(path)
        if document.id in golds:
            raise DataError(
                f"has the id {document.id!r} twice", fix="make the ids unique", path=path
            )
        golds[document.id] = gold_from_document(document)
    if not golds:
        raise _make_empty_error(path)
    return list(golds.values())


def read_predictions(path: str, golds: Sequence[Gold]) -> list[list[str]]:
    """Read the predicted phrases of a system for each gold document, best first.

    A text file has lines `a;b;c`. A JSONL file has objects, which are matched by `id` if they have
    ids and the gold is not of text files, otherwise by order. The extension (.txt, .jsonl)
    determines the format, otherwise the first line does.
    """
    predictions = list(_parse_predictions(path))
    with_id = [prediction for prediction in predictions if prediction.id is not None]
    if not with_id or golds[0].id is None:
        _check_length(path, len(predictions), "the gold", len(golds), "documents")
        return [prediction.phrases for prediction in predictions]
    by_id: dict[str | None, _Prediction] = {}
    known = {gold.id for gold in golds}
    for prediction in predictions:
        if (what := _find_id_problem(prediction, by_id, known)) is not None:
            raise DataError(
                what,
                fix="write one line for each gold document, with its id; or omit all ids if the "
                "lines are in the order of the gold documents",
                path=path,
                line=prediction.line,
            )
        by_id[prediction.id] = prediction
    missing = [gold.id for gold in golds if gold.id not in by_id]
    if missing:
        raise DataError(
            f"has no prediction for {len(missing)} of {len(golds)} gold documents, "
            f"the first of them {missing[0]!r}",
            fix='write one line for each, with "keyphrases": [] where there are none',
            path=path,
        )
    return [by_id[gold.id].phrases for gold in golds]


class _Prediction(NamedTuple):
    line: int
    id: str | None
    phrases: list[str]


def _find_id_problem(
    prediction: _Prediction, by_id: dict[str | None, _Prediction], known: set[str | None]
) -> str | None:
    if prediction.id is None:
        return "has no id, but other lines have one"
    if prediction.id in by_id:
        return f"repeats the id {prediction.id!r} of line {by_id[prediction.id].line}"
    if prediction.id not in known:
        return f"the id {prediction.id!r} is not in the gold"
    return None


def _parse_predictions(path: str) -> Iterator[_Prediction]:
    lines = enumerate(_read_lines(path), 1)
    first = next(lines)
    if not _is_json(path, first[1]):
        for number, line in chain([first], lines):
            yield _Prediction(number, None, split_phrases(line))
        return
    for number, line in chain([first], lines):
        if line.strip():
            try:
                yield _parse_prediction(number, line)
            except ValueError as error:
                fix = 'write {"id": …, "keyphrases": ["…", "…"]} on each line'
                raise DataError(str(error), fix=fix, path=path, line=number) from None


def _is_json(path: str, first_line: str) -> bool:
    name = path.lower()
    for extension in COMPRESSED:
        name = name.removesuffix(extension)
    if Path(name).suffix in (".jsonl", ".ndjson", ".json"):
        return True
    return not name.endswith(".txt") and first_line.lstrip().startswith("{")


def _parse_prediction(number: int, line: str) -> _Prediction:
    """Parse a line of JSON. Raises ValueError with the problem."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error})") from None
    if not isinstance(record, dict):
        raise ValueError(f"is a JSON {type(record).__name__}, not an object")
    keys = [key for key in _PHRASE_KEYS if key in record]
    if len(keys) != 1:
        raise ValueError(
            f"has {' and '.join(keys) or 'no phrases'}; expected exactly one of "
            f"{', '.join(_PHRASE_KEYS)}"
        )
    phrases = record[keys[0]]
    items = split_phrases(phrases) if isinstance(phrases, str) else phrases
    if not isinstance(items, list):
        raise ValueError(f"{keys[0]} is {phrases!r}, neither a list nor a;b;c in one string")
    id = record.get("id")
    return _Prediction(
        number, None if id is None else str(id), [_parse_phrase(item) for item in items]
    )


def _parse_phrase(item: object) -> str:
    text = item.get("text") if isinstance(item, dict) else item
    if not isinstance(text, str):
        raise ValueError(f'a phrase is {item!r}, neither a string nor {{"text": …}}')
    return text


def _read_lines(path: str) -> Iterator[str]:
    any_lines = False
    for _, line in read_lines(path, ErrorPolicy()):
        assert line is not None  # a line that is not UTF-8 has raised
        any_lines = True
        yield line
    if not any_lines:
        raise _make_empty_error(path)


def _make_empty_error(path: str) -> DataError:
    return DataError(
        "contains no documents", fix="check the path and what wrote the file", path=path
    )


def _check_length(path: str, length: int, other: str, other_length: int, unit: str) -> None:
    if length != other_length:
        raise DataError(
            f"has {length} {unit}, but {other} has {other_length}",
            fix="write one line for each document, an empty one if it has none",
            path=path,
            line=min(length, other_length) + 1,
        )
