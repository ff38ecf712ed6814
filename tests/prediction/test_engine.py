"""The engine keeps the order, does not depend on batches, and equals recorded predictions."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from one2set.data.batch import collate, shift_right
from one2set.data.document import Document
from one2set.data.specials import EOS, NULL, UNK
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError
from one2set.model.import_release import import_checkpoint
from one2set.model.network import Network
from one2set.model.recurrent import Recurrent
from one2set.model.settrans import SetTrans
from one2set.model.transformer import Transformer
from one2set.prediction.engine import Engine
from one2set.prediction.exclusion import NESTED_STEPS
from one2set.prediction.predictor import WINDOW
from one2set.prediction.search import Generation, Search
from tests.networks import varied_exhird
from tests.prediction.same import assert_same

REFERENCE = Path(__file__).resolve().parents[2] / ".." / "shared" / "reference"
SEARCHES = [Search(), Search(beam=3), Search(beam=2, pool=True)]


@pytest.fixture(params=["settrans", "transformer", "recurrent"])
def network(request: pytest.FixtureRequest) -> Network:
    result: Network = request.getfixturevalue(request.param)
    return result


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_predictions_do_not_depend_on_the_batch(
    network: Network, vocabulary: WordVocabulary, documents: list[Document], search: Search
) -> None:
    batched = Engine(network, vocabulary, search=search, batch_tokens=4096)
    single = Engine(network, vocabulary, search=search, batch_tokens=1)
    some = documents[::4]
    assert_same(list(batched.predict(some)), list(single.predict(some)))


def test_the_tests_see_every_kind_of_slot(
    settrans: SetTrans,
    transformer: Transformer,
    recurrent: Recurrent,
    vocabulary: WordVocabulary,
    documents: list[Document],
) -> None:
    """Random networks must not be so dull that the tests here cannot fail."""
    sets = [slot for p in Engine(settrans, vocabulary).predict(documents) for slot in p.slots]
    sequences, others = (
        [slot for p in Engine(network, vocabulary).predict(documents) for slot in p.slots]
        for network in (transformer, recurrent)
    )
    assert len({slot.text for slot in sets}) > 50
    assert sum(slot.is_null for slot in sets) > 50
    assert sum(slot.ended and not slot.is_null for slot in sets) > 50
    assert sum(not slot.ended for slot in sets) > 50
    known = set(vocabulary.words)
    for slots in (sequences, others):
        assert sum(slot.tokens[-1] == "<sep>" for slot in slots) > 50
    for slots in (sets, sequences, others):
        assert any(word not in known for slot in slots for word in slot.text.split())


def plain(network: Network, vocabulary: WordVocabulary, document: Document) -> list[str]:
    """The phrases of a set, computed plainly: every code writes six tokens of the whole
    distribution, everything is computed again at each step, one document at a time."""
    example = vocabulary.encode(document)
    batch = collate([example], vocabulary_size=vocabulary.size)
    size = vocabulary.size + len(batch.oov[0])
    names = [*vocabulary.words[: vocabulary.size]]
    names += [vocabulary.text([id], unknown=example.unknown) for id in batch.oov[0]]
    memory = network.encode(batch)
    tokens = torch.zeros(1, network.rows, 6, dtype=torch.int64)
    for t in range(6):
        mixture = network.decode(memory, shift_right(tokens), torch.ones_like(tokens) > 0)
        full = mixture.distribution(size).view(network.rows, 6, size)
        tokens[0, :, t] = full[:, t].argmax(1)
    attention = mixture.attention.view(network.rows, 6, -1)
    phrases = []
    for row in range(network.rows):
        words, scores = [], []
        for t, token in enumerate(tokens[0, row].tolist()):
            if token in (EOS, NULL):
                break
            place = int(attention[row, t].argmax())
            words.append(document.words()[place] if token == UNK else names[token])
            scores.append(full[row, t, token].item())
        else:
            token = EOS
        if words and token != NULL:
            phrases.append((-sum(scores) / len(scores), row, " ".join(words)))
    return [text for _, _, text in sorted(phrases)]


@torch.no_grad()
def test_a_set_follows_the_specification(
    settrans: SetTrans, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    predictions = Engine(settrans, vocabulary).predict(documents)
    for document, prediction in zip(documents, predictions, strict=True):
        expected = plain(settrans, vocabulary, document)
        assert [slot.text for slot in prediction.phrases] == expected


def test_nested_rows_are_well_formed(vocabulary: WordVocabulary, documents: list[Document]) -> None:
    generation = Generation("nested", NESTED_STEPS, Search(exclusive=1))
    network, some = varied_exhird(), documents[::6]
    batched, single = (
        list(Engine(network, vocabulary, generation=generation, batch_tokens=n).predict(some))
        for n in (4096, 1)
    )
    assert_same(batched, single)
    assert len({len(prediction.slots) for prediction in batched}) > 3
    for prediction in batched:
        *phrases, end = prediction.slots
        assert end.tokens == ("<eos>",)
        assert 1 <= len(phrases) <= 20
        for slot in phrases:
            kind, *words, mark = slot.tokens
            assert kind in ("<peos>", "<null>")
            assert mark == "<sep>"
            assert slot.text == " ".join(words)
            assert len(words) <= 5
        assert [slot.text for slot in prediction.phrases] == [s.text for s in phrases if s.text]


def test_any_iterable_in_order_and_in_windows(
    settrans: SetTrans, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    pulled = 0

    def stream() -> Iterator[Document]:
        nonlocal pulled
        for number in range(WINDOW + 40):
            pulled += 1
            yield replace(documents[number % len(documents)], id=str(number))

    predictions = Engine(settrans, vocabulary).predict(stream())
    first = next(predictions)
    assert pulled == WINDOW
    assert [first.id, *(prediction.id for prediction in predictions)] == [
        str(n) for n in range(WINDOW + 40)
    ]
    assert list(Engine(settrans, vocabulary).predict([])) == []


def test_a_pool_holds_a_full_beam_of_phrases_for_each_code(
    settrans: SetTrans, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    plain_engine = Engine(settrans, vocabulary, search=Search(beam=3))
    pooled = Engine(settrans, vocabulary, search=Search(beam=3, pool=True))
    for plain, pool in zip(
        plain_engine.predict(documents[:5]), pooled.predict(documents[:5]), strict=True
    ):
        assert [slot.code for slot in plain.slots] == list(range(settrans.rows))
        assert [slot.code for slot in pool.slots] == [c for c in range(8) for _ in range(3)]
        assert all(slot.tokens[0] != "<null>" for slot in pool.slots)
        for slot in plain.slots:
            if not slot.is_null:
                assert slot.tokens == pool.slots[3 * slot.code].tokens


def test_gold_keyphrases_do_not_change_predictions(
    network: Network, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    blind = [replace(document, keyphrases=None) for document in documents]
    engine = Engine(network, vocabulary)
    assert list(engine.predict(documents)) == list(engine.predict(blind))


def test_documents_without_words_have_no_phrases(
    network: Network, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    empty = Document("empty", "", " \n ")
    predictions = list(Engine(network, vocabulary).predict([empty, documents[0], empty]))
    assert [prediction.id for prediction in predictions] == ["empty", documents[0].id, "empty"]
    assert [bool(prediction.slots) for prediction in predictions] == [False, True, False]
    assert predictions[0].source_length == 0


def test_unknown_words_are_copied(network: Network, vocabulary: WordVocabulary) -> None:
    document = Document("d", "", " ".join(f"zzq{i}x" for i in range(1500)))
    (prediction,) = Engine(network, vocabulary).predict([document])
    assert prediction.slots


def test_a_long_document_is_truncated_and_marked(
    network: Network, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    words = " ".join(word for document in documents for word in document.words())
    long = Document("long", "", words, tokenised=True)
    length = len(words.split())
    (whole,) = Engine(network, vocabulary, max_source_length=length).predict([long])
    assert (whole.source_length, whole.read_length) == (length, length)
    (cut,) = Engine(network, vocabulary, max_source_length=100).predict([long])
    assert (cut.source_length, cut.read_length) == (length, 100)
    start = replace(long, abstract=" ".join(words.split()[:100]))
    (expected,) = Engine(network, vocabulary).predict([start])
    assert_same([cut], [expected])
    assert cut.slots != whole.slots


def test_a_limit_of_a_pool_needs_a_pool(network: Network, vocabulary: WordVocabulary) -> None:
    engine = Engine(network, vocabulary)
    with pytest.raises(ConfigError, match="keep is 4, which limits a pool; add --pool"):
        engine.change_search({"keep": 4})
    engine.change_search({"keep": 4, "pool": True, "beam": 6})
    engine.change_search({"pool": False})  # a system's own limit is no mistake


def test_over_generation_keeps_the_most_probable_phrases(
    recurrent: Recurrent, vocabulary: WordVocabulary, documents: list[Document]
) -> None:
    """One row, every hypothesis of which is a phrase, in the order of the search."""
    search = Search(beam=6, length_penalty=0.0, pool=True, keep=4)
    how = Generation("phrase", 3, search)
    for document in documents[::12]:
        (prediction,) = Engine(recurrent, vocabulary, generation=how).predict([document])
        (whole,) = Engine(
            recurrent, vocabulary, generation=how, search=replace(search, keep=0)
        ).predict([document])
        assert len(prediction.slots) == 4 < len(whole.slots) == 6
        assert prediction.slots == whole.slots[:4]
        probabilities = [slot.probability for slot in whole.slots]
        assert probabilities == sorted(probabilities, reverse=True)
        assert prediction.phrases == [slot for slot in prediction.slots if slot.text]
        assert len({slot.tokens for slot in whole.slots}) == 6


@pytest.mark.parametrize(
    "options",
    [{"beam": 0}, {"keep": -1}, {"length_penalty": -1.0}, {"length_penalty": float("nan")}],
)
def test_an_invalid_search_is_an_error(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="expected"):
        Search(**options)  # type: ignore[arg-type]


def recorded_documents() -> list[Document]:
    documents = []
    for number, line in enumerate((REFERENCE / "data" / "docs.jsonl").read_text().splitlines()):
        title, _, abstract = json.loads(line)["src_line"].partition("<eos>")
        documents.append(Document(str(number), title.strip(), abstract.strip(), tokenised=True))
    return documents


@pytest.mark.shared
@pytest.mark.skipif(not REFERENCE.exists(), reason="../shared is not there")
@pytest.mark.parametrize("batch_tokens", [1, 300, 4096])
def test_predictions_equal_those_of_the_release(batch_tokens: int) -> None:
    checkpoint = REFERENCE / "checkpoint"
    network, vocabulary = import_checkpoint(
        checkpoint / "set_best_model.pt", checkpoint / "vocab.pt", heads=4
    )
    engine = Engine(network, vocabulary, batch_tokens=batch_tokens)
    lines = [
        ";".join(slot.text for slot in prediction.phrases)
        for prediction in engine.predict(recorded_documents())
    ]
    recorded = REFERENCE / "set" / "predictions_trained_docs.txt"
    assert lines == recorded.read_text().splitlines()


@pytest.mark.shared
@pytest.mark.skipif(not REFERENCE.exists(), reason="../shared is not there")
@pytest.mark.parametrize("kind", ["set", "seq"])
@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_imported_networks_batched_and_one_at_a_time(kind: str, search: Search) -> None:
    checkpoint = REFERENCE / "checkpoint"
    network, vocabulary = import_checkpoint(
        checkpoint / f"{kind}_best_model.pt", checkpoint / "vocab.pt", heads=4
    )
    batched, single = (
        list(Engine(network, vocabulary, search=search, batch_tokens=n).predict(documents))
        for n, documents in ((4096, recorded_documents()), (1, recorded_documents()))
    )
    assert_same(batched, single)
