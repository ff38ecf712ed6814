"""Answers: the responses of the server as pydantic models."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from one2set.keyphrases.exploration import CodeOutput, Exploration
from one2set.keyphrases.results import Keyphrase

_SPANS = "`text[start:end]`, counted in Unicode characters, end exclusive"

Score = Annotated[
    float, Field(ge=0, le=1, description="Probability that it is a keyphrase of the text.")
]


class KeyphraseAnswer(BaseModel):
    """A keyphrase of a text."""

    text: str = Field(description="Spelt as in the text, if it occurs there.")
    score: Score
    present: bool = Field(description="Whether it occurs in the text.")
    spans: list[tuple[int, int]] = Field(description=f"Its occurrences: {_SPANS}.")

    @classmethod
    def of(cls, keyphrase: Keyphrase) -> Self:
        """Convert a keyphrase. The score has four digits, as on the command line."""
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
    notices: list[str] = Field(description="Warnings, such as that the text is not English.")


class KeyphrasesAnswer(BaseModel):
    """An answer for each document, in order."""

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
    """A keyphrase with its stems, to find the codes that generate it."""

    stems: str = Field(description="Equal for the same phrase in any inflection.")


class PositionAnswer(BaseModel):
    """The keyphrases for one value of `more`."""

    more: float
    keyphrases: list[PhraseAnswer]


class CodeAnswer(BaseModel):
    """The phrase that a control code generates, or would generate instead of ∅."""

    code: int
    side: Literal["present", "absent"] | None = Field(
        description="The kind of phrases of the code; null if the model writes a sequence."
    )
    text: str
    stems: str = Field(description="Equal for the same phrase in any inflection.")
    probability: float = Field(description="Probability of the phrase.")
    null: float = Field(description="Probability of ∅: that the code generates no phrase.")
    generates: bool = Field(description="False if the code generates ∅.")

    @classmethod
    def of(cls, output: CodeOutput) -> Self:
        """Convert the output of a code. Probabilities have the digits of float32."""
        slot = output.slot
        return cls(
            code=slot.code,
            side=output.side,
            text=slot.text,
            stems=output.stems,
            probability=round(slot.probability, 6),
            null=round(slot.null, 6),
            generates=output.generates,
        )


class ExploreAnswer(BaseModel):
    """The keyphrases of a text for several values of `more`, and its control codes."""

    title: str = Field(description="The first line of the text, if it is the title.")
    dial: list[PositionAnswer]
    passages: list[list[CodeAnswer]] = Field(
        description="The codes of each passage; long texts are split into passages."
    )
    notices: list[str]

    @classmethod
    def of(cls, exploration: Exploration, notices: Sequence[str]) -> Self:
        """Convert an exploration."""
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
        passages = [list(map(CodeAnswer.of, outputs)) for outputs in exploration.passages]
        return cls(
            title=exploration.document.title,
            dial=dial,
            passages=passages,
            notices=list(notices),
        )


class TextAnswer(BaseModel):
    """The text of a file."""

    title: str = Field(description="Empty if the file does not state it.")
    text: str = Field(description="Without title, page headers, references, code and markup.")


class ProblemAnswer(BaseModel):
    """Why a request is refused."""

    detail: str
