"""An index by keyphrases: which documents are about something, in any inflection.

python examples/search_index.py papers.jsonl "graph networks"
"""

import argparse
from collections import defaultdict

from one2set import KeyphraseGenerator, read, stem_all, words_of

Index = dict[tuple[str, ...], list[tuple[float, str]]]


def build(generator: KeyphraseGenerator, path: str) -> Index:
    """From each keyphrase, and each of its words, to documents with how likely they have it."""
    best: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for document, keyphrases in generator.stream(read(path)):
        for one in keyphrases:
            stems = stem_all(words_of(one.text))
            for key in {stems, *((stem,) for stem in stems)}:
                best[key][document.id] = max(best[key].get(document.id, 0.0), one.score)
    return {
        key: sorted(((score, id) for id, score in found.items()), reverse=True)
        for key, found in best.items()
    }


def search(index: Index, query: str) -> list[tuple[float, str]]:
    """Documents that have the query as a keyphrase; else those that have all of its words."""
    stems = stem_all(words_of(query))
    if stems in index:
        return index[stems]
    by_word = [{id: score for score, id in index.get((stem,), [])} for stem in stems]
    shared = set.intersection(*map(set, by_word)) if by_word else set()
    return sorted(((min(word[id] for word in by_word), id) for id in shared), reverse=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("documents", help="any file or folder that one2set reads")
    arguments.add_argument("query", nargs="+")
    arguments.add_argument("--model", default="default")
    given = arguments.parse_args()

    index = build(KeyphraseGenerator(given.model), given.documents)
    print(f"{len(index):,} entries")
    for query in given.query:
        for score, id in search(index, query)[:10]:
            print(f"{query}\t{score:.2f}\t{id}")


if __name__ == "__main__":
    main()
