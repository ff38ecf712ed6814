"""The authors' rules, each by example, and all against a naive implementation."""

from random import Random

import pytest
from nltk.stem.porter import PorterStemmer

from one2set.data.document import Document
from one2set.errors import DataError
from one2set.evaluation.metrics import compute_metrics
from one2set.evaluation.protocols import PROTOCOLS, YE2021
from one2set.evaluation.rankings import CUTOFFS
from one2set.evaluation.scoring import (
    GROUPS,
    Gold,
    Group,
    MatchedPredictions,
    evaluate,
    gold_from_document,
    gold_from_lines,
    match_predictions,
    score,
    split_phrases,
)

SOURCE = "graph networks . <eos> we train neural networks on large graphs , quickly ."


def matched(predictions: str, target: str = "neural networks;deep learning") -> MatchedPredictions:
    return match_predictions(gold_from_lines(SOURCE, target), split_phrases(predictions))


# --- Rules by example -----------------------------------------------------------------------------


def test_inflections_match_by_stem_and_case_does_not_matter() -> None:
    predictions = matched("Neural Network;deeper learn;deep learned")
    assert predictions.phrases == ("neural network", "deeper learn", "deep learn")
    assert predictions.present == (True, False, False)
    assert predictions.hits == (True, False, True)


def test_later_duplicates_by_stem_are_dropped() -> None:
    predictions = matched("neural networks;graphs;neural network;graph")
    assert predictions.phrases == ("neural network", "graph")
    assert (predictions.num_read, predictions.num_unique) == (4, 2)


def test_duplicates_are_compared_joined_by_underscores() -> None:
    predictions = matched("we_train;we train")
    assert (predictions.phrases, predictions.present) == (("we_train",), (False,))


@pytest.mark.parametrize("invalid", ["<unk>", "<UNK> graphs", "graphs ,", ".", "a . b"])
def test_unknown_words_commas_and_full_stops_are_invalid(invalid: str) -> None:
    predictions = matched(f"{invalid};graphs;{invalid}")
    assert predictions.phrases == ("graph",)
    # Duplicates are counted before the invalid are dropped.
    assert (predictions.num_read, predictions.num_unique) == (3, 2)


@pytest.mark.parametrize("kept", ["<peos>", "<sep>", "<digit>", "(", "a.b", "%"])
def test_other_marks_and_specials_are_ordinary_phrases(kept: str) -> None:
    assert matched(kept).phrases == (kept,)


def test_invalid_gold_stays() -> None:
    gold = gold_from_lines(SOURCE, "graphs ,;<unk>")
    assert gold.of("present") == ["graph ,"]
    assert gold.of("absent") == ["<unk>"]


def test_gold_is_deduplicated_by_stem() -> None:
    gold = gold_from_lines(SOURCE, "graphs;graph;deep learning;deep learn")
    assert gold.phrases == ("graph", "deep learn")
    assert gold.present == (True, False)


def test_present_is_contiguous_over_title_and_abstract() -> None:
    predictions = matched(
        "train networks;neural networks on;. we train;networks we;net;graph networks"
    )
    # The separator is removed, so words on either side of it are neighbours.
    assert dict(zip(predictions.phrases, predictions.present, strict=True)) == {
        "train network": False,
        "neural network on": True,
        "network we": False,
        "net": False,  # part of a word is no word
        "graph network": True,
    }
    assert match_predictions(gold_from_lines("a <eos> b", ""), ["a b"]).present == (True,)


def test_only_two_hundred_predictions_are_read() -> None:
    line = ";".join([f"word{number}" for number in range(200)] + ["neural networks"])
    predictions = matched(line)
    assert predictions.num_read == 200
    assert not any(predictions.hits)


def test_an_empty_line_predicts_nothing_but_an_empty_phrase_counts() -> None:
    assert matched("").num_read == matched("  \n").num_read == 0
    predictions = matched("graphs;;")
    assert (predictions.phrases, predictions.present) == (("graph", ""), (True, False))
    assert (predictions.num_read, predictions.num_unique) == (3, 2)


