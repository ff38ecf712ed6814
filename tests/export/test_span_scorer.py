"""The heads of an exported model compute what those of the network do."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from one2set.data.batch import collate
from one2set.data.head_targets import HeadTargets
from one2set.data.phrase_list import KnownPhrase, PhraseList
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import DataError
from one2set.export.export import export_model
from one2set.export.span_scorer import FILE, SpanScorer
from one2set.model.folder import load_heads, load_model, save_model
from one2set.model.heads import Heads
from one2set.model.settrans import SetTrans
from tests.model.tiny import V, examples, settrans

PHRASES = PhraseList({(f"phrase{n}",): KnownPhrase(f"phrase{n}", 50 - n) for n in range(7)})
BATCH = collate(examples(4), vocabulary_size=V)
LENGTHS = torch.tensor(BATCH.lengths)


@pytest.fixture(scope="module")
def heads() -> Heads:
    torch.manual_seed(3)
    found = Heads(PHRASES, documents=90, width=16, span_width=6, phrase_width=5, dropout=0.0).eval()
    for weight in found.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return found


@pytest.fixture(scope="module", params=["transformer", "bert"])
def network(request: pytest.FixtureRequest) -> SetTrans:
    return settrans(encoder=request.param).eval()


def export(network: SetTrans, heads: Heads, folder: Path, *, int8: bool) -> Path:
    words = [*SPECIALS, *map(str, range(len(SPECIALS), V))]
    save_model(folder / "trained", network, WordVocabulary(words, size=V), heads=heads)
    export_model(folder / "trained", folder / "exported", int8=int8)
    return folder / "exported"


def run_encoder(folder: Path) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(folder / "encoder.onnx")
    given = {
        "source": BATCH.source.numpy(),
        "lengths": np.array(BATCH.lengths, np.int32),
        "title_lengths": np.array(BATCH.title_lengths, np.int32),
    }
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


@torch.no_grad()
def test_spans_and_phrases_have_the_log_odds_of_the_network(
    network: SetTrans, heads: Heads, tmp_path: Path
) -> None:
    folder = export(network, heads, tmp_path, int8=False)
    found = run_encoder(folder)
    states = network.encode(BATCH).states
    expected = heads.phrases(states, BATCH.lengths, BATCH.title_lengths)
    np.testing.assert_allclose(found["phrases"], expected, rtol=1e-4, atol=1e-4)

    at, length = np.array([0, 1, 0, 2]), np.array([1, 1, 2, 1])
    offsets = (LENGTHS.cumsum(0) - LENGTHS).tolist()
    scorer = SpanScorer.load(folder)
    assert scorer is not None
    for edges, offset, count in zip(found["edges"], offsets, BATCH.lengths, strict=True):
        inside = at + length <= count
        first, last = torch.from_numpy(at[inside]), torch.from_numpy((at + length - 1)[inside])
        none = torch.empty(0, dtype=torch.int64)
        spans = HeadTargets(
            first + offset, last + offset, last - first + 1, first.bool(), none, none
        )
        np.testing.assert_allclose(
            scorer(edges, at[inside], length[inside]),
            heads.spans(states, spans),
            rtol=1e-4,
            atol=1e-4,
        )


def test_longer_spans_count_as_the_longest_known(heads: Heads, tmp_path: Path) -> None:
    scorer = SpanScorer.load(export(settrans().eval(), heads, tmp_path, int8=False))
    assert scorer is not None
    edges = np.random.default_rng(0).normal(size=(9, 12)).astype(np.float32)
    edges[4] = edges[6]
    five, seven = scorer(edges, np.array([0, 0]), np.array([5, 7]))
    assert five == seven


@pytest.mark.parametrize("int8", [False, True])
def test_heads_can_be_loaded_from_an_exported_folder(
    heads: Heads, tmp_path: Path, int8: bool
) -> None:
    folder = export(settrans().eval(), heads, tmp_path, int8=int8)
    found = load_heads(folder)
    assert found is not None
    assert found.phrase_list.phrases == PHRASES.phrases
    for name, weight in heads.state_dict().items():
        torch.testing.assert_close(found.state_dict()[name], weight, rtol=0, atol=0.02)
    assert load_model(folder).network.arguments == settrans().arguments


def test_a_damaged_file_is_named(heads: Heads, tmp_path: Path) -> None:
    folder = export(settrans().eval(), heads, tmp_path, int8=False)
    (folder / FILE).write_bytes(b"no arrays")
    with pytest.raises(DataError, match=f"{FILE}: is not a span scorer"):
        SpanScorer.load(folder)
