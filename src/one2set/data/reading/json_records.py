"""Records in JSON: an object per line, an array of objects, or objects over several lines."""

import json
import re
from collections.abc import Iterator

import orjson

from one2set.data.document import Document
from one2set.data.reading.records import Fields, parse_record
from one2set.data.reading.streams import ErrorPolicy, read_lines

_START = re.compile(r"\s*(?:\{|\[\s*[\{\]])")
_BETWEEN = re.compile(r"[\s,]*")
_CHUNK = 1 << 16  # characters


def looks_like_json(text: str) -> bool:
    """Whether a text begins as an object or as an array of objects."""
    return _START.match(text) is not None


def read_json(path: str, start: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    """Read the records of a file that begins with `start`."""
    if _is_spread_over_lines(start):
        return _read_values(path, fields, errors)
    return _read_lines(path, fields, errors)


def _is_spread_over_lines(start: str) -> bool:
    """Whether a value begins on one line and goes on below, or is an array: a first line that is
    no whole object, and a second one that does not begin an object."""
    lines = [line.strip() for line in start.split("\n") if line.strip()]
    if len(lines) < 2 or not lines[0].startswith("{"):
        return bool(lines) and lines[0].startswith("[")
    return not lines[1].startswith("{") and not _is_whole(lines[0])


def _is_whole(line: str) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _read_lines(path: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    for number, line in read_lines(path, errors):
        if line is not None and line.strip():
            yield from _parse(line, fields, errors, path, number)


def _parse(
    text: str, fields: Fields, errors: ErrorPolicy, path: str, line: int, position: int = 1
) -> Iterator[Document]:
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        fix = "write one object per line, or one array of objects"
        errors.report(f"is not JSON ({error})", fix=fix, path=path, line=line)
        return
    if isinstance(record, str):  # a list of texts
        record = {fields.abstract[0]: record}
    if not isinstance(record, dict):
        kind = type(record).__name__
        errors.report(f"is a JSON {kind}", fix="expected an object", path=path, line=line)
        return
    yield from parse_record(
        record, fields=fields, errors=errors, path=path, line=line, position=position
    )


def _read_values(path: str, fields: Fields, errors: ErrorPolicy) -> Iterator[Document]:
    """Values one after another, or in an array. Behind one that is not JSON nothing can be read:
    where it ends is not known."""
    lines = (f"{line or ''}\n" for _, line in read_lines(path, errors))
    buffer = _Buffer(lines, most=errors.max_line)
    is_array = buffer.peek() == "["
    if is_array:
        buffer.skip()
    last, position = 0, 0
    try:
        while (char := buffer.peek()) and not (is_array and char == "]"):
            number = buffer.line
            last, position = number, position + 1 if number == last else 1
            yield from _parse(buffer.take(), fields, errors, path, number, position)
        if is_array:
            buffer.skip()
            if buffer.peek():
                raise ValueError("there is more after the array")
    except (ValueError, RecursionError) as error:
        fix = "fix it, or write one object per line"
        errors.report(f"is not JSON ({error})", fix=fix, path=path, line=buffer.line)


class _Buffer:
    """A text that is read as it is needed."""

    def __init__(self, lines: Iterator[str], *, most: int) -> None:
        """`most` is the number of characters from which on a value is too long."""
        self._lines, self._text, self._at, self._most = lines, "", 0, most
        self._scan = json.JSONDecoder().raw_decode
        self.line = 1  # of the next value

    def peek(self) -> str:
        """The first character of the next value; "" at the end."""
        while True:
            match = _BETWEEN.match(self._text, self._at)
            assert match is not None  # it also matches the empty string
            self._move(match.end())
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_more():
                return ""

    def skip(self) -> None:
        """Pass a character; ValueError at the end."""
        if self._at == len(self._text):
            raise ValueError("the array does not end")
        self._at += 1

    def take(self) -> str:
        """The next value, as it is written."""
        while True:
            try:
                _, end = self._scan(self._text, self._at)
            except (ValueError, RecursionError):
                if not self._read_more():
                    raise
                continue
            start = self._at
            self._move(end)
            return self._text[start:end]

    def _move(self, to: int) -> None:
        self.line += self._text.count("\n", self._at, to)
        self._at = to

    def _read_more(self) -> bool:
        """Read as much again as is waiting, so that a long value is not scanned line by line."""
        rest = self._text[self._at :]
        if len(rest) > self._most:
            raise ValueError(f"a value has more than {self._most:,} characters")
        parts, remaining = [rest], max(_CHUNK, len(rest))
        while remaining > 0 and (line := next(self._lines, "")):
            parts.append(line)
            remaining -= len(line)
        self._text, self._at = "".join(parts), 0
        return len(parts) > 1
