"""catSeq's network against its formulas, word by word (baselines.md §11, tests 9–12)."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from one2set.data.batch import Batch, collate, one_to_one, sequence, shifted
from one2set.data.specials import BOS, UNK
from one2set.model.recurrent import Recurrent
from tests.model import padded, tiny


@pytest.fixture(params=[False, True], ids=["plain", "title"])
def network(request: pytest.FixtureRequest) -> Recurrent:
    return tiny.recurrent(title_guided=request.param)


def cell(network: Recurrent, x: Tensor, h: Tensor) -> Tensor:
    """One step of a GRU."""
    weight = network.decoder.get_parameter
    of_x = (weight("weight_ih_l0") @ x + weight("bias_ih_l0")).chunk(3)
    of_h = (weight("weight_hh_l0") @ h + weight("bias_hh_l0")).chunk(3)
    reset, update = (torch.sigmoid(a + b) for a, b in zip(of_x[:2], of_h[:2], strict=True))
    new = torch.tanh(of_x[2] + reset * of_h[2])
    return (1 - update) * new + update * h


def plainly(network: Recurrent, batch: Batch) -> Tensor:
    """(C, X) what follows each real cell, one document, one row and one word at a time."""
    size = padded.extended_size(batch, network)
    states, summary = network.encoder(batch, network.embedding)
    rows = []
    for b, length in enumerate(batch.lengths):
        memory = states[b, :length]
        for inputs, mask in zip(shifted(batch.targets)[b], batch.target_mask[b], strict=True):
            h = summary[b]
            for word in inputs[mask]:
                e = network.embedding.weight[word if word < tiny.V else UNK]
                h = cell(network, e, h)
                inner = torch.tanh(network.attention.key(memory) + network.attention.query(h))
                weights = network.attention.score(inner).squeeze(1).softmax(0)
                context = weights @ memory
                z = network.features(torch.cat([context, h]))
                table = network.vocabulary.weight
                generated = torch.softmax(table[:, :-1] @ z + table[:, -1], 0)
                gate = torch.sigmoid(network.gate(torch.cat([context, h, e])))
                whole = torch.nn.functional.pad(gate * generated, (0, size - len(generated)))
                words = batch.source_extended[b, :length]
                rows.append(whole.index_add(0, words, (1 - gate) * weights))
    return torch.stack(rows)


def test_it_is_what_the_formulas_say_and_so_are_its_gradients(network: Recurrent) -> None:
    """With one row per document, and with one per phrase."""
    for layout in (sequence, one_to_one):
        batch = tiny.batch(4, layout=layout)
        words = batch.targets[batch.target_mask]
        mixture = network.decode(network.encode(batch), shifted(batch.targets), batch.target_mask)
        expected = plainly(network, batch)
        size = padded.extended_size(batch, network)
        torch.testing.assert_close(mixture.distribution(size), expected, rtol=1e-5, atol=1e-6)

        gradients = []
        for loss in (
            mixture.log_likelihood(words).sum(),
            (expected + 1e-8).log().gather(1, words[:, None]).sum(),
        ):
            network.zero_grad()
            torch.autograd.backward(loss)
            gradients.append({n: w.grad.clone() for n, w in network.named_parameters()})  # type: ignore[union-attr]
        for name, gradient in gradients[0].items():
            torch.testing.assert_close(
                gradient, gradients[1][name], rtol=1e-4, atol=1e-5, msg=f"{layout} {name}"
            )


def test_what_was_read_reaches_the_next_state_and_what_was_looked_at_does_not(
    network: Recurrent,
) -> None:
    memory = network.encode(tiny.batch(layout=sequence))
    blind = replace(memory, keys=-memory.keys, states=-memory.states)
    first, other = (torch.full((4,), word) for word in (BOS, 9))
    states = [network.start(seen, steps=2) for seen in (memory, blind, memory)]
    looked = [network.step(state, first) for state in states]
    assert not looked[0].features.allclose(looked[1].features)
    for state, token in zip(states, (first, first, other), strict=True):
        network.step(state, token)
    assert torch.equal(states[0].hidden, states[1].hidden)
    assert not states[0].hidden.allclose(states[2].hidden)


def test_a_document_has_any_number_of_rows(network: Recurrent) -> None:
    """Every pair of a document and a phrase is as it would be alone."""
    batch = tiny.batch(6, layout=one_to_one)
    assert len(set(batch.target_mask.any(2).sum(1).tolist())) > 1
    memory = network.encode(batch)
    together = network.decode(memory, shifted(batch.targets), batch.target_mask)
    found = together.log_likelihood(batch.targets[batch.target_mask])
    expected = []
    for example in tiny.examples(6):
        for present, absent in [
            *(((phrase,), ()) for phrase in example.present),
            *(((), (phrase,)) for phrase in example.absent),
        ]:
            pair = replace(example, present=present, absent=absent)
            one = collate([pair], vocabulary_size=tiny.V, layout=sequence)
            mixture = network.decode(network.encode(one), shifted(one.targets), one.target_mask)
            expected.append(mixture.log_likelihood(one.targets[one.target_mask]))
    torch.testing.assert_close(found, torch.cat(expected), rtol=1e-4, atol=1e-5)


def test_dropout_acts_before_the_vocabulary_and_where_the_title_is_merged(
    network: Recurrent,
) -> None:
    dropping = tiny.recurrent(dropout=0.5, title_guided=bool(network.arguments["title_guided"]))
    batch = tiny.batch(layout=sequence)

    def run(network: Recurrent) -> tuple[Tensor, Tensor]:
        memory = network.encode(batch)
        mixture = network.decode(memory, shifted(batch.targets), batch.target_mask)
        return memory.states[batch.source_mask], mixture.features

    (states, features), (calm, whole) = run(dropping.train()), run(dropping.eval())
    assert torch.equal(states, calm) == (not network.arguments["title_guided"])
    assert not torch.equal(features, whole)
    assert (features[:, :-1] == 0).float().mean() == pytest.approx(0.5, abs=0.15)
    assert (features[:, -1] == 1).all()  # the bias is never dropped
    assert torch.equal(run(network)[1], whole)
