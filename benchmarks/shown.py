"""Count parts, fragments and generic words among the keyphrases that users see.

    python benchmarks/shown.py VALIDATION.jsonl --documents 200

A *part* is a shown phrase whose words are next to each other in another shown phrase. A *fragment*
ends with a word that ends fewer than one in five of the training keyphrases that have it, such as
an adjective. A *generic* phrase is a keyphrase of fewer than one in a hundred of the training texts
that have it. An *adjective* is a single word with a suffix of adjectives or adverbs; unlike the two
before, the selection does not use this measure. *Right* is a keyphrase of the author.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from one2set import Document, KeyphraseGenerator, read
from one2set.data.text import Stems, stem_all
from one2set.extraction.knowledge import Knowledge
from one2set.extraction.lexicon import Lexicon
from one2set.extraction.ngrams import hash_of
from one2set.keyphrases.results import Keyphrase
from one2set.model.paths import find_model_folder

_MIN_KEYPHRASES = 20  # that have a word, to judge it
_MIN_TEXTS = 100  # that have a phrase, to judge it
_ENDS, _GENERIC = 0.2, 0.01
_ADJECTIVE = re.compile(r"[\w-]+(?:ic|al|ive|ous|[ai]ble|ary|ed|ful|less|ly)")


def is_part(stems: Stems, others: Iterable[Stems]) -> bool:
    """Whether a phrase is within another one."""
    inside = f" {' '.join(stems)} "
    return any(stems != other and inside in f" {' '.join(other)} " for other in others)


def is_fragment(stems: Stems, lexicon: Lexicon) -> bool:
    """Whether the last word hardly ever ends a keyphrase."""
    words = lexicon.words(np.array([hash_of(stems[-1:])], np.uint64))
    inside, end = float(words.inside[0]), float(words.end[0])
    return inside >= _MIN_KEYPHRASES and end < _ENDS * inside


def is_generic(stems: Stems, lexicon: Lexicon) -> bool:
    """Whether it is hardly ever a keyphrase of the texts that have it."""
    keyphrases, texts = lexicon.phrases(np.array([hash_of(stems)], np.uint64))
    return float(texts[0]) >= _MIN_TEXTS and keyphrases[0] < _GENERIC * texts[0]


def count(document: Document, shown: Sequence[Keyphrase], lexicon: Lexicon) -> Counter[str]:
    """The counts of one document."""
    words = document.phrase_words([keyphrase.text for keyphrase in shown])
    stems = [stem_all(phrase) for phrase in words]
    gold = {stem_all(phrase) for phrase in document.phrase_words()}
    result: Counter[str] = Counter(documents=1)
    for keyphrase, phrase in zip(shown, stems, strict=True):
        side = "present" if keyphrase.present else "absent"
        result[side] += 1
        result[f"{side} right"] += phrase in gold
        if keyphrase.present and phrase:
            result["parts"] += is_part(phrase, stems)
            result["fragments"] += is_fragment(phrase, lexicon)
            result["generic"] += is_generic(phrase, lexicon)
            result["adjectives"] += _ADJECTIVE.fullmatch(keyphrase.text.lower()) is not None
    result["documents with parts"] = int(result["parts"] > 0)
    return result


def main() -> None:
    """Print the counts of all documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="+")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--model", default="default")
    parser.add_argument("--point", default="shown")
    options = parser.parse_args()
    scorer = Knowledge.load(find_model_folder(options.model)).candidate_scorer
    if scorer is None:
        raise SystemExit(f"{options.model} has no lexicon; add one with one2set learn")
    total: Counter[str] = Counter()
    documents = (document for path in options.file for document in read(path))
    chosen = islice(documents, options.documents)
    generator = KeyphraseGenerator(options.model, threads=1)
    for document, shown in generator.stream(chosen, point=options.point):
        total.update(count(document, shown, scorer.lexicon))
    for name, number in total.items():
        base = total["absent" if "absent" in name else "present"]
        share = (
            ""
            if name.startswith("documents") or name == "absent"
            else f"{number / max(base, 1):.1%}"
        )
        print(f"{name:22}{number:8,}  {share}")


if __name__ == "__main__":
    main()
