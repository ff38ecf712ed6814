"""Networks with varied output, and the bundled sample."""

from importlib.resources import files

import pytest

from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.data.vocabulary import WordVocabulary
from one2set.model.recurrent import Recurrent
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer
from tests.networks import (
    small_vocabulary,
    varied_recurrent,
    varied_settrans,
    varied_transformer,
)


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    return list(read(str(files("one2set.data") / "sample" / "documents.jsonl")))


@pytest.fixture(scope="session")
def vocabulary(documents: list[Document]) -> WordVocabulary:
    return small_vocabulary(documents)


@pytest.fixture(scope="session")
def settrans() -> SetTrans:
    return varied_settrans()


@pytest.fixture(scope="session")
def transformer() -> Transformer:
    return varied_transformer()


@pytest.fixture(scope="session")
def recurrent() -> Recurrent:
    return varied_recurrent()