def test_an_empty_target_line_is_one_empty_absent_phrase() -> None:
    gold = gold_from_lines(SOURCE, "\n")
    assert (gold.phrases, gold.present) == (("",), (False,))
    assert match_predictions(gold, ["", "graphs"]).hits == (True, False)


def test_words_are_split_at_each_single_space() -> None:
    gold = gold_from_lines("graph  networks <eos> text", "graph networks;graph  network")
    assert gold.of("present") == ["graph  network"]
    assert gold.of("absent") == ["graph network"]
    # An empty title is an empty word.
    assert match_predictions(gold_from_lines("<eos> text", "text"), [""]).present == (True,)


def test_a_source_without_separator_has_no_title() -> None:
    gold = gold_from_lines("neural networks on graphs", "graphs")
    assert gold.of("present") == ["graph"]
    assert match_predictions(gold, [""]).present == (False,)


def test_relevance_for_alpha_ndcg_is_by_characters() -> None:
    gold = gold_from_lines("vertex cover <eos> x", "vertex cover;set cover")
    predictions = match_predictions(gold, ["x", "cover", "vertex cover set"])
    assert predictions.covers == ((0,), (0, 1), ())
    # In a group only its own gold counts: of the present ones "cover" is part of one.
    present = score([gold], [["x", "cover", "vertex cover set"]]).groups["present"]
    assert present.novelty.tolist() == [1.0, 0.5]


def test_documents_are_tokenised_like_their_text() -> None:
    document = Document(
        "1", "Graph-based Models", "We use 3 models (CNNs).", ("graph based model", "3 model")
    )
    gold = gold_from_document(document)
    assert gold.of("absent") == []
    predictions = match_predictions(
        gold, ["Graph-Based Model", "<digit> models", "!", "cnn", "deep, nets"]
    )
    assert predictions.phrases == ("graph base model", "<digit> model", "cnn")
    assert predictions.hits == (True, True, False)
    assert (predictions.num_read, predictions.num_unique) == (5, 5)


def test_gold_phrases_without_words_are_none_in_documents() -> None:
    gold = gold_from_document(Document("1", "", "text", ("!", "text")))
    assert gold.of("all") == ["text"]


def test_no_predictions_at_all_have_no_duplicates() -> None:
    scores = score([gold_from_lines(SOURCE, "graphs")] * 2, [[], []])
    assert scores.duplication == 0.0
    assert compute_metrics(scores.groups["all"], "M", YE2021).f1 == 0.0


def test_duplication_is_over_all_predictions_together() -> None:
    gold = gold_from_lines(SOURCE, "graphs")
    scores = score([gold, gold], [["a", "a", "b", "b"], ["a"]])
    assert scores.duplication == pytest.approx(2 / 5)


def test_unequal_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        score([gold_from_lines(SOURCE, "graphs")], [["a"], ["b"]])


# --- Against a slow and obvious version -----------------------------------------------------------

WORDS = ("graph", "graphs", "graphing", "networks", "deep", "learn", "learning", ",", ".", "<unk>")


def random_line(random: Random, length: int) -> list[str]:
    return random.choices(WORDS, k=length)


def random_case(random: Random) -> tuple[str, str, str]:
    source = [*random_line(random, 3), "<eos>", *random_line(random, random.randint(1, 20))]
    target = [" ".join(random_line(random, random.randint(1, 2))) for _ in range(5)]
    predicted = [" ".join(random_line(random, random.randint(0, 3))) for _ in range(8)]
    count = random.randint(0, 8)
    return " ".join(source), ";".join(target[: random.randint(1, 5)]), ";".join(predicted[:count])


def match_naively(source: str, target: str, predicted: str) -> dict[Group, list[tuple[str, bool]]]:
    """Which predictions count in each group, and which are right, by scanning lists."""
    stem = PorterStemmer().stem
    words = [stem(word) for word in source.replace("<eos> ", "").split(" ")]
    gold = [[stem(word) for word in phrase.split(" ")] for phrase in target.split(";")]
    phrases = [[stem(word) for word in phrase.split(" ")] for phrase in predicted.split(";")]
    if predicted == "":
        phrases = []
    groups: dict[Group, list[tuple[str, bool]]] = {group: [] for group in GROUPS}
    for at, phrase in enumerate(phrases):
        if phrase in phrases[:at] or "<unk>" in phrase or "," in phrase or "." in phrase:
            continue
        starts = range(len(words) - len(phrase) + 1)
        present = any(words[start : start + len(phrase)] == phrase for start in starts)
        matched = (" ".join(phrase), phrase in gold)
        groups["all"].append(matched)
        groups["present" if present else "absent"].append(matched)
    return groups


