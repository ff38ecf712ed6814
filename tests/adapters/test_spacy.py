"""The component in a real, blank pipeline."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc

from one2set.adapters.spacy import make_component
from one2set.keyphrases.generator import KeyphraseGenerator


@pytest.fixture(scope="module")
def nlp(model: Path) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("one2set", config={"model": str(model), "top": 6, "threads": 1})
    return nlp


def test_spacy_finds_it_by_itself() -> None:
    (entry,) = (e for e in entry_points(group="spacy_factories") if e.name == "one2set")
    assert entry.load() is make_component


def test_keyphrases_and_their_spans(
    nlp: Language, generator: KeyphraseGenerator, texts: list[str]
) -> None:
    spans = 0
    for text in texts:
        doc = nlp(text)
        expected = generator.generate(text, top=6)
        assert [(one.text, one.score, one.present) for one in doc._.keyphrases] == [
            (one.text, one.score, one.present) for one in expected
        ]
        for one, other in zip(doc._.keyphrases, expected, strict=True):
            for span, (start, end) in zip(one.spans, other.spans, strict=True):
                assert span.doc is doc
                assert span.start_char <= start < end <= span.end_char
                spans += 1
    assert spans


def test_many_documents_and_storage(nlp: Language, texts: list[str]) -> None:
    found = list(nlp.pipe(texts))
    assert [doc.text for doc in found] == texts
    for doc, text in zip(found, texts, strict=True):
        alone = [(one.text, round(one.score, 5)) for one in nlp(text)._.keyphrases]
        assert [(one.text, round(one.score, 5)) for one in doc._.keyphrases] == alone
    again = Doc(nlp.vocab).from_bytes(found[0].to_bytes())
    texts_of = [[span.text for span in one.spans] for one in found[0]._.keyphrases]
    assert [[span.text for span in one.spans] for one in again._.keyphrases] == texts_of
    assert spacy.blank("en")("No component.")._.keyphrases == []
