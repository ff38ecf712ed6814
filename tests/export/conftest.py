"""The networks and documents of the tests of predictions."""

from tests.prediction.conftest import documents, recurrent, settrans, transformer, vocabulary

__all__ = ["documents", "recurrent", "settrans", "transformer", "vocabulary"]
