"""`one2set evaluate` as a user calls it."""

import json
import re
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from one2set.cli.score_tables import _shown
from one2set.errors import ConfigError, DataError, One2SetError
from tests.commands import invoke

SAMPLE = Path(str(files("one2set.data") / "sample"))
GOLD, PREDICTIONS = str(SAMPLE / "documents.jsonl"), str(SAMPLE / "predictions.jsonl")


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    """A text pair of two documents and one system: everything right, then nothing."""
    texts = {
        "source": "graph networks <eos> we train networks\na survey <eos> of surveys\n",
        "target": "graph network;deep learning\nsurvey\n",
        "predictions": "deep learning;graph networks\nwrong\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return [part for name in texts for part in (f"--{name}", str(tmp_path / f"{name}.txt"))]


def run(*arguments: str) -> str:
    return invoke("evaluate", *arguments).output


def rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines() if line and line[0] != "#"]


def test_a_text_pair_is_scored(pair: list[str]) -> None:
    output = run(*pair, "--bootstrap", "0")
    assert output.startswith("# ye2021: F1 of mean P and mean R, P@k divides by k, all documents\n")
    assert "# 2 documents, 2 with present gold, 1 with absent gold\n" in output
    table = rows(output)
    assert table[0] == ["group", "k", "P", "R", "F1", "MAP", "NDCG", "AlphaNDCG"]
    assert ["all", "5", "0.2", "0.5", "0.28571", "0.5", "0.5", "0.5"] in table
    assert ["present", "M", "0.5", "0.5", "0.5", "0.5", "0.5", "0.5"] in table
    assert ["(gold)", "1.0", "0.5", "1.5", "-", "-", "-", "-"] in table
    assert ["predictions.txt", "0.5", "1.0", "1.5", "0.5", "0.5", "0.0", "0.0"] in table
    assert ["with-gold", "0.16667", "0.5", "0.33333", "1.0", "0.28571", "0.5"] in table


