"""Each of the three losses equals its formula."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from torch import nn

from one2set.data.batch import Batch
from one2set.data.document import Document
from one2set.data.example import Example
from one2set.data.specials import SPECIALS
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError
from one2set.model.folder import load_heads, load_model, save_model
from one2set.training.config import Config
from one2set.training.objectives.multitask import MultiTaskLoss
from one2set.training.objectives.set_loss import SetLoss
from one2set.training.systems import BuiltSystem, build

WORDS = ["set", "graph", "network", "learning", "we", "train", "deep", "."]
VOCABULARY = WordVocabulary([*SPECIALS, *WORDS], size=len(SPECIALS) + len(WORDS))
DOCUMENTS = [
    Document("a", "deep network", "we train . graph learning", ("deep network", "set")),
    Document("b", "", "set learning", ("learning", "graph", "deep network")),
]
SIZES = ["model.width=8", "model.heads=2", "model.feed_forward=8", "model.encoder_layers=1"]
SIZES += ["model.decoder_layers=1", "model.num_codes=4", "model.dropout=0"]


def built(*settings: str) -> tuple[BuiltSystem, Sequence[Example]]:
    examples = [VOCABULARY.encode(document) for document in DOCUMENTS]
    # Ten documents must share a phrase for it to be known.
    train = examples * 10
    torch.manual_seed(0)
    config = Config.scale("tiny").override([*SIZES, *settings])
    return build("settrans", config, VOCABULARY, train=train), examples


BOTH = ("heads.span_weight=0.5", "heads.phrase_weight=2")


def objective_and_batch(*settings: str) -> tuple[MultiTaskLoss, Batch]:
    system, examples = built(*settings)
    assert isinstance(system.objective, MultiTaskLoss)
    return system.objective, system.collate(examples)


def test_the_sum_is_that_of_the_three_losses_with_their_weights() -> None:
    objective, batch = objective_and_batch(*BOTH)
    loss = objective(batch)
    alone = SetLoss(objective.network, phrase_length=objective.set_loss.layout.phrase_length)(batch)
    parts = loss.parts
    assert set(parts) == {"present", "absent", "spans", "phrases"}
    torch.testing.assert_close(parts["present"] + parts["absent"], alone.sum.detach())
    assert loss.tokens == alone.tokens
    expected = alone.sum + 0.5 * parts["spans"] + 2 * parts["phrases"]
    torch.testing.assert_close(loss.sum, expected)


def test_span_and_phrase_losses_equal_plain_sums() -> None:
    objective, batch = objective_and_batch(*BOTH)
    heads, targets = objective.heads, batch.heads
    assert targets is not None
    states = objective.network.encode(batch).states
    spans = heads.spans
    expected = torch.zeros(())
    for first, last, length, right in zip(*(x.tolist() for x in targets[:4]), strict=True):
        x = spans.first(states[first]) + spans.last(states[last]) + spans.length.weight[length - 1]
        logit = spans.out(nn.functional.silu(spans.hidden(nn.functional.silu(x))))
        probability = torch.sigmoid(logit).squeeze()
        expected = expected - (probability if right else 1 - probability).log()
    loss = objective(batch)
    torch.testing.assert_close(loss.parts["spans"], expected.detach())

    known = heads.phrase_list.index
    assert set(known) == {("deep", "network"), ("set",), ("learn",), ("graph",)}
    counts = {("deep", "network"): 20, ("set",): 10, ("learn",): 10, ("graph",): 10}
    gold = [{("deep", "network"), ("set",)}, {("learn",), ("graph",), ("deep", "network")}]
    by_document = torch.split(states, list(batch.lengths))
    expected = torch.zeros(())
    for x, title, phrases in zip(by_document, batch.title_lengths, gold, strict=True):
        pooled = torch.cat([x.mean(0), x[:title].mean(0)])
        logits = heads.phrases.out(nn.functional.silu(heads.phrases.hidden(pooled)))
        for phrase, number in known.items():
            probability = torch.sigmoid(logits[number])
            weight = counts[phrase] / (counts[phrase] + 20)
            expected = expected - weight * (
                (probability if phrase in phrases else 1 - probability).log()
            )
    torch.testing.assert_close(loss.parts["phrases"], expected.detach())


def test_each_loss_reaches_the_encoder() -> None:
    objective, batch = objective_and_batch(*BOTH)
    encoder = list(objective.network.encoder.parameters())
    states = objective.network.encode(batch)
    assert batch.heads is not None
    for loss in (
        objective._span_loss(states.states, batch.heads),
        objective._phrase_loss(states.states, batch),
    ):
        gradients = torch.autograd.grad(loss, encoder, retain_graph=True)
        assert all(gradient.abs().sum() > 0 for gradient in gradients)


def test_parameters_keep_the_names_of_the_set_loss() -> None:
    objective, _ = objective_and_batch(*BOTH)
    names = {name for name, _ in objective.named_parameters() if not name.startswith("heads.")}
    assert names == {name for name, _ in objective.set_loss.named_parameters()}


def test_an_untrained_classifier_predicts_phrase_frequencies() -> None:
    objective, batch = objective_and_batch(*BOTH)
    nn.init.zeros_(objective.heads.phrases.out.weight)
    states = objective.network.encode(batch).states
    logits = objective.heads.phrases(states, batch.lengths, batch.title_lengths)
    number = objective.heads.phrase_list.index
    torch.testing.assert_close(torch.sigmoid(logits[0, number[("set",)]]), torch.tensor(0.5))
    assert number[("deep", "network")] == 0  # the most frequent


def test_without_weights_it_is_the_papers_set_loss() -> None:
    system, examples = built()
    assert isinstance(system.objective, SetLoss)
    assert system.heads is None
    assert system.collate(examples).heads is None


def test_only_a_settrans_has_these_heads() -> None:
    config = Config.scale("tiny").override(["heads.span_weight=1"])
    with pytest.raises(ConfigError, match="only SetTrans"):
        build("transformer", config, VOCABULARY)


def test_heads_are_saved_with_the_model(tmp_path: Path) -> None:
    system, examples = built(*BOTH)
    batch = system.collate(examples)
    assert system.heads is not None
    assert batch.heads is not None
    folder = tmp_path / "model"
    save_model(folder, system.network, VOCABULARY, heads=system.heads)
    heads, network = load_heads(folder), load_model(folder).network
    assert heads is not None
    assert list(heads.phrase_list.phrases) == list(system.heads.phrase_list.phrases)
    states = network.encode(batch).states  # type: ignore[attr-defined]
    torch.testing.assert_close(
        heads.spans(states, batch.heads), system.heads.spans(states, batch.heads)
    )
    save_model(tmp_path / "plain", system.network, VOCABULARY)
    assert load_heads(tmp_path / "plain") is None
