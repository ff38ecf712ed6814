"""From predictions to scores, exactly as the field computes them."""

from collections.abc import Iterable, Sequence

from one2set.data.document import Document
from one2set.evaluation.metrics import CUTOFFS, GROUPS, Cutoff, Figures, Group, figures
from one2set.evaluation.protocols import YE2021, protocol_named
from one2set.evaluation.scoring import gold_of_document, score


def evaluate(
    documents: Iterable[Document],
    predictions: Iterable[Sequence[str]],
    *,
    protocol: str = YE2021.name,
) -> dict[Group, dict[Cutoff, Figures]]:
    """The figures of a system's phrases, best first, one sequence for each document.

    `evaluate(documents, predictions)["present"]["M"].f1` is the paper's F1@M.
    """
    scores = score([gold_of_document(document) for document in documents], predictions)
    chosen = protocol_named(protocol)
    return {
        group: {cutoff: figures(scores.groups[group], cutoff, chosen) for cutoff in CUTOFFS}
        for group in GROUPS
    }
