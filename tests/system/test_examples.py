"""The scripts in examples/ work."""

import csv
import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from tests.networks import word_model

from one2set.data.reading.readers import read
from one2set.keyphrases.generator import KeyphraseGenerator

_ROOT = Path(__file__).resolve().parents[2]
_EXAMPLES = sorted((_ROOT / "examples").glob("*.py"))
SAMPLE = Path(str(files("one2set.data") / "sample" / "documents.jsonl"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return word_model(tmp_path_factory.mktemp("model"))


def run(name: str, *arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", _ROOT / "examples" / name, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", _EXAMPLES, ids=lambda example: example.name)
def test_example_scripts_are_short(example: Path) -> None:
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60


def test_tag_folder_writes_a_table(model: Path, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    documents = list(read(SAMPLE))[:2]
    for document in documents:
        (papers / f"{document.id}.txt").write_text(document.text)
    table = tmp_path / "keywords.csv"
    run("tag_folder.py", papers, "--output", table, "--top", "3", "--model", model)
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    keyphrases = KeyphraseGenerator(model, threads=1).generate([d.text for d in documents], top=3)
    assert [row["keyphrase"] for row in rows] == [
        keyphrase.text for some in keyphrases for keyphrase in some
    ]
    assert {row["document"] for row in rows} == {f"{document.id}.txt" for document in documents}


def test_bibtex_keywords_fills_in_keywords(model: Path, tmp_path: Path) -> None:
    document = next(iter(read(SAMPLE)))
    library = tmp_path / "library.bib"
    entry = (
        f"@article{{a,\n  title = {{{{{document.title}}}}},\n  abstract = {{{document.abstract}}}"
    )
    others = (
        "@book{b, title = {B}}\n% a remark\n@misc{c, abstract = {x}, keywords = {mine}}\n"
        '@misc{d, abstract = {x}, keywords = {"mine", yours}}\n'
        "@misc{e, abstract = {x}, keywords = macro}\n"
    )
    library.write_text(f"{entry},\n}}\n{others}")
    tagged = run("bibtex_keywords.py", library, "--top", "4", "--model", model)
    keyphrases = KeyphraseGenerator(model, threads=1).generate(document.text, top=4)
    assert keyphrases
    keywords = ", ".join(keyphrase.text for keyphrase in keyphrases)
    assert tagged == f"{entry},\n  keywords = {{{keywords}}}\n}}\n{others}"


def test_search_index_finds_documents(model: Path) -> None:
    generator = KeyphraseGenerator(model, threads=1)
    actual = dict(generator.stream(read(SAMPLE)))
    phrase = next(some[0].text for some in actual.values() if some)
    shown = run("search_index.py", SAMPLE, phrase.upper(), "nothing of the kind", "--model", model)
    expected = {
        d.id for d, some in actual.items() if phrase in [keyphrase.text for keyphrase in some]
    }
    lines = re.findall(r"^(.*)\t([\d.]+)\t(.*)$", shown, re.MULTILINE)
    assert expected <= {id for _, _, id in lines} or len(lines) == 10
    assert {query for query, _, _ in lines} == {phrase.upper()}


def test_fine_tune_trains_on_a_csv(model: Path, tmp_path: Path) -> None:
    table = tmp_path / "papers.csv"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["title", "abstract", "keyphrases"])
        for document in read(SAMPLE):
            rows.writerow([document.title, document.abstract, ";".join(document.keyphrases or ())])
    output = run(
        *("fine_tune.py", table, tmp_path / "mine", "--model", model),
        *("--scale", "tiny", "--minutes", "0.05"),
    )
    assert "done: one2set generate" in output
    keyphrases = KeyphraseGenerator(tmp_path / "mine" / "model", threads=1).generate(
        "Graphs of words."
    )
    assert isinstance(keyphrases, list)
    assert (tmp_path / "mine" / "model" / "calibration.json").exists()
