"""Convert what callers pass as texts to documents, with clear messages for anything else."""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from one2set.data.document import Document, StemmedDocument
from one2set.data.reading.records import document_from_text
from one2set.errors import DataError

AnyDocument = Document | StemmedDocument  # the latter if the caller needs its words too
_LONGEST = 40  # characters of a value in a message


def iterate_documents(texts: Iterable[str | AnyDocument]) -> Iterator[AnyDocument]:
    """The document of each text, in their order.

    A list, a column of a table (pandas, polars, pyarrow) and any other iterable of strings or
    documents will do.

    Raises:
        DataError: Immediately if `texts` is not a collection of texts; while iterating, if an item
            is neither a string nor a document.
    """
    # All of these can be iterated over, but give letters, numbers, keys or names of columns.
    if isinstance(texts, (str, bytes, bytearray, Mapping)) or hasattr(texts, "columns"):
        raise _refusal("the texts are", texts)
    try:
        values = iter(texts)
    except TypeError:
        raise _refusal("the texts are", texts) from None
    return map(_document, values, count(1))


def _document(value: str | AnyDocument, number: int) -> AnyDocument:
    if isinstance(value, AnyDocument):
        return value
    text = value.as_py() if hasattr(value, "as_py") else value  # of a column of pyarrow
    if isinstance(text, str):
        return document_from_text(text)
    raise _refusal(f"text {number} is", value)


def _refusal(subject: str, value: object) -> DataError:
    shown = repr(value) if not hasattr(value, "columns") else "a table"
    shown = f"{shown[:_LONGEST]}{'…' if len(shown) > _LONGEST else ''}"
    return DataError(f"{subject} {shown} ({type(value).__name__})", fix=_advice(value))


def _advice(value: object) -> str:
    expected = "expected a string or a list of strings"
    if isinstance(value, str):
        return "expected several documents; put it into a list"
    if isinstance(value, (bytes, bytearray)):
        return f"{expected}; decode it first, for example with .decode()"
    if isinstance(value, os.PathLike):
        return f"{expected}; read the file: generate(one2set.read(path))"
    if hasattr(value, "columns"):
        return f'{expected}; pass one column, for example table["abstract"]'
    if isinstance(value, Mapping):
        return f"{expected}; pass its values, or one2set.Document(id, title, abstract)"
    if value is None or isinstance(value, float) or type(value).__name__ in ("NAType", "NaTType"):
        return f"{expected}; leave missing values out (pandas: .dropna()) or make them empty texts"
    return expected