@pytest.mark.parametrize("seed", range(200))
def test_matching_equals_the_naive_version(seed: int) -> None:
    source, target, predicted = random_case(Random(seed))
    gold = gold_from_lines(source, target)
    predictions = match_predictions(gold, split_phrases(predicted))
    expected = match_naively(source, target, predicted)
    assert list(zip(predictions.phrases, predictions.hits, strict=True)) == expected["all"]
    groups = score([gold], [split_phrases(predicted)]).groups
    for group in GROUPS:
        assert groups[group].hit.tolist() == [hit for _, hit in expected[group]]
        assert groups[group].num_gold.tolist() == [len(gold.of(group))]


# --- Invariances ----------------------------------------------------------------------------------


def all_metrics(gold: list[Gold], predictions: list[list[str]]) -> list[tuple[float, ...]]:
    scores = score(gold, predictions)
    return [
        compute_metrics(scores.groups[group], cutoff, protocol)
        for group in GROUPS
        for cutoff in CUTOFFS
        for protocol in PROTOCOLS.values()
    ]


@pytest.fixture
def cases() -> list[tuple[str, str, str]]:
    random = Random(1)
    return [random_case(random) for _ in range(50)]


def test_the_order_of_gold_never_matters(cases: list[tuple[str, str, str]]) -> None:
    predictions = [split_phrases(predicted) for _, _, predicted in cases]
    one_way = [gold_from_lines(source, target) for source, target, _ in cases]
    other_way = [
        gold_from_lines(source, ";".join(reversed(target.split(";"))))
        for source, target, _ in cases
    ]
    assert all_metrics(one_way, predictions) == all_metrics(other_way, predictions)


def test_a_duplicate_prediction_never_changes_anything_but_dup(
    cases: list[tuple[str, str, str]],
) -> None:
    gold = [gold_from_lines(source, target) for source, target, _ in cases]
    predictions = [split_phrases(predicted) for _, _, predicted in cases]
    repeated = [[*phrases, *phrases[:2]] for phrases in predictions]
    assert all_metrics(gold, predictions) == all_metrics(gold, repeated)
    assert score(gold, predictions).duplication < score(gold, repeated).duplication


def test_stemming_variants_of_a_prediction_score_the_same(
    cases: list[tuple[str, str, str]],
) -> None:
    gold = [gold_from_lines(source, target) for source, target, _ in cases]
    variants = {"graph": "Graphs", "learn": "learning", "network": "NETWORKS"}
    predictions = [split_phrases(predicted) for _, _, predicted in cases]
    varied = [
        [" ".join(variants.get(word, word) for word in phrase.split(" ")) for phrase in phrases]
        for phrases in predictions
    ]
    assert varied != predictions
    assert all_metrics(gold, predictions) == all_metrics(gold, varied)


def test_documents_are_evaluated_in_one_call() -> None:
    document = Document("1", "Set prediction", "Words come as sets.", ("set prediction", "order"))
    predicted = [["set predictions", "words", "orders"]]
    figures = evaluate([document], predicted)
    assert figures["present"]["M"].f1 == pytest.approx(2 / 3)  # P 1/2, R 1
    assert figures["present"]["5"].precision == pytest.approx(1 / 5)
    assert figures["absent"]["M"].f1 == 1.0
    unpadded = evaluate([document], predicted, protocol="unpadded")
    assert unpadded["present"]["5"].precision == pytest.approx(1 / 2)


def test_unknown_keyphrases_are_not_scored_as_none() -> None:
    with pytest.raises(DataError, match="document '7' has no keyphrases"):
        evaluate([Document("7", "", "Sets.")], [["sets"]])
    evaluate([Document("7", "", "Sets.", ())], [["sets"]])
