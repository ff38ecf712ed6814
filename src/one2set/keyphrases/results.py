"""What users get: a keyphrase, and the keyphrases of a text as a list that notebooks can show."""

from dataclasses import dataclass

from one2set.data.text import Span


@dataclass(frozen=True, slots=True, repr=False)
class Keyphrase:
    """A keyphrase of a text.

    Attributes:
        text: The phrase, spelt as in the text if it occurs there.
        score: Calibrated probability, from 0 to 1, that the phrase is a keyphrase of the text.
        present: True if the phrase occurs in the text, False if it is absent from it.
        spans: All occurrences in any inflection, as `(start, end)`: the phrase is
            `text[start:end]`. Empty for absent keyphrases.
        id: The identifier of the term, if a vocabulary was given that has one; else None.
    """

    text: str
    score: float
    present: bool
    spans: tuple[Span, ...]
    id: str | None = None

    def __repr__(self) -> str:
        side = "present" if self.present else "absent"
        return f"Keyphrase({self.text!r}, {self.score:.2f}, {side})"


class KeyphraseList(list[Keyphrase]):
    """The keyphrases of a text, best first: a list, which Jupyter shows as a table."""

    def _repr_html_(self) -> str:
        from html import escape  # here, because it is slow to import

        rows = "".join(
            f"<tr><td>{escape(keyphrase.text)}</td><td>{keyphrase.score:.2f}</td>"
            f"<td>{'present' if keyphrase.present else 'absent'}</td></tr>"
            for keyphrase in self
        )
        head = "<tr><th>keyphrase</th><th>score</th><th></th></tr>"
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
