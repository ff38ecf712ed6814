"""The generator finds sound keyphrases for any text."""

import math
import pickle
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given, settings

import one2set
from one2set.data.document import Document, StemmedDocument
from one2set.data.reading.records import document_from_text
from one2set.data.specials import SPECIALS
from one2set.data.text import stem_all, words_of
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import ConfigError, DataError
from one2set.export.export import export_model
from one2set.extraction.candidates import build_candidates
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.exploration import DIAL
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.keyphrases.passages import PASSAGE, split_into_passages
from one2set.keyphrases.results import Keyphrase
from one2set.keyphrases.selection import Selection
from one2set.model.folder import save_model
from one2set.model.settrans import SetTrans
from one2set.prediction.runtime import Runtime
from tests.data.test_text import ANY_TEXT, HOSTILE
from tests.networks import VOCABULARY_SIZE


@pytest.fixture(scope="module")
def folder(
    settrans: SetTrans, documents: list[Document], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A calibrated model that generates words, not punctuation."""
    path = tmp_path_factory.mktemp("generator")
    words = Counter(word for document in documents for word in document.words() if word.isalpha())
    frequent = [word for word, _ in words.most_common()]
    vocabulary = WordVocabulary([*SPECIALS, *frequent], size=VOCABULARY_SIZE)
    save_model(path / "trained", settrans, vocabulary)
    weights = {"probability": 0.1, "occurrences": 0.5, "codes": 0.2}
    halves = (
        SideCalibration(-1.0, 0.4, LogisticModel(0.1, weights)),
        SideCalibration(-0.5, 0.35, LogisticModel(0.2, weights)),
    )
    Calibration(*halves).save(path / "trained")
    export_model(path / "trained", path / "exported", int8=False)
    return path


@pytest.fixture(scope="module")
def generator(folder: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator(folder / "exported", threads=1)


def assert_sound(keyphrases: list[Keyphrase], text: str, top: int = 20) -> None:
    """What is true of the keyphrases of any text."""
    assert len(keyphrases) <= top
    assert all(keyphrase.score >= next_one.score for keyphrase, next_one in pairwise(keyphrases))
    stems = [stem_all(words_of(keyphrase.text)) for keyphrase in keyphrases]
    assert all(stems)
    for keyphrase, stemmed in zip(keyphrases, stems, strict=True):
        assert math.isfinite(keyphrase.score)
        assert 0 <= keyphrase.score <= 1
        assert keyphrase.present == bool(keyphrase.spans)
        assert keyphrase.text == keyphrase.text.strip()
        assert keyphrase.text
        for start, end in keyphrase.spans:
            assert 0 <= start < end <= len(text)
            assert stem_all(words_of(text[start:end])) == stemmed
        if keyphrase.present:
            printable = re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", " ", text)
            surfaces = {" ".join(printable[a:b].split()).lower() for a, b in keyphrase.spans}
            assert keyphrase.text.lower() in surfaces


def test_the_package_exports_it() -> None:
    assert one2set.KeyphraseGenerator is KeyphraseGenerator
    assert one2set.Keyphrase is Keyphrase


def test_a_text_or_several(generator: KeyphraseGenerator, documents: list[Document]) -> None:
    texts = [document.text for document in documents[:8]]
    together = generator.generate(texts)
    assert [len(result) > 0 for result in together] == [True] * 8
    for text, result in zip(texts, together, strict=True):
        assert_sound(result, text)
        alone = generator.generate(text)
        assert [(keyphrase.text, keyphrase.spans) for keyphrase in alone] == [
            (o.text, o.spans) for o in result
        ]
        assert [keyphrase.score for keyphrase in alone] == pytest.approx(
            [keyphrase.score for keyphrase in result], abs=1e-5
        )
    assert generator.generate(iter(texts[:2])) == together[:2]
    assert generator.generate([]) == []


def test_torch_gives_the_same_keyphrases(
    folder: Path, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    """A model that is not exported runs in torch."""
    texts = [document.text for document in documents[:8]]
    with_torch = KeyphraseGenerator(folder / "trained", threads=1)
    for result, other in zip(generator.generate(texts), with_torch.generate(texts), strict=True):
        assert [(keyphrase.text, keyphrase.spans) for keyphrase in result] == [
            (o.text, o.spans) for o in other
        ]


def test_it_can_be_pickled(
    generator: KeyphraseGenerator, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It loads its model again, also from another working directory."""
    text = "Graph networks forecast traffic."
    monkeypatch.chdir(folder)
    data = pickle.dumps(KeyphraseGenerator("exported", threads=1))
    assert len(data) < 1000
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(data)
    assert again.generate(text, more=3.0) == generator.generate(text, more=3.0) != []
    assert repr(again) == f"KeyphraseGenerator({str(folder / 'exported')!r}, threads=1)"


def test_a_pickled_generator_works_in_another_process(generator: KeyphraseGenerator) -> None:
    text = "Graph networks forecast traffic."
    with get_context("spawn").Pool(1) as pool:
        assert pool.apply(generator.generate, (text,)) == generator.generate(text)


def test_options_select_keyphrases(
    generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    text = documents[0].text
    keyphrases = generator.generate(text)
    assert generator.generate(text, top=2) == keyphrases[:2]
    assert generator.generate(text, only="present") == [
        keyphrase for keyphrase in keyphrases if keyphrase.present
    ]
    assert generator.generate(text, only="absent") == [
        keyphrase for keyphrase in keyphrases if not keyphrase.present
    ]
    least = keyphrases[1].score
    assert generator.generate(text, min_score=least) == [o for o in keyphrases if o.score >= least]
    with pytest.raises(ConfigError, match="top is -1"):
        generator.generate(text, top=-1)
    with pytest.raises(ConfigError, match="only is 'both'"):
        generator.stream([], only="both")  # type: ignore[arg-type]  # before the first result


def test_more_shifts_the_operating_point(
    generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    texts = [document.text for document in documents]
    counts = [
        sum(map(len, generator.generate(texts, more=more))) for more in (-100, -0.1, 0, 0.1, 100)
    ]
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert len(set(counts)) == 5


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_texts_have_sound_keyphrases(generator: KeyphraseGenerator, text: str) -> None:
    assert_sound(generator.generate(text), text)


@settings(max_examples=60)
@given(ANY_TEXT)
def test_any_text_has_sound_keyphrases(generator: KeyphraseGenerator, text: str) -> None:
    assert_sound(generator.generate(text, more=3.0), text)


def test_a_long_text_is_read_to_its_end(
    folder: Path, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    """Its keyphrases are those of all its passages."""
    text = "\n".join(document.abstract for document in documents)
    keyphrases = generator.generate(text, more=50.0, top=10_000)
    assert_sound(keyphrases, text, top=10_000)
    document = document_from_text(text)
    stemmed = StemmedDocument.of(document)
    parts = [part.document for part in split_into_passages(stemmed)]
    assert len(parts) > 10
    runtime = Runtime(folder / "exported", threads=1)
    bias = Calibration.load(folder / "exported").null_bias()
    predictions = list(runtime.predict(parts, null_bias=bias))
    generated = [
        {x.stems for x in build_candidates(stemmed, prediction) if x.readable}
        for prediction in predictions
    ]
    shown = {stem_all(words_of(keyphrase.text)) for keyphrase in keyphrases}
    assert shown <= set().union(*generated)
    assert shown & (generated[-1] - generated[0]), "the last passage is read too"


def test_a_text_joined_to_itself_has_the_same_scores(
    generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    for document in documents[:3]:
        once = {keyphrase.text: keyphrase.score for keyphrase in generator.generate(document.text)}
        for times in (2, 5, 20):
            joined = generator.generate("\n".join([document.text] * times))
            assert {keyphrase.text: keyphrase.score for keyphrase in joined} == pytest.approx(
                once, abs=0.05
            )


def test_lists_are_short_by_default(generator: KeyphraseGenerator) -> None:
    text = " ".join(f"word{n} other{n} third{n}" for n in range(3 * PASSAGE))
    assert len(generator.generate(text, more=50.0)) <= 20
    assert len(generator.generate(text, more=50.0, top=1000)) > 20


def test_documents_stream(generator: KeyphraseGenerator, documents: list[Document]) -> None:
    """Long and short ones between each other, each with its own keyphrases."""
    long = Document("long", "", " ".join(document.abstract for document in documents[:12]))
    pulled = 0

    def source() -> Iterator[Document]:
        nonlocal pulled
        for _ in range(150):
            for document in (documents[0], long, documents[1]):
                pulled += 1
                yield document

    stream = generator.stream(source(), top=5)
    first = [next(stream) for _ in range(3)]
    assert pulled < 450
    assert [document.id for document, _ in first] == [documents[0].id, "long", documents[1].id]
    for document, result in first:
        ((_, alone),) = generator.stream([document], top=5)
        assert [keyphrase.text for keyphrase in result] == [keyphrase.text for keyphrase in alone]
        assert all(0 <= start < end <= len(document.text) for o in result for start, end in o.spans)


def test_a_missing_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no model"):
        KeyphraseGenerator(tmp_path / "nothing")


@pytest.mark.parametrize("threads", [-1, "2", None])
def test_invalid_threads_are_an_error(threads: Any) -> None:
    with pytest.raises(ConfigError, match=r"threads is .*; expected a number"):
        KeyphraseGenerator("light", threads=threads)


def test_it_explores_what_it_generates(
    generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    """A long document among them, of several passages."""
    long = document_from_text("\n".join(document.abstract for document in documents[:6]))
    chosen = [documents[0], long, documents[1]]
    explored = list(generator.explore(chosen))
    assert [exploration.document for exploration in explored] == chosen
    assert [len(exploration.passages) for exploration in explored] == [
        len(split_into_passages(StemmedDocument.of(keyphrase))) for keyphrase in chosen
    ]
    for number in (0, 4, 6, 9):
        direct = generator.stream(chosen, more=DIAL[number])
        for exploration, (_, result) in zip(explored, direct, strict=True):
            position, keyphrases = exploration.dial[number]
            assert position == DIAL[number]
            assert [(o.text, o.spans) for o in keyphrases] == [(o.text, o.spans) for o in result]
            assert [o.score for o in keyphrases] == pytest.approx([o.score for o in result])


def test_texts_and_documents_in_any_container(
    generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    expected = [actual for _, actual in generator.stream(documents[:2])]
    assert generator.generate(documents[0]) == expected[0]
    assert generator.generate(documents[:2]) == expected
    assert (
        generator.generate(pandas.Series([document.text for document in documents[:2]])) == expected
    )
    for wrong in (None, b"x", {"text": "a"}, [documents[0].text, float("nan")]):
        with pytest.raises(DataError, match="expected a string"):
            generator.generate(wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="into a list"):
        generator.stream("a text")  # type: ignore[arg-type]


@pytest.mark.parametrize("explores", [False, True])
def test_check_can_end_the_work_at_every_passage(
    generator: KeyphraseGenerator, documents: list[Document], explores: bool
) -> None:
    """A long document is not read to its end if the check raises."""
    long = document_from_text("\n".join(document.abstract for document in documents))
    checks = 0

    def check(last: float = math.inf) -> None:
        nonlocal checks
        checks += 1
        if checks == last:
            raise LookupError("enough")

    selected = partial(generator.stream_selected, selection=Selection())
    work: Any = generator.explore if explores else selected
    list(work([long], check=check))
    every, checks = checks, 0
    assert every > len(split_into_passages(StemmedDocument.of(long)))
    for last in (1, 2, every):
        checks = 0
        with pytest.raises(LookupError, match="enough"):
            list(work([long], check=partial(check, last)))
        assert checks == last


def test_a_changed_file_is_detected_unless_verify_is_off(folder: Path, tmp_path: Path) -> None:
    """The change is harmless, so only the manifest detects it."""
    for name in ("trained", "exported"):
        copy = tmp_path / name
        shutil.copytree(folder / name, copy)
        with (copy / "config.json").open("a") as file:
            file.write("\n")
        with pytest.raises(DataError, match=r"config\.json"):
            KeyphraseGenerator(copy, threads=1)
        KeyphraseGenerator(copy, threads=1, verify=False)
