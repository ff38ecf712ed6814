"""The copy mixture is a distribution, and its shortcuts agree with the full mixture."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from one2set.data.specials import PAD
from one2set.model.pointer import EPSILON, CopySource, Mixture

V = 12


def find_first_positions(words: Tensor) -> Tensor:
    return torch.tensor([[row.index(word) for word in row] for row in words.tolist()])


def mixture(
    words: list[list[int]], counts: list[int], *, seed: int = 0, vocabulary: int = V
) -> Mixture:
    """Random rows over documents of equal length; the last word of each may be padding."""
    generator = torch.Generator().manual_seed(seed)
    rows, length = sum(counts), len(words[0])
    extended = torch.tensor(words)
    attention = torch.rand(rows, length, generator=generator)
    owner = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    attention = attention * (extended[owner] != PAD)
    return Mixture(
        features=torch.randn(rows, 4, generator=generator),
        weight=torch.randn(vocabulary, 4, generator=generator),
        gate=torch.rand(rows, generator=generator),
        attention=attention / attention.sum(1, keepdim=True),
        copy_source=CopySource(extended, find_first_positions(extended)),
        counts=counts,
    )


def replaced(mixture: Mixture, **changes: Tensor | list[int]) -> Mixture:
    fields = {name: getattr(mixture, name) for name in Mixture.__annotations__}
    return Mixture(**(fields | changes))


@pytest.mark.parametrize("words", [[[7, 8, 7]], [[7, V, V + 1]]], ids=["known", "unknown"])
def test_a_mixture_is_a_distribution(words: list[list[int]]) -> None:
    full = mixture(words, [5]).distribution(V + 2)
    assert (full >= 0).all()
    torch.testing.assert_close(full.sum(1), torch.ones(5), atol=1e-5, rtol=0)


def test_a_closed_gate_and_sharp_attention_copy_an_unknown_word() -> None:
    sharp = torch.tensor([[0.0, 1.0, 0.0]])
    copying = replaced(mixture([[7, V, 8]], [1]), gate=torch.zeros(1), attention=sharp)
    assert copying.distribution(V + 1)[0, V] == 1
    assert copying.greedy().tokens.tolist() == [V]
    assert copying.greedy().probability.tolist() == [1]


def test_copy_probabilities_of_a_repeated_word_add_up() -> None:
    shut = replaced(
        mixture([[V, 7, V]], [1]), gate=torch.zeros(1), attention=torch.tensor([[0.2, 0.5, 0.3]])
    )
    expected = torch.tensor([[0.5, 0.5]])
    torch.testing.assert_close(shut.probability(torch.tensor([[V, 7]])), expected)


def test_padding_is_never_copied() -> None:
    shut = replaced(mixture([[7, 8, PAD]], [3]), gate=torch.zeros(3))
    assert shut.distribution(V)[:, PAD].tolist() == [0, 0, 0]


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    counts = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3).filter(any))
    length = draw(st.integers(1, 5))
    word = st.integers(1, V + 2)
    words = draw(
        st.lists(
            st.lists(word, min_size=length, max_size=length).map(lambda w: [*w, PAD]),
            min_size=len(counts),
            max_size=len(counts),
        )
    )
    return mixture(words, counts, seed=draw(st.integers(0, 99)))


@given(mixtures(), st.integers(1, 20))
def test_shortcuts_agree_with_the_mixture_in_full(mixture: Mixture, chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("one2set.model.pointer._CHUNK", chunk)
        full = mixture.distribution(V + 3)
        every = torch.arange(V + 3).expand(len(full), -1)
        torch.testing.assert_close(mixture.probability(every), full)
        if len(set(mixture.counts)) == 1 and mixture.counts[0]:
            of_documents = every[: len(mixture.counts)]
            torch.testing.assert_close(mixture.probability_by_document(of_documents), full)
        tokens, probability = mixture.greedy()
        assert torch.equal(tokens, full.argmax(1))
        torch.testing.assert_close(probability, full.max(1).values)
        for word in (0, 5, V, V + 2):
            likelihood = mixture.log_likelihood(torch.full_like(tokens, word))
            torch.testing.assert_close(likelihood, (full[:, word] + EPSILON).log())


@given(mixtures(), st.integers(0, 5), st.integers(0, 99))
def test_a_forbidden_word_is_never_chosen(mixture: Mixture, count: int, seed: int) -> None:
    full = mixture.distribution(V + 3)
    torch.manual_seed(seed)
    favoured = full.topk(8).indices
    forbidden = favoured.gather(1, torch.randint(0, 8, (len(full), count)))
    forbidden = torch.cat([forbidden, torch.full_like(forbidden[:, :1], -1)], dim=1)
    tokens, probability = mixture.greedy(forbidden)
    allowed = full.scatter(1, forbidden[:, :count], -1.0)
    torch.testing.assert_close(probability, allowed.max(1).values)
    torch.testing.assert_close(allowed.gather(1, tokens[:, None]).squeeze(1), probability)


@pytest.mark.parametrize("chunk", [5, 100])
@pytest.mark.parametrize("kept", [0, 10**6])
def test_gradients_agree_with_the_mixture_in_full(
    kept: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("one2set.model.pointer._CHUNK", chunk)
    monkeypatch.setattr("one2set.model.pointer._KEPT", kept)
    base = mixture([[7, V, 7, 9], [8, 8, V + 1, PAD]], [3, 2])
    targets = torch.tensor([7, V, 10, 8, 8])
    names = ("features", "weight", "gate", "attention")
    gradients = []
    for in_full in (False, True):
        leaves = {name: getattr(base, name).clone().requires_grad_() for name in names}
        copy = replaced(base, **leaves)
        if in_full:
            losses = (copy.distribution(V + 2) + EPSILON).log().gather(1, targets[:, None])
        else:
            losses = copy.log_likelihood(targets)[:, None]
        torch.autograd.backward((losses * torch.arange(1.0, 6.0)[:, None]).sum())
        gradients.append([leaves[name].grad for name in names])
    for ours, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rows", [2, 10], ids=["small batch", "in chunks"])
def test_of_equally_probable_words_the_lowest_id_wins(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("one2set.model.pointer._CHUNK", 5)
    even = replaced(
        mixture([[V + 1, V, 9]], [rows]),
        weight=torch.zeros(V, 4),
        gate=torch.tensor([0.0, 1.0] * (rows // 2)),
        attention=torch.tensor([[0.5, 0.5, 0.0]] * rows),
    )
    assert even.greedy().tokens.tolist() == [V, 0] * (rows // 2)


def test_a_vanishing_probability_has_a_finite_logarithm_and_gradient() -> None:
    base = mixture([[7, 8, 9]], [1])
    features = torch.full((1, 4), 100.0, requires_grad=True)
    weight = torch.ones(V, 4)
    weight[3] = -1.0
    lost = replaced(base, features=features, weight=weight)
    loss = lost.log_likelihood(torch.tensor([3]))
    assert loss.item() == pytest.approx(torch.tensor(EPSILON).log().item())
    torch.autograd.backward(loss)
    assert features.grad is not None
    assert features.grad.isfinite().all()


def test_a_word_is_chosen_even_if_all_values_are_nan() -> None:
    broken = replaced(mixture([[7, 8, V]], [2]), features=torch.full((2, 4), torch.nan))
    tokens, probability = broken.greedy()
    assert (tokens < V + 1).all()
    assert probability.isnan().all()


def test_samples_are_as_frequent_as_they_are_probable() -> None:
    torch.manual_seed(0)
    some = mixture([[7, V, 7, PAD], [8, 9, V, 8]], [1, 2])
    draws = 20_000
    many = replaced(
        some,
        counts=[draws, 2 * draws],
        features=some.features.repeat_interleave(draws, 0),
        gate=some.gate.repeat_interleave(draws, 0),
        attention=some.attention.repeat_interleave(draws, 0),
    )
    tokens, probability = (x.view(3, draws) for x in many.sample())
    counts = [row.bincount(minlength=V + 1) for row in tokens]
    expected = some.distribution(V + 1)
    torch.testing.assert_close(probability, expected.gather(1, tokens))
    # Five standard deviations of a frequency are below 0.018.
    torch.testing.assert_close(torch.stack(counts) / draws, expected, atol=0.018, rtol=0)


def test_words_with_probability_zero_are_never_sampled() -> None:
    torch.manual_seed(0)
    attention = torch.tensor([[0.0, 1.0, 0.0, 0.0]]).expand(500, 4)
    only = mixture([[7, V, 8, PAD]], [500])
    copying = replaced(only, gate=torch.zeros(500), attention=attention)
    assert set(copying.sample().tokens.tolist()) == {V}
    saying = replaced(only, gate=torch.ones(500))
    saying.features[:], saying.weight[:] = 1.0, 0.0
    saying.weight[3] = 100.0
    assert set(saying.sample().tokens.tolist()) == {3}


def test_selected_rows_have_the_same_probabilities() -> None:
    whole = mixture([[7, 8, 7], [9, V, 9], [7, 7, 7]], [2, 1, 3])
    rows = torch.tensor([1, 3, 4])
    part = whole.select(rows)
    assert part.counts == [1, 0, 2]
    torch.testing.assert_close(part.distribution(V + 1), whole.distribution(V + 1)[rows])
    assert part.greedy().tokens.tolist() == whole.greedy().tokens[rows].tolist()
