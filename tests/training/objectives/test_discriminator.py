"""The scores of the discriminator equal the equations, and it learns."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from one2set.data.batch import Batch, collate, sequence
from one2set.data.specials import UNK
from one2set.training.objectives.discriminator import (
    REAL,
    Discriminator,
    DiscriminatorOutput,
    Phrases,
    StackedBiGRU,
)
from tests.model import tiny

LISTS: list[list[Phrases]] = [
    [[[7, 8], [9]], [[10]]],
    [[], [[7, 8, 9], [11], [12, 13]]],
    [[[20, 21]], [[20, 21]]],
    [[[8]], []],
]


def discriminator(*, dropout: float = 0.0) -> Discriminator:
    torch.manual_seed(3)
    discriminator_ = Discriminator(vocabulary_size=tiny.V, embedding=8, hidden=6, dropout=dropout)
    tiny.randomise_weights(discriminator_)
    return discriminator_


@pytest.fixture
def batch() -> Batch:
    return tiny.batch(layout=sequence)


def test_a_score_is_that_of_the_phrases_so_far(batch: Batch) -> None:
    judge = discriminator()
    output = judge(batch, LISTS)
    assert output.mask.sum(2).tolist() == [[2, 1], [0, 3], [1, 1], [1, 0]]
    later: list[list[Phrases]] = [[list(phrases) for phrases in row] for row in LISTS]
    later[0][0] = [[7, 8], [30, 31], [32]]  # another second phrase, and a third
    later[1][1] = [[7, 8, 9], [11], [12, 13], [14], [15]]  # more room in every list
    other = judge(batch, later)
    torch.testing.assert_close(other.logits[0, 0, 0], output.logits[0, 0, 0])
    torch.testing.assert_close(other.logits[1, 1, :3], output.logits[1, 1, :3])
    torch.testing.assert_close(other.logits[0, 1, 0], output.logits[0, 1, 0])
    assert not torch.isclose(other.logits[0, 0, 1], output.logits[0, 0, 1])
    assert not torch.isclose(other.final[1, 1], output.final[1, 1])


def read(reader: StackedBiGRU, words: Sequence[int], judge: Discriminator) -> tuple[Tensor, Tensor]:
    """The states (S, D) and the summary (D,) of words that no padding follows."""
    known = [word if word < tiny.V else UNK for word in words]
    x = judge.embedding(torch.tensor(known))
    for layer in (reader.first, reader.second):
        ahead, back = layer.ahead(x)[0], layer.back(x.flip(0))[0]
        x = torch.cat([ahead, back.flip(0)], dim=1)
    return x, torch.cat([back[-1], ahead[-1]])


def test_scores_are_those_of_the_equations(batch: Batch) -> None:
    """The equations at the top of the module, one document, list and phrase at a time."""
    judge = discriminator()
    output = judge(batch, LISTS)
    for b, example in enumerate(tiny.examples()):
        h, _ = read(judge.document, example.source.tolist(), judge)  # (S, D)
        for k, phrases in enumerate(LISTS[b]):
            steps = [h.mean(0)]
            for phrase in phrases:
                _, end = read(judge.phrase, phrase, judge)  # k_j
                weights = torch.softmax(h @ (judge.attention.weight @ end), 0)  # h_i W k_j
                steps.append(judge.compress(torch.cat([weights @ h, end])))  # e_j
            states, _ = judge.list(torch.stack(steps))
            expected = judge.score(states[1:]).squeeze(1)
            torch.testing.assert_close(output.logits[b, k, : len(phrases)], expected)


@pytest.mark.parametrize("place", ["document", "phrase", "list"])
def test_dropout_acts_between_layers_in_training(place: str, batch: Batch) -> None:
    judge = discriminator(dropout=0.5)
    for reader in {"document", "phrase"} - {place}:
        getattr(judge, reader).drop.rate = 0.0
    if place != "list":
        judge.list.dropout = 0.0

    def logits(seed: int) -> Tensor:
        torch.manual_seed(seed)
        output: DiscriminatorOutput = judge(batch, LISTS)
        return output.logits[output.mask]

    assert not torch.isclose(logits(0), logits(1)).any()
    judge.eval()
    assert torch.equal(logits(0), logits(1))


def test_scores_do_not_depend_on_other_documents_or_lists(batch: Batch) -> None:
    judge = discriminator()
    together = judge(batch, LISTS)
    for document, example in enumerate(tiny.examples()):
        alone = collate([example], vocabulary_size=tiny.V, layout=sequence)
        for k, phrases in enumerate(LISTS[document]):
            output = judge(alone, [[phrases]])
            torch.testing.assert_close(
                output.scores[0, 0], together.scores[document, k, : output.mask.shape[2]]
            )


def test_the_same_phrases_depend_on_their_document(batch: Batch) -> None:
    output = discriminator()(batch, [[[[7, 8]]]] * 4)
    assert len({*output.final.flatten().tolist()}) == 4


def test_padding_of_the_source_does_not_matter(batch: Batch) -> None:
    judge = discriminator()
    filled = batch.source.where(batch.source_mask, 33)
    expected, actual = judge(batch, LISTS), judge(replace(batch, source=filled), LISTS)
    torch.testing.assert_close(actual.logits, expected.logits)


def test_means_and_final_scores_of_a_list(batch: Batch) -> None:
    output = discriminator()(batch, LISTS)
    scores = torch.sigmoid(output.logits)
    assert output.has_phrases.tolist() == [[True, True], [False, True], [True, True], [True, False]]
    torch.testing.assert_close(output.final[1, 1], output.logits[1, 1, 2])
    torch.testing.assert_close(output.means[1, 1], scores[1, 1].mean())
    torch.testing.assert_close(output.means[0, 0], scores[0, 0, :2].mean())
    assert output.means[1, 0] == 0
    assert output.scores[1, 0].tolist() == [0, 0, 0]


def test_unknown_words_are_all_unk(batch: Batch) -> None:
    judge = discriminator()
    copied: list[list[Phrases]] = [[[[tiny.V + b, 9]]] for b in range(4)]
    unknown: list[list[Phrases]] = [[[[UNK, 9]]]] * 4
    torch.testing.assert_close(judge(batch, copied).logits, judge(batch, unknown).logits)


def test_a_batch_without_phrases_can_be_scored(batch: Batch) -> None:
    output = discriminator()(batch, [[[], []]] * 4)
    assert not output.has_phrases.any()
    assert output.means.tolist() == [[0, 0]] * 4


def output_of(*logits: float) -> DiscriminatorOutput:
    """Of lists of one phrase each, of one document."""
    return DiscriminatorOutput(
        torch.tensor(logits)[None, :, None], torch.ones(1, len(logits), 1).bool()
    )


def test_real_phrases_have_a_smoothed_label() -> None:
    best, sure = math.log(REAL / (1 - REAL)), -100.0  # of the generated one
    assert output_of(best, sure).recognition_loss.item() == pytest.approx(0.3251, abs=1e-4)
    for logit in (best - 0.1, best + 0.1):
        assert output_of(logit, sure).recognition_loss > output_of(best, sure).recognition_loss
    at_a_loss = output_of(best, 0.0).recognition_loss
    assert at_a_loss.item() == pytest.approx(0.3251 + math.log(2), abs=1e-4)


def test_accuracy_is_of_pairs_that_can_be_judged() -> None:
    assert output_of(-0.2, -0.3, -0.1, -5.0).accuracy.item() == pytest.approx(2 / 3)
    assert output_of(-0.2, -0.2).accuracy.item() == 0  # who scores all the same recognises nothing
    nothing = DiscriminatorOutput(torch.zeros(2, 3, 1), torch.zeros(2, 3, 1).bool())
    assert nothing.pair_count == 0
    assert nothing.accuracy.item() == nothing.recognition_loss.item() == 0


def test_it_learns_to_discriminate_eight_documents() -> None:
    batch = tiny.batch(8, layout=sequence)
    real: list[Phrases] = [[[7 + d, 9], [10 + d]] for d in range(8)]
    # The same phrases, but another document's: only in its context is a list real or not.
    lists = [[real[d], real[(d + 1) % 8]] for d in range(8)]
    judge = discriminator(dropout=0.1)
    adam = torch.optim.Adam(judge.parameters(), lr=0.01)
    for _ in range(100):
        adam.zero_grad()
        (judge(batch, lists).recognition_loss / 16).backward()
        nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        adam.step()
    judge.eval()
    output = judge(batch, lists)
    real_logit, false_logit = output.final.unbind(1)
    assert torch.cat([real_logit > 0, false_logit < 0]).float().mean() > 0.95
    assert output.accuracy > 0.95
