"""The report of a whole plan at a tiny scale."""

import json
import re
from pathlib import Path

import pytest

from one2set.reproduction.claims import CLAIMS, CheckedClaim, Verdict
from one2set.reproduction.figures import draw_figures
from one2set.reproduction.page import PageTable, TableCell
from one2set.reproduction.plan import ROWS
from one2set.reproduction.report import write_report
from one2set.reproduction.results import Results
from one2set.reproduction.tables import (
    tabulate_ablations,
    tabulate_beyond,
    tabulate_f1,
    tabulate_jobs,
    tabulate_numbers,
    tabulate_statistics,
)
from tests.reproduction.invented import Invented
from tests.reproduction.test_page import Tags

pytestmark = pytest.mark.xdist_group("whole")  # so that the plan is trained once


def row_of(table: PageTable, label: str) -> list[TableCell]:
    (row,) = [row for row in table.rows if _text(row[0]) == label]
    return [cell if isinstance(cell, TableCell) else TableCell(cell) for cell in row]


def _text(cell: TableCell | str) -> str:
    return cell if isinstance(cell, str) else cell.text


def test_our_numbers_are_beside_the_published_ones(whole: Results) -> None:
    table = tabulate_f1(whole, "present")
    assert table.groups == [("inspec-part", 2), ("kp20k-part", 2)]
    ours = whole.value("settrans", "kp20k-part", "present_f1_m")
    assert ours is not None
    cell = row_of(table, "SetTrans")[4]
    assert cell.text == f"{ours.mean:.3f} ± {ours.deviation:.3f}"
    assert cell.note == "0.392 ± 0.004"
    assert row_of(table, "catSeq")[1].note == "0.225"


def test_our_best_value_is_bold() -> None:
    table = tabulate_f1(Invented(), "present")
    strong = {row[0]: [cell.strong for cell in row_of(table, _text(row[0]))] for row in table.rows}
    assert strong.pop("SetTrans") == [False, True, True]
    assert not any(map(any, strong.values()))


def test_counts_have_an_oracle_and_ablations_their_rows(whole: Results) -> None:
    oracle = row_of(tabulate_numbers(whole), "Oracle")
    assert oracle[4] == TableCell(f"{whole.gold('kp20k-part', 'num_present'):.2f}", "3.31")
    assert oracle[6].text == "–"
    assert row_of(tabulate_ablations(whole), "− teacher forcing")[-1].note == "0.89"
    first = row_of(tabulate_statistics(whole), "kp20k-part")
    assert (first[1].text, first[1].note) == ("10", "20,000")


def test_duplication_of_nothing_is_not_zero() -> None:
    silent = Invented({("settrans-no-codes", "duplication"): None})
    assert row_of(tabulate_ablations(silent), "− control codes")[-1] == TableCell("–", "0.95")
    assert row_of(tabulate_ablations(silent), "SetTrans")[-1].text == "0.08"


