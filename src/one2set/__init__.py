"""one2set: keyphrases as a set."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from one2set.data.document import Document
    from one2set.data.reading.readers import read
    from one2set.evaluation.scoring import evaluate
    from one2set.keyphrases.generator import KeyphraseGenerator
    from one2set.keyphrases.selection import Keyphrase

    __version__: str

__all__ = ["Document", "Keyphrase", "KeyphraseGenerator", "__version__", "evaluate", "read"]

# Imported when they are asked for, so that the command line starts at once.
_PLACES = {
    "Document": "one2set.data.document",
    "Keyphrase": "one2set.keyphrases.selection",
    "KeyphraseGenerator": "one2set.keyphrases.generator",
    "evaluate": "one2set.evaluation.scoring",
    "read": "one2set.data.reading.readers",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("one2set")
    if name not in _PLACES:
        raise AttributeError(f"module 'one2set' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
