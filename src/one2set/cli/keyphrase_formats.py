"""Keyphrases as text for people."""

from collections.abc import Sequence

from rich.text import Text

from one2set.bulk.keyphrase_formats import by_kind, cut_at_spans, spans_of
from one2set.data.document import Document
from one2set.keyphrases.results import Keyphrase

_SHOWN = 3000  # characters of a document that are shown with its keyphrases in colour


def readable(
    document: Document, keyphrases: Sequence[Keyphrase], *, named: bool, coloured: bool
) -> Text:
    """For the terminal: the text with its keyphrases in colour, then both kinds with scores."""
    shown = Text()
    if named:
        shown.append(f"{document.id}\n", style="bold underline")
    if coloured:
        text = document.text
        for part, marked in cut_at_spans(text[:_SHOWN], spans_of(keyphrases)):
            shown.append(part, style="bold black on yellow" if marked else "")
        rest = len(text) - _SHOWN
        shown.append(f" … and {rest:,} more characters\n\n" if rest > 0 else "\n\n")
    for title, lines in by_kind(keyphrases):
        shown.append(f"{title}\n", style="bold")
        for keyphrase in lines:
            shown.append(f"  {keyphrase.score:.2f}  ", style="dim")
            shown.append(keyphrase.text, style="green" if keyphrase.present else "cyan")
            shown.append(
                f"  ×{len(keyphrase.spans)}\n" if len(keyphrase.spans) > 1 else "\n", style="dim"
            )
    if not keyphrases:
        shown.append("no keyphrases\n", style="dim")
    return shown
