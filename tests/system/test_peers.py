"""`benchmarks/peers.py` with the one peer that needs no installation: what it prints is true."""

import json
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.networks import small_vocabulary, varied_settrans

from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.data.text import looks_tokenised, words_of
from one2set.evaluation.scoring import evaluate, gold_from_document, score
from one2set.model.folder import save_model

_ROOT = Path(__file__).resolve().parents[2]
_SAMPLE = files("one2set.data") / "sample" / "documents.jsonl"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Sets as `../shared/data` has them: in the field's form, and a cased one."""
    folder = tmp_path / "data"
    # One document has Arabic marks, which the field's form does not know.
    raw = [
        document for document in read(str(_SAMPLE)) if looks_tokenised(" ".join(document.words()))
    ]
    cased = [
        {
            "id": record.id,
            "title": record.title,
            "abstract": record.abstract,
            "keywords": record.keyphrases,
        }
        for record in raw
    ]
    in_form = [
        {
            "id": record.id,
            "title": " ".join(words_of(record.title)),
            "abstract": " ".join(words_of(record.abstract)),
            "keywords": [" ".join(words) for words in record.phrase_words()],
        }
        for record in raw
    ]
    _write(folder / "valid/kp20k.jsonl", in_form[:20])
    _write(folder / "test/kp20k-500.jsonl", in_form[20:])
    _write(folder / "test-cased/made-up.jsonl", cased[20:])
    return folder


def _write(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def _run(data: Path, *arguments: str) -> str:
    command = [sys.executable, str(_ROOT / "benchmarks/peers.py"), "--tools", "first-phrases"]
    command += ["--data", str(data), "--cache", str(data / "cache"), *arguments]
    command += ["--peers-python", sys.executable, "--resamples", "50"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _row(page: str, heading: str, name: str) -> list[str]:
    """The cells of a table's row."""
    lines = page.partition(f"### {heading}")[2].splitlines()
    line = next(line for line in lines if line.startswith(f"| {name}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def _cached(data: Path, tool: str) -> list[list[str]]:
    (path,) = (data / "cache" / tool).glob("kp20k-500-*.jsonl")
    return [json.loads(line)["keyphrases"] for line in path.read_text().splitlines()]


def _test_set(data: Path) -> list[Document]:
    return list(read(str(data / "test/kp20k-500.jsonl")))


def test_preprocessed_text_survives_the_round_trip() -> None:
    tools = runpy.run_path(str(_ROOT / "benchmarks/peer_tools.py"))
    document = {
        "title": "reading ieee 802.11 frames",
        "abstract": "we keep <digit> % of the author 's ( open ) tools , and more .",
        "tokenised": True,
    }
    text = "Reading ieee 802.11 frames. We keep 0% of the author's (open) tools, and more."
    assert tools["text_of"](document) == text
    assert tools["phrase_of"]("Author's (Open) tools,", document) == "author 's open tools"
    assert tools["phrase_of"]("IEEE 802.11 0", document) == "ieee 802.11 <digit>"
    assert tools["phrase_of"]("Real-time (0)", document | {"tokenised": False}) == "Real-time (0)"


def test_figures_are_those_of_the_predictions(data: Path, tmp_path: Path) -> None:
    documents = _test_set(data)
    save_model(tmp_path / "model", varied_settrans(), small_vocabulary(documents))
    page = _run(data, "--model", str(tmp_path / "model"), "--documents", "0")
    peers = _cached(data, "first-phrases")
    ours = _cached(data, "one2set")
    heading = "F1 present@M, mean-f1"
    label, cell, _ = _row(page, heading, "first-phrases")
    count = int(label.rpartition(" ")[2])
    assert count in (5, 10)
    best = evaluate(documents, [phrases[:count] for phrases in peers], protocol="mean-f1")
    assert cell.split()[0] == f"{best['present']['M'].f1:.3f}"
    assert cell[-1] == ">", "random weights are worse than any rule"
    figures = evaluate(documents, ours, protocol="mean-f1")
    cell = _row(page, heading, "one2set")[1]
    assert cell.split()[0] == f"{figures['present']['M'].f1:.3f}"
    assert cell.endswith("]"), "ours is not compared with itself"


def test_phrases_return_to_the_form_of_their_documents(data: Path) -> None:
    markdown = data / "page.md"
    page = _run(data, "--documents", "20", "--starts", "1", "--markdown", str(markdown))
    documents = _test_set(data)
    assert all(document.tokenised for document in documents)
    golds = [gold_from_document(document) for document in documents]
    scores = score(golds, _cached(data, "first-phrases"))
    assert all(all(matched.present) for matched in scores.matched)
    assert markdown.read_text() in page
    rate, *_ = _row(page, "Speed", "first-phrases")[1:]
    assert float(rate) > 0
