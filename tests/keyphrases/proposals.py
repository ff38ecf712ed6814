"""Make proposals from stems."""

from collections.abc import Mapping

import numpy as np

from one2set.data.document import StemmedDocument
from one2set.data.text import Stems
from one2set.extraction.candidate_scorer import MIN_LOG_ODDS
from one2set.extraction.knowledge import Knowledge, Proposals
from one2set.extraction.ngrams import HashedPhrases


def make_proposals(
    knowledge: Knowledge,
    passage: StemmedDocument,
    log_odds: Mapping[Stems, float],
    pmi: Mapping[Stems, float],
) -> Proposals:
    """The n-grams with these log odds that the passage has, then all phrases of the list."""
    at = {stems: _find(stems, passage.stems) for stems in log_odds}
    ngrams = [stems for stems in log_odds if at[stems] >= 0]
    listed = [stems for stems in knowledge.phrase_list.phrases if stems not in ngrams]
    return Proposals(
        HashedPhrases.of([*ngrams, *listed]),
        np.array([*(at[stems] for stems in ngrams), *(-1 for _ in listed)], np.int64),
        np.array(
            [*(-1 for _ in ngrams), *(knowledge.phrase_list.index[stems] for stems in listed)],
            np.int64,
        ),
        np.array([log_odds[stems] for stems in ngrams] + [MIN_LOG_ODDS] * len(listed)),
        np.array([pmi.get(stems, 0.0) for stems in knowledge.phrase_list.phrases], np.float32),
        np.empty(0, np.float32),
    )


def _find(stems: Stems, text: Stems) -> int:
    starts = (at for at in range(len(text)) if text[at : at + len(stems)] == stems)
    return next(starts, -1)
