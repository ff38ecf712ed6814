"""Answers: what the server says of documents, and why it refuses a request."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from one2set.keyphrases.exploration import CodeOutput, Exploration
from one2set.keyphrases.results import Keyphrase

_SPANS = "`text[start:end]`, counted in Unicode characters, end exclusive"

Score = Annotated[float, Field(ge=0, le=1, description="How likely it is a keyphrase.")]


class KeyphraseAnswer(BaseModel):
    """A keyphrase of a text."""

    text: str = Field(description="As the text spells it, if it holds it.")
    score: Score
    present: bool = Field(description="Whether the text holds it.")
    spans: list[tuple[int, int]] = Field(description=f"Where it stands there: {_SPANS}.")

    @classmethod
    def of(cls, keyphrase: Keyphrase) -> Self:
        """With four digits of its score, as the command line writes it."""
        return cls(
            text=keyphrase.text,
            score=round(keyphrase.score, 4),
            present=keyphrase.present,
            spans=list(keyphrase.spans),
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
    """What is found for one value of `more`."""

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
    speaks: bool = Field(description="False if the code says nothing.")

    @classmethod
    def of(cls, voice: CodeOutput) -> Self:
        """As many digits as float32 has."""
        slot = voice.slot
        return cls(
            code=slot.code,
            side=voice.side,
            text=slot.text,
            stems=voice.stems,
            probability=round(slot.probability, 6),
            null=round(slot.null, 6),
            speaks=voice.speaks,
        )


class ExploreAnswer(BaseModel):
    """A text for every value of `more` that the page shows, and its control codes."""

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
                        **KeyphraseAnswer.of(keyphrase).model_dump(),
                        stems=exploration.stems(keyphrase.text),
                    )
                    for keyphrase in keyphrases
                ],
            )
            for more, keyphrases in exploration.dial
        ]
        passages = [[CodeAnswer.of(voice) for voice in voices] for voices in exploration.passages]
        return cls(
            title=exploration.document.title,
            dial=dial,
            passages=passages,
            notices=list(notices),
        )


class TextAnswer(BaseModel):
    """The text of a file."""

    title: str = Field(description="Where the file tells it; else empty.")
    text: str = Field(description="Without the title, page heads, references, code and tags.")


class ProblemAnswer(BaseModel):
    """Why a request is refused."""

    detail: str
