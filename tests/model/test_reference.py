"""Batches, distributions and predictions equal those of the authors' release."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from one2set.data.batch import Batch, SetLayout, sequence_missing_eos, shift_right
from one2set.data.specials import EOS, NULL, PAD, UNK
from one2set.model.import_release import import_network
from one2set.model.transformer import Transformer
from one2set.prediction.greedy import greedy_set, roll_out
from tests.model import reference

pytestmark = reference.recorded

LAYOUTS = {
    "separate": SetLayout(8),
    "single": SetLayout(8, separate=False, peos=True),
}
SETS = pytest.mark.parametrize("kind", LAYOUTS)


@pytest.fixture(scope="module")
def network() -> Transformer:
    path = reference.FOLDER / "checkpoint" / "set_best_model.pt"
    return import_network(path, heads=reference.HEADS)


def set_batch(kind: str) -> Batch:
    return reference.by_length(reference.recording(f"set/batch_{kind}"), LAYOUTS[kind])


@SETS
def test_batches_are_the_recorded_ones(kind: str) -> None:
    expected, batch = reference.recording(f"set/batch_{kind}"), set_batch(kind)
    for ours, theirs in (
        (batch.source, "src"),
        (batch.source_extended, "src_oov"),
        (batch.source_mask, "src_mask"),
        (batch.targets, "trg_oov"),
        (batch.target_mask, "trg_mask"),
    ):
        assert np.array_equal(ours.numpy(), expected[theirs]), theirs
    assert list(map(len, batch.oov)) == expected["oov_counts"].tolist()


@SETS
def test_roll_out_is_the_recorded_one(kind: str, network: Transformer) -> None:
    expected, batch = reference.recording(f"set/trained_{kind}"), set_batch(kind)
    memory = network.encode(batch)
    reference.close(memory.states, expected["memory"][batch.source_mask.numpy()])
    size = expected["rollout_dist"].shape[-1]
    for number, step in enumerate(roll_out(network, memory, steps=2)):
        tokens = step.choice.tokens.view(8, 8)
        assert np.array_equal(tokens, expected["rollout_tokens"][..., number])
        full = step.mixture.distribution(size).view(8, 8, size)
        reference.close(full, expected["rollout_dist"][:, :, number])


@SETS
def test_teacher_forced_distributions_equal_the_recorded_ones(
    kind: str, network: Transformer
) -> None:
    expected, batch = reference.recording(f"set/trained_{kind}"), set_batch(kind)
    targets = torch.tensor(expected["assigned_target"])
    mask = torch.tensor(expected["assigned_mask"]).bool()
    cells = mask.flatten(1).numpy()
    inputs = shift_right(targets)
    known = inputs.where(inputs < reference.V, UNK)
    assert np.array_equal(known.numpy(), expected["decoder_input"])
    mixture = network.decode(network.encode(batch), inputs, mask)
    full = mixture.distribution(expected["dist"].shape[-1])
    reference.close(full, expected["dist"][cells])
    reference.close(mixture.attention, expected["copy_attn"][cells])
    reference.close(mixture.gate, expected["p_gen"][cells].squeeze(1))
    # What the loss takes of it, without the distribution.
    words = targets[mask]
    logs = torch.tensor(expected["log_dist_eps"][cells]).gather(1, words[:, None]).squeeze(1)
    torch.testing.assert_close(mixture.log_likelihood(words), logs, rtol=1e-5, atol=1e-5)


def test_sequence_distributions_are_the_recorded_ones() -> None:
    path = reference.FOLDER / "checkpoint" / "seq_best_model.pt"
    network = import_network(path, heads=reference.HEADS)
    recorded, expected = reference.recording("seq/batch"), reference.recording("seq/trained")
    batch = reference.by_length(recorded, sequence_missing_eos)
    assert np.array_equal(batch.targets.squeeze(1), recorded["trg_oov"])
    memory = network.encode(batch)
    reference.close(memory.states, expected["memory"][batch.source_mask.numpy()])
    mixture = network.decode(memory, shift_right(batch.targets), batch.target_mask)
    cells = batch.target_mask.squeeze(1).numpy()
    reference.close(mixture.distribution(expected["dist"].shape[-1]), expected["dist"][cells])
    reference.close(mixture.attention, expected["copy_attn"][cells])


def test_greedy_tokens_are_the_recorded_ones(network: Transformer) -> None:
    """The release goes on for six steps; ours agree up to where a row ends."""
    expected = reference.recording("set/greedy_trained")
    batch = reference.by_length(expected, LAYOUTS["separate"])
    decoded = greedy_set(network, network.encode(batch), steps=6)
    written = (decoded.tokens != PAD).numpy()
    last = np.take_along_axis(expected["tokens"], written.sum(-1, keepdims=True) - 1, -1)
    assert (np.isin(last, [EOS, NULL]) | written.all(-1, keepdims=True)).all()
    assert np.array_equal(decoded.tokens[written], expected["tokens"][written])
    reference.close(decoded.probability[written], expected["scores"][written])


def test_predictions_are_the_recorded_ones(network: Transformer) -> None:
    """Rows with ∅ dropped, the others by the mean probability of their words, `<unk>` replaced by
    the most attended word: tokens, probabilities and places in one."""
    batch = reference.batch(list(range(8)), LAYOUTS["separate"])
    rows = greedy_set(network, network.encode(batch), steps=6)
    spell_words = list(reference.words())

    def phrases(document: int) -> Iterator[tuple[float, str]]:
        for tokens, scores, places in zip(
            rows.tokens[document].tolist(),
            rows.probability[document],
            rows.position[document].tolist(),
            strict=True,
        ):
            length = tokens.index(EOS) if EOS in tokens else 6
            if NULL in tokens or not length:
                continue
            source, oov = reference.documents()[document]["src_words"], batch.oov[document]
            words = [
                source[place]
                if token == UNK
                else spell_words[token if token < reference.V else oov[token - reference.V]]
                for token, place in zip(tokens[:length], places[:length], strict=True)
            ]
            yield -scores[:length].mean().item(), " ".join(words)

    result = [";".join(phrase for _, phrase in sorted(phrases(index))) for index in range(8)]
    text = (reference.FOLDER / "set" / "predictions_trained_docs.txt").read_text(encoding="utf-8")
    assert result == text.removesuffix("\n").split("\n")
