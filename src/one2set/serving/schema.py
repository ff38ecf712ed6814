"""The schema: what requests and answers look like, and documents from and to them."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from one2set.data.document import Document
from one2set.data.records import make_document
from one2set.inference.exploration import Exploration, Voice
from one2set.inference.generator import document_of
from one2set.inference.presentation import Keyphrase, Wanted
from one2set.serving.limits import Limits, ProblemError

_EXAMPLE_TEXT = (
    "Finding duplicate bug reports\n"
    "Users report the same bug many times. We rank earlier bug reports by a neural network that "
    "reads both texts, and find two of three duplicates among the first five."
)
_SPANS = "`text[start:end]`, counted in Unicode characters, end exclusive"


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


class TitledText(_Strict):
    """A document in parts."""

    text: Text = Field(description="Its text, or its abstract.")
    title: Text = Field(default="", description="Its title, if it is not the text's first line.")
    id: Text | None = Field(default=None, description="Comes back with its keyphrases.")

    def document(self, id: str) -> Document:
        """As the generator takes it. Of a text without a title the first line may be one."""
        id = id if self.id is None else self.id
        if not self.title:
            return document_of(self.text, id)
        return make_document(id, title=self.title, abstract=self.text, keyphrases=None)


class KeyphrasesRequest(_Strict):
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

    documents: list[Text | TitledText] = Field(
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

    def wanted(self) -> Wanted:
        """The options."""
        return Wanted(self.top, self.min_score, self.only, self.more)

    def checked(self, limits: Limits) -> list[Document]:
        """The documents, if they are within limits."""
        if len(self.documents) > limits.documents:
            raise ProblemError(
                422, f"there are {len(self.documents)} documents; at most {limits.documents} go"
            )
        several = len(self.documents) > 1
        found = []
        for number, each in enumerate(self.documents, 1):
            titled = TitledText(text=each) if isinstance(each, str) else each
            found.append(titled.document(f"text {number}" if several else "text"))
            _check_length(found[-1], limits)
        return found


class ExploreRequest(_Strict):
    """A text."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": _EXAMPLE_TEXT}]})

    text: Text

    def checked(self, limits: Limits) -> Document:
        """The document, if it is within limits."""
        document = document_of(self.text)
        _check_length(document, limits)
        return document


def _check_length(document: Document, limits: Limits) -> None:
    if (length := len(document.text)) > limits.characters:
        raise ProblemError(
            422, f"a text has {length:,} characters; at most {limits.characters:,} are read"
        )


Score = Annotated[float, Field(ge=0, le=1, description="How likely it is a keyphrase.")]


class KeyphraseAnswer(BaseModel):
    """A keyphrase of a text."""

    text: str = Field(description="As the text spells it, if it holds it.")
    score: Score
    present: bool = Field(description="Whether the text holds it.")
    spans: list[tuple[int, int]] = Field(description=f"Where it stands there: {_SPANS}.")

    @classmethod
    def of(cls, one: Keyphrase) -> Self:
        """With four digits of its score, as the command line writes it."""
        return cls(
            text=one.text, score=round(one.score, 4), present=one.present, spans=list(one.spans)
        )


class DocumentAnswer(BaseModel):
    """The keyphrases of a document."""

    id: str
    keyphrases: list[KeyphraseAnswer] = Field(description="Best first.")
    notices: list[str] = Field(description="What is odd about the text, if anything.")


class KeyphrasesAnswer(BaseModel):
    """An answer for each document, in their order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "documents": [
                        {
                            "id": "text",
                            "keyphrases": [
                                {
                                    "text": "bug reports",
                                    "score": 0.61,
                                    "present": True,
                                    "spans": [[18, 29], [84, 95]],
                                },
                                {
                                    "text": "information retrieval",
                                    "score": 0.12,
                                    "present": False,
                                    "spans": [],
                                },
                            ],
                            "notices": [],
                        }
                    ]
                }
            ]
        }
    )

    documents: list[DocumentAnswer]


class PhraseAnswer(KeyphraseAnswer):
    """A keyphrase, to be found among what codes say."""

    stems: str = Field(description="Equal for the same phrase in any inflection.")


class PositionAnswer(BaseModel):
    """What is found with the dial at a position."""

    more: float
    keyphrases: list[PhraseAnswer]


class CodeAnswer(BaseModel):
    """What a control code says, or would say."""

    code: int
    side: Literal["present", "absent"] | None = Field(
        description="What the code is for; null where the model writes a sequence."
    )
    text: str
    stems: str = Field(description="Equal for the same phrase in any inflection.")
    probability: float = Field(description="Of this phrase, of all that the code could say.")
    null: float = Field(description="The probability of ∅: that the code says nothing.")
    since: float = Field(description="It speaks where the dial is here or further.")

    @classmethod
    def of(cls, voice: Voice) -> Self:
        """As many digits as float32 has."""
        slot = voice.slot
        return cls(
            code=slot.code,
            side=voice.side,
            text=slot.text,
            stems=voice.stems,
            probability=round(slot.probability, 6),
            null=round(slot.null, 6),
            since=round(voice.since, 6),
        )


class ExploreAnswer(BaseModel):
    """A text at every position of the dial, and its control codes."""

    title: str = Field(description="The text's first line, if that is taken for a title.")
    dial: list[PositionAnswer]
    passages: list[list[CodeAnswer]] = Field(
        description="The codes, of each passage in which a long text is read."
    )
    notices: list[str]

    @classmethod
    def of(cls, exploration: Exploration, notices: Sequence[str]) -> Self:
        """All that was found."""
        dial = [
            PositionAnswer(
                more=more,
                keyphrases=[
                    PhraseAnswer(
                        **KeyphraseAnswer.of(one).model_dump(), stems=exploration.stems(one.text)
                    )
                    for one in found
                ],
            )
            for more, found in exploration.dial
        ]
        passages = [[CodeAnswer.of(voice) for voice in voices] for voices in exploration.passages]
        return cls(
            title=exploration.document.title,
            dial=dial,
            passages=passages,
            notices=list(notices),
        )


class ProblemAnswer(BaseModel):
    """Why a request is refused."""

    detail: str
