"""The schema: what requests look like, and the documents in them. `answers` has the rest."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, model_validator

from one2set.data.document import Document
from one2set.data.reading.records import document_from_text, make_document
from one2set.keyphrases.selection import Selection
from one2set.serving.limits import Limits, ProblemError

_EXAMPLE_TEXT = (
    "Finding duplicate bug reports\n"
    "Users report the same bug many times. We rank earlier bug reports by a neural network that "
    "reads both texts, and find two of three duplicates among the first five."
)
_LONGEST_NAME = 100  # characters of a client's words in an error message


def _whole(text: str) -> str:
    """JSON can write half of a character, which no text holds and no answer could give back."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a character (a lone surrogate)") from None
    return text


Text = Annotated[str, AfterValidator(_whole)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _know_fields(cls, given: object) -> object:
        """One error for all unknown fields; `extra="forbid"` would give one for each."""
        if isinstance(given, Mapping):
            unknown = [str(name)[:_LONGEST_NAME] for name in given if name not in cls.model_fields]
            if unknown:
                known = ", ".join(cls.model_fields)
                raise ValueError(f"there is no field {unknown[0]!r}; the fields are {known}")
        return given


class SizedRequest(_Strict):
    """A request whose size can be checked before it is validated."""

    @classmethod
    @abstractmethod
    def check_size(cls, given: Mapping[str, Any], limits: Limits) -> None:
        """Refuse what is too large. Nothing has been validated yet: fields may hold anything."""

    @property
    @abstractmethod
    def characters(self) -> int:
        """Of its texts, titles aside."""


class TitledText(_Strict):
    """A document in parts."""

    text: Text = Field(description="Its text, or its abstract.")
    title: Text = Field(default="", description="Its title, if it is not the text's first line.")
    id: Text | None = Field(default=None, description="Comes back with its keyphrases.")

    def document(self, id: str) -> Document:
        """As the generator takes it. Of a text without a title the first line may be one."""
        id = id if self.id is None else self.id
        if not self.title:
            return document_from_text(self.text, id)
        return make_document(id, title=self.title, abstract=self.text, keyphrases=None)


class KeyphrasesRequest(SizedRequest):
    """Documents, and the options of `one2set generate`."""

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

    # The first document that is wrong is told: there may be many.
    documents: Annotated[list[Text | TitledText], FailFast()] = Field(
        min_length=1, description="One or many; a text alone, or in parts."
    )
    top: int | None = Field(default=None, ge=0, description="So many of each at most; else 20.")
    min_score: float = Field(
        default=0.0, ge=0, le=1, allow_inf_nan=False, description="The least score."
    )
    only: Literal["present", "absent"] | None = Field(default=None, description="One kind only.")
    more: float = Field(
        default=0.0,
        ge=-100,
        le=100,
        allow_inf_nan=False,
        description="1 is a step towards more keyphrases, −1 one towards fewer.",
    )

    def wanted(self) -> Selection:
        """The options."""
        return Selection(self.top, self.min_score, self.only, self.more)

    @classmethod
    def check_size(cls, given: Mapping[str, Any], limits: Limits) -> None:
        """Their number, then the length of each."""
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
        """Of all documents."""
        return sum(len(each if isinstance(each, str) else each.text) for each in self.documents)

    def to_documents(self) -> list[Document]:
        """As the generator takes them."""
        several = len(self.documents) > 1
        return [
            (TitledText(text=each) if isinstance(each, str) else each).document(
                f"text {number}" if several else "text"
            )
            for number, each in enumerate(self.documents, 1)
        ]


class ExploreRequest(SizedRequest):
    """A text."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": _EXAMPLE_TEXT}]})

    text: Text

    @classmethod
    def check_size(cls, given: Mapping[str, Any], limits: Limits) -> None:
        """The text's length."""
        _check_length("", given.get("text"), limits)

    @property
    def characters(self) -> int:
        """Of the text."""
        return len(self.text)

    def to_document(self) -> Document:
        """As the generator takes it."""
        return document_from_text(self.text)


def _check_length(title: object, text: object, limits: Limits) -> None:
    """Title and text are joined by a line end, which counts."""
    length = len("\n".join(part for part in (title, text) if part and isinstance(part, str)))
    if length > limits.characters:
        raise ProblemError(
            422, f"a text has {length:,} characters; at most {limits.characters:,} are read"
        )
