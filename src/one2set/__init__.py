"""Keyphrase generation: One2Set (Ye et al., ACL 2021), its baselines, a trained model and a scorer.

    from one2set import KeyphraseGenerator
    KeyphraseGenerator().generate("Some text")

The public interface:

    KeyphraseGenerator  finds the keyphrases of texts
    Keyphrase           a keyphrase: text, score, present, spans
    KeyphraseList       the keyphrases of a text: a list that notebooks show as a table
    Document            a document: id, title, abstract, and keyphrases where they are known
    read                reads documents from files and folders
    Fields              names of the fields from which `read` takes a document's parts
    ErrorPolicy         what `read` does with records that it cannot use
    evaluate            scores predicted keyphrases against those of documents
    words_of            the words of a text
    stem_all            the stems of words, by which keyphrases are compared
    Corpus              a corpus that `one2set prepare` wrote
    Engine              the raw output of a network (needs torch)
    ConfigError         an invalid option or setting, or a missing package
    DataError           an error in the data

and the adapters for other libraries in `one2set.adapters`. Other modules may change without notice.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from one2set.data.corpus.corpus import Corpus
    from one2set.data.document import Document
    from one2set.data.reading.readers import read
    from one2set.data.reading.records import Fields
    from one2set.data.reading.streams import ErrorPolicy
    from one2set.data.text import stem_all, words_of
    from one2set.errors import ConfigError, DataError
    from one2set.evaluation.scoring import evaluate
    from one2set.keyphrases.generator import KeyphraseGenerator
    from one2set.keyphrases.results import Keyphrase, KeyphraseList
    from one2set.prediction.engine import Engine

    __version__: str

__all__ = [
    "ConfigError",
    "Corpus",
    "DataError",
    "Document",
    "Engine",
    "ErrorPolicy",
    "Fields",
    "Keyphrase",
    "KeyphraseGenerator",
    "KeyphraseList",
    "__version__",
    "evaluate",
    "read",
    "stem_all",
    "words_of",
]

# Modules are imported on first use, so that the command line starts at once.
_MODULES = {
    "ConfigError": "one2set.errors",
    "Corpus": "one2set.data.corpus.corpus",
    "DataError": "one2set.errors",
    "Document": "one2set.data.document",
    "Engine": "one2set.prediction.engine",
    "ErrorPolicy": "one2set.data.reading.streams",
    "Fields": "one2set.data.reading.records",
    "Keyphrase": "one2set.keyphrases.results",
    "KeyphraseGenerator": "one2set.keyphrases.generator",
    "KeyphraseList": "one2set.keyphrases.results",
    "evaluate": "one2set.evaluation.scoring",
    "read": "one2set.data.reading.readers",
    "stem_all": "one2set.data.text",
    "words_of": "one2set.data.text",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("one2set")
    if name not in _MODULES:
        raise AttributeError(f"module 'one2set' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
