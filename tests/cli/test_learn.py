"""`one2set learn` as a user calls it."""

import json
import math
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from one2set.data.document import Document
from one2set.errors import ConfigError, DataError
from one2set.extraction.knowledge import Knowledge
from one2set.extraction.ngrams import hash_of
from one2set.extraction.span_rescorer import FILE as SPAN_RESCORER
from one2set.keyphrases import learn
from one2set.keyphrases.calibration import Calibration, SideCalibration
from one2set.model.manifest import MANIFEST, check_manifest
from tests.commands import read_jsonl, run

SAMPLE = str(files("one2set.data") / "sample" / "documents.jsonl")


def log_count(model: Path, *stems: str) -> float:
    """log(1 + training documents that have a keyphrase)"""
    hashes = np.array([hash_of(stems)], np.uint64)
    return math.log1p(Knowledge.load(model).count_keyphrases(hashes)[0][0])


def test_an_exported_model_learns_from_documents(tiny_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    line = json.dumps({"abstract": "Text.", "keywords": ["graph networks", f"{'w ' * 9}"]})
    path.write_text(f"{line}\n" * 20)
    run("export", tiny_model, "-o", tmp_path / "net")
    run("learn", tmp_path / "net", "--documents", path, "-o", tmp_path / "out")
    assert (tmp_path / "out" / "phrases.tsv").read_text() == "graph networks\tgraph network\t20\n"
    assert log_count(tmp_path / "out", "graph", "network") == pytest.approx(math.log(21), abs=0.01)
    check_manifest(tmp_path / "out")
    for file in (path for path in (tmp_path / "net").iterdir() if path.name != MANIFEST):
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()
    run("export", tmp_path / "out", "-o", tmp_path / "again")
    for name in ("phrases.tsv", "lexicon.safetensors", "candidate_scorer.safetensors"):
        assert (tmp_path / "again" / name).exists(), "exported again, it is kept"


def test_documents_are_added_to_what_another_model_has_learnt(
    tiny_model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "train.jsonl"
    line = json.dumps({"abstract": "Text.", "keywords": ["graph networks"]})
    path.write_text(f"{line}\n" * 20)
    run("export", tiny_model, "-o", tmp_path / "net")
    run("learn", tmp_path / "net", "--documents", path, "-o", tmp_path / "out")
    Calibration(SideCalibration(null_bias=1.5), SideCalibration()).save(tmp_path / "out")
    known = ("--from", tmp_path / "out")
    run("learn", tmp_path / "net", "-o", tmp_path / "further", *known, "--documents", path)
    assert log_count(tmp_path / "further", "graph", "network") == pytest.approx(
        math.log(20 + 20 + 1), abs=0.01
    )
    assert Calibration.load(tmp_path / "further").present.null_bias == 1.5
    Calibration(SideCalibration(null_bias=2.5), SideCalibration()).save(tmp_path / "net")
    again = ("-o", tmp_path / "further", "--overwrite")
    run("learn", tmp_path / "net", *known, "--documents", path, *again)
    assert Calibration.load(tmp_path / "further").present.null_bias == 2.5, "a model's own counts"


def test_counted_documents_fit_only_the_span_rescorer(tiny_model: Path, tmp_path: Path) -> None:
    run("export", tiny_model, "-o", tmp_path / "net")
    documents = ("--documents", SAMPLE)
    run("learn", tmp_path / "net", *documents, "-o", tmp_path / "out")
    known = ("--from", tmp_path / "out", "--counted")
    run("learn", tmp_path / "net", *documents, *known, "-o", tmp_path / "again")
    for file in (path for path in (tmp_path / "out").iterdir() if path.name != MANIFEST):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), file.name
    check_manifest(tmp_path / "again")
    assert (tmp_path / "again" / SPAN_RESCORER).exists()


@pytest.mark.parametrize("origin", [[], ["--from", "net"]])
def test_counts_of_another_model_are_needed_for_counted_documents(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run("export", tiny_model, "-o", "net")
    command = ("learn", "net", "--documents", SAMPLE, "--counted", *origin, "-o", "out")
    with pytest.raises(ConfigError, match="--counted needs the counts of another model"):
        run(*command)
    assert not (tmp_path / "out").exists()


def test_scorers_learn_from_more_documents_of_an_oversampled_file(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled: list[str] = []

    def fit(
        documents: Callable[[], Iterable[Document]],
        sample: Callable[[], Iterable[Document]] | None = None,
    ) -> Knowledge:
        assert sample is not None
        sampled.extend(document.id for document in sample())
        assert len(list(documents())) == 24, "all are counted"
        return Knowledge()

    monkeypatch.setattr(learn, "fit_knowledge", fit)
    options = []
    for name in ("a", "b"):
        lines = [
            json.dumps({"id": f"{name}{n}", "abstract": "T.", "keywords": []}) for n in range(12)
        ]
        (tmp_path / name).with_suffix(".jsonl").write_text("\n".join(lines))
        options += ["--documents", (tmp_path / name).with_suffix(".jsonl")]
    run("export", tiny_model, "-o", tmp_path / "net")
    options += ["-o", tmp_path / "out", "--oversample"]
    run("learn", tmp_path / "net", *options, f"{tmp_path / 'b.jsonl'}=3")
    assert sampled == ["a0", "a3", "a6", "a9", *(f"b{n}" for n in range(12))]
    for wrong, message in {
        "b.jsonl": "expected FILE=N",
        "b.jsonl=0": "expected FILE=N with N of 1 or more",
        "c.jsonl=2": "names c.jsonl, which is not read",
    }.items():
        with pytest.raises(ConfigError, match=message):
            run("learn", tmp_path / "net", *options, wrong, "--overwrite")


def test_other_models_are_refused(tiny_model: Path, tmp_path: Path) -> None:
    documents = ("--documents", SAMPLE)
    with pytest.raises(ConfigError, match=r"--from is nowhere; expected a model folder"):
        run("learn", tiny_model, *documents, "-o", tmp_path / "x", "--from", "nowhere")
    with pytest.raises(ConfigError, match=r"is not exported; first run one2set export"):
        run("learn", tiny_model, *documents, "-o", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_skipped_records_are_reported_once(tmp_path: Path) -> None:
    """Documents are read several times."""
    path, report = tmp_path / "d.jsonl", tmp_path / "report.jsonl"
    path.write_text(f"{Path(SAMPLE).read_text()}{{bad\n")
    options = ("--documents", path, "-o", tmp_path / "out", "--on-error", "skip")
    assert "1 record was skipped" in run("learn", "light", *options, "--report", report)
    assert [row["line"] for row in read_jsonl(report)] == [61]


def test_shared_knowledge_is_verified(damaged_light: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lexicon\.safetensors: has changed since"):
        run(
            "learn",
            damaged_light,
            "--from",
            damaged_light,
            "--documents",
            SAMPLE,
            "-o",
            tmp_path / "out",
        )


def test_standard_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--documents is -, .* can be read only once"):
        run("learn", "light", "--documents", "-", "-o", tmp_path / "out")
