"""The component works in a blank spaCy pipeline."""

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


def test_spacy_finds_the_component_by_its_entry_point() -> None:
    (entry,) = (e for e in entry_points(group="spacy_factories") if e.name == "one2set")
    assert entry.load() is make_component


def test_keyphrases_and_their_spans(
    nlp: Language, generator: KeyphraseGenerator, texts: list[str]
) -> None:
    spans = 0
    for text in texts:
        doc = nlp(text)
        expected = generator.generate(text, top=6)
        assert [
            (keyphrase.text, keyphrase.score, keyphrase.present) for keyphrase in doc._.keyphrases
        ] == [(own.text, own.score, own.present) for own in expected]
        for keyphrase, own in zip(doc._.keyphrases, expected, strict=True):
            for span, (start, end) in zip(keyphrase.spans, own.spans, strict=True):
                assert span.doc is doc
                assert span.start_char <= start < end <= span.end_char
                spans += 1
    assert spans


def test_many_documents_and_storage(nlp: Language, texts: list[str]) -> None:
    docs = list(nlp.pipe(texts))
    assert [doc.text for doc in docs] == texts
    for doc, text in zip(docs, texts, strict=True):
        alone = [
            (keyphrase.text, round(keyphrase.score, 5)) for keyphrase in nlp(text)._.keyphrases
        ]
        assert [
            (keyphrase.text, round(keyphrase.score, 5)) for keyphrase in doc._.keyphrases
        ] == alone
    again = Doc(nlp.vocab).from_bytes(docs[0].to_bytes())
    texts_of = [[span.text for span in keyphrase.spans] for keyphrase in docs[0]._.keyphrases]
    assert [[span.text for span in keyphrase.spans] for keyphrase in again._.keyphrases] == texts_of
    assert spacy.blank("en")("No component.")._.keyphrases == []
