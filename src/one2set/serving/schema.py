"""Requests as pydantic models, and their conversion to documents. `answers` has the responses."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, model_validator

from one2set.data.document import Document
from one2set.data.reading.records import document_from_text, make_document
from one2set.keyphrases.selection import Selection
from one2set.serving.limits import MAX_SHOWN, Limits, ProblemError

_EXAMPLE_TEXT = (
    "Finding duplicate bug reports\n"
    "Users report the same bug many times. We rank earlier bug reports by a neural network that "
    "reads both texts, and find two of three duplicates among the first five."
)


def _check_unicode(text: str) -> str:
    """Refuse lone surrogates, which JSON can express but UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("contains a lone surrogate (half of a character)") from None
    return text


Text = Annotated[str, AfterValidator(_check_unicode)]


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_fields(cls, given: object) -> object:
        """Raise one error for all unknown fields; `extra="forbid"` raises one for each."""
        if isinstance(given, Mapping):
            unknown = [str(name)[:MAX_SHOWN] for name in given if name not in cls.model_fields]
            if unknown:
                known = ", ".join(cls.model_fields)
                raise ValueError(f"there is no field {unknown[0]!r}; the fields are {known}")
        return given


class SizedRequest(_StrictModel):
    """A request whose size can be checked before it is validated."""

    @classmethod
    @abstractmethod
    def check_size(cls, given: Mapping[str, Any], limits: Limits) -> None:
        """Refuse a request that is too large. It is not validated yet: fields may be anything."""

    @property
    @abstractmethod
    def characters(self) -> int:
        """The length of its texts, without titles."""


class TitledText(_StrictModel):
    """A document with its title and id."""

    text: Text = Field(description="The text or abstract.")
    title: Text = Field(
        default="", description="The title. If empty, the first line of the text may be one."
    )
    id: Text | None = Field(default=None, description="Returned with the keyphrases.")

    def to_document(self, id: str) -> Document:
        """Convert it. `id` is used if it has none."""
        id = id if self.id is None else self.id
        if not self.title:
            return document_from_text(self.text, id)
        return make_document(id, title=self.title, abstract=self.text, keyphrases=None)


class KeyphrasesRequest(SizedRequest):
    """Documents, and some options of `one2set generate`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"documents": [_EXAMPLE_TEXT]},
                {
                    "documents": [
                        {"id": "7", "title": "On sets", "text": "A set has no order."},
                        {"id": "8", "text": "Sequences have one."},
                    ],
                    "top": 5,
                    "more": 1,
                },
            ]
        }
    )

    # Only the first invalid document is reported: there may be many.
    documents: Annotated[list[Text | TitledText], FailFast()] = Field(
        min_length=1, description="One or more: strings, or objects with title and id."
    )
    top: int | None = Field(
        default=None, ge=0, description="Maximum keyphrases per document; null for 20."
    )
    min_score: float = Field(
        default=0.0,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Leave out keyphrases with a lower score.",
    )
    only: Literal["present", "absent"] | None = Field(
        default=None, description="Return only this kind; null for both."
    )
    more: float = Field(
        default=0.0,
        ge=-100,
        le=100,
        allow_inf_nan=False,
        description="Above 0 for more keyphrases, below 0 for fewer; 1 is one `--more`.",
    )

    def selection(self) -> Selection:
        """The options of the request."""
        return Selection(self.top, self.min_score, self.only, self.more)

    @classmethod
    def check_size(cls, given: Mapping[str, Any], limits: Limits) -> None:
        """Check the number of documents, then the length of each."""
        documents = given.get("documents")
        if not isinstance(documents, list):
            return
        if len(documents) > limits.documents:
            raise ProblemError(
                422,
                f"the request has {len(documents):,} documents; at most {limits.documents:,} are "
                "allowed; send several requests",
            )
        for each in documents:
            parts = each if isinstance(each, Mapping) else {"text": each}
            _check_length(parts.get("title"), parts.get("text"), limits)

    @property
    def characters(self) -> int:
        """The length of all texts."""
        return sum(len(each if isinstance(each, str) else each.text) for each in self.documents)

    def to_documents(self) -> list[Document]:
        """Convert all documents."""
        several = len(self.documents) > 1
        return [
            (TitledText(text=each) if isinstance(each, str) else each).to_document(
                f"text {number}" if several else "text"
            )
            for number, each in enumerate(self.documents, 1)
        ]


class ExploreRequest(SizedRequest):
    """A text to explore."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": _EXAMPLE_TEXT}]})

    text: Text

    @classmethod
    def check_size(cls, given: Mapping[str, Any], limits: Limits) -> None:
        """Check the length of the text."""
        _check_length("", given.get("text"), limits)

    @property
    def characters(self) -> int:
        """The length of the text."""
        return len(self.text)

    def to_document(self) -> Document:
        """Convert the text."""
        return document_from_text(self.text)


def _check_length(title: object, text: object, limits: Limits) -> None:
    """Title and text are joined by a newline, which counts."""
    length = len("\n".join(part for part in (title, text) if part and isinstance(part, str)))
    if length > limits.characters:
        raise ProblemError(
            422, f"a text has {length:,} characters; at most {limits.characters:,} are read"
        )