def test_claims_are_counted_by_their_verdicts(
    whole: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = CLAIMS[0]
    doubt: Verdict = "holds, not significant"
    verdicts: list[Verdict] = ["holds", doubt, doubt, "does not hold"]
    claims = [CheckedClaim(claim, verdict, "", "") for verdict in verdicts]
    monkeypatch.setattr("one2set.reproduction.report.check_claims", lambda results: claims)
    monkeypatch.setattr("one2set.reproduction.report.draw_figures", lambda results: {})
    monkeypatch.setattr(whole, "root", tmp_path)
    page = write_report(whole, command="one2set reproduce …").with_suffix(".md").read_text()
    verdicts_in_order = "holds: 1; holds, not significant: 2; does not hold: 1; not measured: 0."
    assert f"Verdicts on 4 claims of the paper – {verdicts_in_order}" in page
    assert page.startswith("# One2Set, reproduced: 8 examples\n")
    started = page[page.index("Rows that start from another one's weights") :]
    assert started.startswith("Rows that start from another one's weights see 1 more (GAN_MR's")
    assert "with schedule `constant`, 0 steps of warm-up and rate 5e-05" in started


def test_rows_beyond_the_paper_show_their_gain_and_cost(whole: Results) -> None:
    table = tabulate_beyond(whole)
    assert row_of(table, "SetTrans")[-1].text == "–"
    gained, _, training, cost = row_of(table, "SetTrans, beam 5")[-4:]
    difference = whole.differences("settrans-beam", "settrans", whole.reference)["present_f1_m"]
    assert gained.text.rstrip("*") == f"{difference.mean:+.3f}"
    assert training.text == "–", "it is SetTrans itself"
    assert re.fullmatch(r"\d+\.\d\d×", cost.text)
    for cell in row_of(table, "Transformer, <eos> missing")[-2:]:
        assert re.fullmatch(r"\d+\.\d\d×", cell.text)


def test_every_job_shows_its_cost(whole: Results) -> None:
    table = tabulate_jobs(whole)
    assert len(table.rows) == sum(map(len, whole.rows.values()))
    assert (
        row_of(table, "gan-mr")[2].text
        == f"{whole.rows['gan-mr'][0].training_record().examples_seen:,}"
    )


@pytest.fixture(scope="module")
def written(whole: Results) -> Path:
    return write_report(whole, command="one2set reproduce …").parent


def test_drawing_is_deterministic(whole: Results, written: Path) -> None:
    figures = draw_figures(whole)
    assert figures.keys() == {"lambda", "steps", "codes", "curves"}
    for name, figure in figures.items():
        assert (written / "figures" / f"{name}.svg").read_bytes() == figure.svg
    assert b"<svg" in figures["codes"].svg
    assert "kp20k-part" in figures["codes"].caption


def test_the_report_is_whole(whole: Results, written: Path) -> None:
    page = (written / "report.html").read_text()
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    words = " ".join(tags.words)
    for needed in (row.label for row in ROWS.values() if row.parts):
        assert needed in words or needed.startswith(("λ", "K =")), needed
    assert page.count("data:image/svg+xml") == 4
    assert "one2set reproduce …" in words
    assert whole.setup.code in words
    markdown = (written / "report.md").read_text()
    for name in re.findall(r"\]\((figures/\w+\.svg)\)", markdown):
        assert (written / name).exists()
    assert markdown.count("](figures/") == 4
    settings = markdown[markdown.index("that are not defaults") :]
    assert "limits.documents = 8" in settings
    assert "train.beta1" not in settings, "it is a default"


_COMPARISONS = {
    "Present keyphrases": ("transformer", "settrans"),
    "Number and duplication": ("transformer", "settrans"),
    "Ablations": ("settrans", "settrans-random"),
    "Weight of ∅": ("settrans-lambda-0.1", "settrans-lambda-0.2"),
    "Beyond the paper": ("settrans", "settrans-beam"),
}


@pytest.mark.parametrize("rows", [("settrans",), *_COMPARISONS.values()])
def test_the_report_has_a_section_for_what_can_be_compared(
    whole: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: tuple[str, ...]
) -> None:
    monkeypatch.setattr(whole, "root", tmp_path)
    monkeypatch.setattr(whole, "rows", {row: whole.rows[row] for row in rows})
    if "settrans-lambda-0.1" not in rows:  # the only one of these sections with a figure
        monkeypatch.setattr("one2set.reproduction.report.draw_figures", lambda results: {})
    page = write_report(whole, command="one2set reproduce …").with_suffix(".md").read_text()
    sections = re.findall("^## (.+)", page, re.MULTILINE)
    assert set(sections).intersection(_COMPARISONS) == {
        title for title, needed in _COMPARISONS.items() if set(needed) <= set(rows)
    }
    assert {"Data", "How it was done", "Jobs"} <= set(sections)
    labels = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("|")}
    assert "GAN_MR" not in labels
    assert "rank correlation" not in labels, "two rows are always in one order or the other"
    assert "**not measured**" not in page


def test_results_json_has_every_number(whole: Results, written: Path) -> None:
    record = json.loads((written / "results.json").read_text())
    assert len(record["rows"]) == 2 * sum(map(len, whole.rows.values()))
    verdicts = {claim["verdict"] for claim in record["claims"]}
    assert verdicts <= {"holds", "holds, not significant", "does not hold"}
    one = next(
        row for row in record["rows"] if row["row"] == "exhird" and row["set"] == "kp20k-part"
    )
    assert (
        one["duplication"] == whole.rows["exhird"][0].measured("kp20k-part").figures["duplication"]
    )
    assert one["published"]["present_f1_m"] == 0.374


def test_every_job_lists_its_hours_examples_and_parameters(whole: Results, written: Path) -> None:
    jobs = json.loads((written / "results.json").read_text())["jobs"]
    assert len(jobs) == sum(map(len, whole.rows.values()))
    job = next(job for job in jobs if job["row"] == "gan-mr")
    record = whole.rows["gan-mr"][0].training_record()
    assert job["starts_from"] == "catseq"
    assert job["examples_seen"] == record.examples_seen > 0
    assert job["training_hours"] == pytest.approx(record.seconds / 3600)
    assert job["training_cpu_hours"] == pytest.approx(record.cpu_seconds / 3600)
    assert job["parameters"] == record.parameters > 0
    assert "--init" in job["command"]


def test_rank_correlations_are_in_the_tables_and_the_json(whole: Results, written: Path) -> None:
    rows = [row.name for row in ROWS.values() if "tables" in row.parts]
    rank_correlations = json.loads((written / "results.json").read_text())["rank_correlations"]
    one = next(
        x for x in rank_correlations if x["set"] == "kp20k-part" and x["metric"] == "num_present"
    )
    assert sorted(one["systems"]) == sorted(rows)
    assert one["spearman"] == whole.rank_correlation(rows, "kp20k-part", "num_present")
    at = 1 + 3 * whole.splits.index("kp20k-part")  # each set has three columns
    cell = row_of(tabulate_numbers(whole), "rank correlation")[at].text
    assert cell == ("–" if one["spearman"] is None else f"{one['spearman']:+.2f}")
