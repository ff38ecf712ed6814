"""The documents that the rescorer is fitted on."""

import pytest

from one2set.data.document import Document
from one2set.keyphrases.learn import take_evenly


@pytest.mark.parametrize(
    ("count", "taken"),
    [
        (0, []),
        (4, [0, 1, 2, 3]),
        (5, [0, 2, 4]),
        (8, [0, 2, 4, 6]),
        (9, [0, 4, 8]),
        (30, [0, 8, 16, 24]),
    ],
)
def test_sampled_documents_are_evenly_spaced(count: int, taken: list[int]) -> None:
    documents = (Document(str(number), "", "") for number in range(count))
    assert [int(document.id) for document in take_evenly(documents, 4)] == taken
