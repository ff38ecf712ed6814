"""Chunks of documents become the same lines in any number of processes, also when resumed."""

import json
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from one2set.bulk import pipeline
from one2set.bulk.pipeline import (
    Keyphrases,
    Raw,
    Source,
    Work,
    format_as_text,
    format_prediction,
    run,
)
from one2set.bulk.resume import ResumeState
from one2set.data.document import Document
from one2set.data.vocabulary import WordVocabulary
from one2set.errors import DataError
from one2set.export.export import export_model
from one2set.keyphrases.calibration import Calibration, LogisticModel, SideCalibration
from one2set.keyphrases.formats import format_keyphrases
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.model.folder import save_model
from one2set.model.settrans import SetTrans
from one2set.prediction.prediction import Prediction, Slot


@pytest.fixture(scope="module")
def models(
    settrans: SetTrans, vocabulary: WordVocabulary, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("bulk")
    save_model(path / "trained", settrans, vocabulary)
    export_model(path / "trained", path / "exported", int8=False)
    return path


@pytest.fixture
def source(documents: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """Two files of 21 documents in all, eight to a chunk."""
    monkeypatch.setattr(pipeline, "_LARGEST_CHUNK", 8)
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path, some in zip(paths, (documents[:12], documents[12:21]), strict=True):
        rows = ({"id": d.id, "title": d.title, "abstract": d.abstract} for d in some)
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return Source(tuple(map(str, paths)))


def lines_of(source: Source, work: Work, *, workers: int = 1) -> list[bytes]:
    results = run(source, work, ResumeState(), workers=workers)
    return [line for result in results for line in result.lines]


def test_chunks_have_all_documents_and_the_bytes_read(
    source: Source, documents: list[Document]
) -> None:
    chunks = list(source.chunks())
    assert [chunk.first for chunk in chunks] == [0, 8, 16, 21]
    assert [len(chunk.documents) for chunk in chunks] == [8, 8, 5, 0]
    assert [d.id for c in chunks for d in c.documents] == [d.id for d in documents[:21]]
    assert chunks[-1].bytes_read == sum(Path(path).stat().st_size for path in source.inputs)


def test_the_first_chunks_are_small(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cores get some of a short file."""
    monkeypatch.setattr(pipeline, "_FIRST_CHUNK", 2)
    assert [len(chunk.documents) for chunk in source.chunks()] == [2, 4, 8, 7, 0]


def test_a_chunk_of_long_documents_is_short(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_CHARACTERS", 1)
    assert [len(chunk.documents) for chunk in source.chunks()] == [1] * 21 + [0]


def test_keyphrases_are_the_generator_s(
    source: Source, models: Path, documents: list[Document]
) -> None:
    lines = lines_of(source, Keyphrases(models / "exported"))
    stream = KeyphraseGenerator(models / "exported", threads=1).stream(documents[:21])
    assert lines == [format_keyphrases(*pair) for pair in stream]


@pytest.mark.parametrize("kind", [Keyphrases, Raw])
def test_several_processes_write_the_same(
    source: Source, models: Path, kind: type[Keyphrases] | type[Raw]
) -> None:
    work = kind(models / "exported")
    assert not work.needs_torch
    assert lines_of(source, work, workers=2) == lines_of(source, work)


def test_raw_lines_with_torch_and_without(source: Source, models: Path) -> None:
    trained, exported = (Raw(models / name, text=True) for name in ("trained", "exported"))
    assert trained.needs_torch
    assert Raw(models / "exported", search=(("beam", 2),)).needs_torch
    assert lines_of(source, trained) == lines_of(source, exported)


def digests_of(source: Source) -> dict[int, str]:
    return {chunk.end: chunk.digest for chunk in source.chunks()}


def test_any_cut_is_continued_to_the_same_lines(source: Source, models: Path) -> None:
    work = Raw(models / "exported", slots=True)
    whole = lines_of(source, work)
    for done in (0, 1, 8, 13, 21):
        state, rest = ResumeState(done, digests_of(source)), []
        for result in run(source, work, state, workers=1):
            assert state.done < result.end or not result.lines
            rest += result.lines[max(state.done - result.chunk.first, 0) :]
        assert whole[: state.done] + rest == whole


@pytest.mark.parametrize("part", ["id", "title", "abstract"])
@pytest.mark.parametrize("number", [0, 7, 8, 20])
def test_a_change_of_settings_is_reported(source: Source, part: str, number: int) -> None:
    """Other texts under the same names must not pass for those that were processed."""
    digests = digests_of(source)
    path = Path(source.inputs[number >= 12])
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    rows[number % 12][part] += "s"
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    first, last = {0: (1, 8), 7: (1, 8), 8: (9, 16), 20: (17, 21)}[number]
    with pytest.raises(DataError, match=f"documents {first} to {last} .*changed.*--overwrite"):
        list(source.chunks(ResumeState(number + 1, digests)))
    if number == 20:  # what is not done yet may change
        assert len(list(source.chunks(ResumeState(16, digests)))) == 2


def test_shortened_input_is_reported(source: Source) -> None:
    digests = digests_of(source)
    shorter = replace(source, inputs=source.inputs[:1])
    with pytest.raises(DataError, match="documents 9 to 12 of the input have changed"):
        list(shorter.chunks(ResumeState(21, digests)))
    path = Path(source.inputs[0])
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:8]))
    with pytest.raises(DataError, match="has 8 documents, but 21 were processed"):
        list(shorter.chunks(ResumeState(21, digests)))


def test_only_the_whole_input_is_all_done(source: Source) -> None:
    digests = digests_of(source)
    source.check_all_done(ResumeState(21, digests))
    with pytest.raises(DataError, match="has 16 documents, but the input now has more"):
        source.check_all_done(ResumeState(16, digests))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_complete_state_takes_no_more_documents(source: Source, workers: int) -> None:
    """Nor is a model loaded to compute what could not be kept: there is none here."""
    digests, work = digests_of(source), Raw(Path("nowhere"))
    with pytest.raises(DataError, match=r"16 documents, but the input now has more.*--overwrite"):
        list(run(source, work, ResumeState(16, digests, complete=True), workers=workers))
    (last,) = run(source, work, ResumeState(21, digests, complete=True), workers=workers)
    assert (last.lines, last.end) == ([], 21)


def test_the_digest_separates_the_fields_of_documents(tmp_path: Path) -> None:
    """Moving a character from one field to the next is a change."""
    digests = set()
    for title, abstract in (("ab", "c"), ("a", "bc"), ("", "abc"), ("ab'", "c"), ("ab", "'c")):
        path = tmp_path / "a.jsonl"
        path.write_bytes(orjson.dumps({"title": title, "abstract": abstract}))
        digests |= set(digests_of(Source((str(path),))).values())
    assert len(digests) == 5


def test_user_errors_keep_their_path_across_processes(source: Source, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "runtime.json").write_text("[]")
    with pytest.raises(DataError, match="is not the description of an exported model") as met:
        lines_of(source, Raw(tmp_path / "broken"), workers=2)
    assert met.value.path == str(tmp_path / "broken" / "runtime.json")


def test_lines_of_predictions() -> None:
    document = Document("d", "", "Graph networks.")
    said = Slot(
        2, "graph network", ("graph", "network", "<eos>"), (0.5, 0.25, 0.1234567), True, 0.1
    )
    null = Slot(3, "", ("<null>",), (0.9,), True, 0.9)
    again = replace(said, code=4, probabilities=(0.1, 0.1, 0.1), text="nets")
    prediction = Prediction("d", (said, null, again, said), "score", 3, 2)
    assert format_as_text(prediction) == b"graph network;graph network;nets\n"
    record = json.loads(format_prediction(document, prediction, Calibration(), slots=False))
    phrase = {"text": "graph network", "score": 0.375, "probability": 0.0154321, "present": True}
    other = {"text": "nets", "score": 0.1, "probability": 0.001, "present": False}
    assert record == {
        "id": "d",
        "keyphrases": [phrase, phrase, other],
        "source_length": 3,
        "read_length": 2,
    }
    sure = Calibration(absent=SideCalibration(generated=LogisticModel(0.0, {})))
    record = json.loads(format_prediction(document, prediction, sure, slots=False))
    assert [keyphrase["probability"] for keyphrase in record["keyphrases"]] == [
        0.0154321,
        0.0154321,
        0.5,
    ]
    whole = replace(prediction, read_length=3)
    record = json.loads(format_prediction(document, whole, Calibration(), slots=True))
    assert "source_length" not in record
    assert [slot["code"] for slot in record["slots"]] == [2, 3, 4, 2]
    assert record["slots"][1]["tokens"] == ["<null>"]
    assert format_as_text(replace(prediction, slots=())) == b"\n"
