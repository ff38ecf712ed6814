"""The span rescorer: its network equals torch's, states do not depend on the batch, it learns."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import silu

from one2set.arrays import Float32s
from one2set.data.document import Document
from one2set.data.text import stem_all
from one2set.data.vocabulary import PieceVocabulary, WordVocabulary
from one2set.errors import DataError
from one2set.export.export import export_model
from one2set.extraction.build_lexicon import LabelledTexts, chunk_documents
from one2set.extraction.candidate_scorer import CandidateScorer
from one2set.extraction.features import NUM_FEATURES
from one2set.extraction.fit_knowledge import fit_candidate_scorer, fit_span_rescorer
from one2set.extraction.span_rescorer import FILE, SpanRescorer, pool_states
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.learn import add_span_rescorer
from one2set.model.folder import save_model
from one2set.model.manifest import update_manifest
from one2set.model.paths import find_model_folder
from one2set.model.settrans import SetTrans
from one2set.prediction.engine import Engine
from one2set.prediction.prediction import TokenStates
from one2set.prediction.runtime import Runtime


def random_rescorer(width: int, seed: int = 0) -> SpanRescorer:
    draw = np.random.default_rng(seed)
    shapes = (width, 8), (NUM_FEATURES + 1, 4), (4,), (4, 3), (3,), (3,)
    return SpanRescorer(*(draw.normal(size=shape).astype(np.float32) for shape in shapes))


@pytest.fixture(scope="module")
def candidate_scorer(documents: list[Document]) -> CandidateScorer:
    return fit_candidate_scorer(*[chunk_documents(documents)] * 2)


@pytest.fixture
def exported(settrans: SetTrans, vocabulary: WordVocabulary, tmp_path: Path) -> Path:
    save_model(tmp_path / "trained", settrans, vocabulary)
    export_model(tmp_path / "trained", tmp_path / "exported", int8=False)
    return tmp_path / "exported"


def test_the_network_equals_torchs() -> None:
    draw = np.random.default_rng(1)
    span_rescorer = random_rescorer(5)
    states, features = (draw.normal(size=s).astype(np.float32) for s in ((9, 5), (3, NUM_FEATURES)))
    odds = np.array([-1, 0, 2], np.float32)
    at, length = np.array([0, 4, 7]), np.array([1, 3, 2])
    edges, inputs, bias, hidden, hidden_bias, last = (
        torch.from_numpy(getattr(span_rescorer, name)) for name in SpanRescorer.__slots__
    )
    begin, end = torch.from_numpy(states[at]), torch.from_numpy(states[at + length - 1])
    given = torch.from_numpy(np.column_stack([features, odds]))
    x = silu(begin @ edges[:, :4] + end @ edges[:, 4:] + given @ inputs + bias)
    expected = torch.from_numpy(odds) + silu(x @ hidden + hidden_bias) @ last
    actual = span_rescorer(features, odds, span_rescorer.project(states), at, length)
    np.testing.assert_allclose(actual, expected.numpy(), atol=0.03)  # views have 16 bits


def test_saving_and_loading_changes_nothing(tmp_path: Path) -> None:
    assert SpanRescorer.load(tmp_path) is None
    span_rescorer = random_rescorer(5)
    span_rescorer.save(tmp_path)
    loaded = SpanRescorer.load(tmp_path)
    assert loaded is not None
    for name in SpanRescorer.__slots__:
        np.testing.assert_allclose(
            getattr(loaded, name), getattr(span_rescorer, name), rtol=1e-3, atol=1e-3
        )
    (tmp_path / FILE).write_bytes(b"nothing")
    with pytest.raises(DataError, match="not a span rescorer"):
        SpanRescorer.load(tmp_path)


def test_engine_and_runtime_give_the_same_states_for_any_batch(
    exported: Path, settrans: SetTrans, documents: list[Document]
) -> None:
    runtime, engine = Runtime(exported, threads=1), Engine.load(exported)
    for predictor in (runtime, engine):
        assert next(predictor.predict(documents[:1])).states is None
    project = random_rescorer(settrans.embedding.embedding_dim).project
    some = [*documents[:7], Document("empty", "", "")]
    predictions = (predictor.predict(some, project=project) for predictor in (runtime, engine))
    for ours, theirs in zip(*predictions, strict=True):
        if ours.id == "empty":
            assert ours.states is theirs.states is None
            continue
        assert ours.states is not None
        assert theirs.states is not None
        values = ours.states.values
        np.testing.assert_allclose(values, theirs.states.values, rtol=0.01, atol=0.02)
        assert ours.states.spans == theirs.states.spans
        same = [document for document in some if document.id == ours.id]
        alone = next(runtime.predict(same, project=project))
        assert alone.states is not None
        np.testing.assert_allclose(alone.states.values, values, rtol=0.01, atol=0.02)


def test_states_of_words_are_means_over_their_pieces() -> None:
    vocabulary = PieceVocabulary.from_file(find_model_folder("default") / "tokenizer.json")
    document = Document(
        "d", "Micromagnetics, 3D", "Photo-electrochemical (ZnO) at 17.5 %; naïve ﬁt."
    )
    most = len(vocabulary.encode(document).source) - 2  # the last two pieces are not read

    pieces = vocabulary.encode_source(document)[1][:most]
    words = document.tokens().spans
    pooled = pool_states(TokenStates(np.eye(most, dtype=np.float32), pieces), words)
    assert len(pooled) == len(words) == len(document.words())
    for view, (start, end) in zip(pooled, words, strict=True):
        own = [n for n, (a, b) in enumerate(pieces) if a < end and b > start and end > start]
        expected = np.isin(np.arange(most), own) / max(len(own), 1)
        np.testing.assert_allclose(view, expected, atol=1e-6)


def test_it_learns_from_encoder_states(
    documents: list[Document], candidate_scorer: CandidateScorer
) -> None:
    draw = np.random.default_rng(2)

    def states(document: Document) -> Float32s:
        """Noise, but for one number that is high at the first words of keyphrases."""
        stems = stem_all(document.words())
        phrases = LabelledTexts([document]).keyphrases[0]
        result = draw.normal(size=(len(stems), 6)).astype(np.float32)
        for at in range(len(stems)):
            result[at, 0] = any(stems[at : at + len(phrase)] == phrase for phrase in phrases)
        return result

    span_rescorer = fit_span_rescorer(
        candidate_scorer, [(document, states(document)) for document in documents[:40]]
    )
    assert span_rescorer is not None
    changes: dict[bool, list[float]] = {True: [], False: []}  # by whether it is a keyphrase
    for document in documents[40:]:
        word_states = span_rescorer.project(states(document))
        stems, phrases = stem_all(document.words()), set(LabelledTexts([document]).keyphrases[0])
        words = LabelledTexts([document]).words
        before = candidate_scorer.select(words)[2]
        at, length, after = replace(candidate_scorer, span_rescorer=span_rescorer).select(
            words, word_states
        )
        columns = (at.tolist(), length.tolist(), (after - before).tolist())
        for start, count, change in zip(*columns, strict=True):
            changes[stems[start : start + count] in phrases].append(change)
    assert np.mean(changes[True]) > np.mean(changes[False]) + 1
    assert fit_span_rescorer(candidate_scorer, []) is None


def test_a_span_rescorer_is_added_to_an_exported_model(
    exported: Path, documents: list[Document], candidate_scorer: CandidateScorer
) -> None:
    candidate_scorer.save(exported)
    update_manifest(exported)
    text = documents[0].text
    before = KeyphraseGenerator(exported, threads=1).generate(text, more=3)
    add_span_rescorer(exported, candidate_scorer, documents)
    update_manifest(exported)
    assert (exported / FILE).exists()
    after = KeyphraseGenerator(exported, threads=1).generate(text, more=3)
    assert {path.text for path in before} & {path.text for path in after}


def test_the_generator_uses_it_and_loads_it_once(
    exported: Path,
    settrans: SetTrans,
    documents: list[Document],
    candidate_scorer: CandidateScorer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded: list[Path] = []
    load = SpanRescorer.load

    def counted(folder: Path) -> SpanRescorer | None:
        loaded.append(folder)
        return load(folder)

    monkeypatch.setattr(SpanRescorer, "load", counted)
    Calibration(SideCalibration(proposed=LogisticModel(0.0, {"candidate_score": 1.0}))).save(
        exported
    )
    scores = []
    for span_rescorer in (None, random_rescorer(settrans.embedding.embedding_dim)):
        replace(candidate_scorer, span_rescorer=span_rescorer).save(exported)
        update_manifest(exported)
        loaded.clear()
        keyphrases = KeyphraseGenerator(exported, threads=1).generate(
            documents[0].text, only="present"
        )
        assert loaded == [exported]
        scores.append({keyphrase.text: keyphrase.score for keyphrase in keyphrases})
    assert scores[0]
    assert scores[0] != scores[1]