def test_a_terminal_gets_rules_and_colour_and_the_same_words(
    pair: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run(*pair)
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = run(*pair)
    assert "\x1b[1m" in coloured
    assert "───" in coloured
    without = re.sub(r"\x1b\[[0-9;]*m|─", "", coloured).split()
    assert without == plain.replace("# ", "").split()


def test_jsonl_and_its_json_agree_with_the_table() -> None:
    record = json.loads(run(GOLD, PREDICTIONS, "--json"))
    table = rows(run(GOLD, PREDICTIONS))
    (system,) = record["systems"]
    assert record["documents"] == 60
    for name, result in system["figures"]["ye2021"].items():
        group, cutoff = name.split("@")
        (row,) = [row for row in table if row[:2] == [group, cutoff]]
        shown = [f"{value:.5}" for value in result.values()]
        bounds = [f"{value:.5}" for value in system["F1_intervals"][name]]
        assert row[2:] == [*shown[:3], *bounds, *shown[3:]]
    for name, figures in system["figures"].items():
        f1 = [f"{figures[f'{g}@{k}']['F1']:.5}" for g in ("present", "absent", "all") for k in "5M"]
        assert [name, *f1] in table


def test_both_forms_agree_on_tokenised_text(tmp_path: Path, pair: list[str]) -> None:
    texts = [Path(path).read_text().splitlines() for path in pair[1::2]]
    with (tmp_path / "gold.jsonl").open("w") as gold, (tmp_path / "p.jsonl").open("w") as predicted:
        for source, target, phrases in zip(*texts, strict=True):
            title, abstract = source.split(" <eos> ")
            keywords = target.split(";")
            gold.write(json.dumps({"title": title, "abstract": abstract, "keywords": keywords}))
            predicted.write(json.dumps({"keyphrases": phrases}))
            gold.write("\n")
            predicted.write("\n")
    by_lines = json.loads(run(*pair, "--json"))
    by_records = json.loads(run(str(tmp_path / "gold.jsonl"), str(tmp_path / "p.jsonl"), "--json"))
    by_lines["systems"][0].pop("name")
    by_records["systems"][0].pop("name")
    assert by_lines == by_records


def test_several_systems_are_compared(tmp_path: Path) -> None:
    oracle = tmp_path / "all right.jsonl"
    oracle.write_bytes(Path(GOLD).read_bytes())
    output = run(GOLD, PREDICTIONS, str(oracle), "--bootstrap", "200")
    assert "# difference: to predictions.jsonl; *: its interval leaves out 0\n" in output
    table = rows(output)
    name = "all_right.jsonl"
    (row,) = [row for row in table if row[:3] == ["present", "M", name]]
    f1, low, high, difference, low_difference, high_difference = map(float, row[3:9])
    assert low <= f1 <= high
    assert 0 < low_difference <= difference <= high_difference
    assert row[9] == "*"
    first = next(row for row in table if row[:3] == ["present", "M", "predictions.jsonl"])
    assert first[6:] == ["-", "-", "-"]
    assert float(first[3]) + difference == pytest.approx(f1, abs=1e-4)
    assert [row[0] for row in table if row[1:2] == [name]].count("micro") == 1


def test_the_protocol_decides_the_main_table(pair: list[str]) -> None:
    output = run(*pair, "--protocol", "with-gold+unpadded", "--bootstrap", "0")
    assert output.startswith("# with-gold+unpadded: ")
    assert "all documents" not in output.splitlines()[0]
    assert ["absent", "5", *["1.0"] * 6] in rows(output)


def test_per_document_writes_a_line_for_each_document(tmp_path: Path, pair: list[str]) -> None:
    path = tmp_path / "out" / "documents.jsonl"
    run(*pair, "--per-document", str(path))
    first, second = map(json.loads, path.read_text().splitlines())
    assert (first["system"], first["document"], first["id"]) == ("predictions.txt", 1, None)
    assert (first["all@M"]["F1"], second["all@M"]["F1"]) == (1.0, 0.0)
    assert [path.name for path in path.parent.iterdir()] == ["documents.jsonl"]


def test_equal_arguments_give_equal_bytes() -> None:
    assert run(GOLD, PREDICTIONS, "--json") == run(GOLD, PREDICTIONS, "--json")
    assert run(GOLD, PREDICTIONS, "--json") != run(GOLD, PREDICTIONS, "--json", "--seed", "1")


def test_fields_can_be_named(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"id": 1, "summary": "graphs", "tags": ["graph"]}\n')
    predictions = tmp_path / "p.jsonl"
    predictions.write_text('{"id": 1, "keyphrases": ["graphs"]}\n')
    fields = ["--field", "abstract=summary", "--field", "keyphrases=tags"]
    record = json.loads(run(str(gold), str(predictions), "--json", *fields))
    assert record["systems"][0]["figures"]["ye2021"]["present@M"]["F1"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "error", "what"),
    [
        ([], ConfigError, "got no files"),
        ([GOLD], ConfigError, "expected either GOLD PREDICTIONS"),
        ([GOLD, PREDICTIONS, "--source", "x"], ConfigError, "expected either"),
        (["--source", "x", "--predictions", "y"], ConfigError, "got --source --predictions"),
        ([GOLD, PREDICTIONS, PREDICTIONS], ConfigError, "given twice"),
        ([GOLD, PREDICTIONS, "--protocol", "best"], ConfigError, "ye2021, mean-f1"),
        ([GOLD, PREDICTIONS, "--bootstrap", "-1"], ConfigError, "--bootstrap is -1"),
        ([GOLD, "nowhere.jsonl"], DataError, "nowhere.jsonl: cannot be read"),
    ],
)
def test_invalid_input_is_reported(
    arguments: list[str], error: type[One2SetError], what: str
) -> None:
    with pytest.raises(error, match=what):
        run(*arguments)


def test_on_a_narrow_terminal_small_figures_are_not_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _shown(0.0012345678) == "0.0012346"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert _shown(0.0012345678) == "0.00123"
    monkeypatch.setenv("COLUMNS", "120")
    assert _shown(0.0012345678) == "0.0012346"


def test_details_do_not_replace_an_input(tmp_path: Path) -> None:
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_bytes(Path(PREDICTIONS).read_bytes())
    with pytest.raises(ConfigError, match="which is an input; name another file"):
        run(GOLD, str(predictions), "--per-document", str(predictions))
    assert predictions.read_bytes() == Path(PREDICTIONS).read_bytes()
