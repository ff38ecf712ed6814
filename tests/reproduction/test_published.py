"""The published numbers are complete, and equal those of the paper's source."""

import re
from pathlib import Path

import pytest

from one2set.data.corpus.statistics import published_statistics
from one2set.reproduction.published import (
    METRICS,
    Metric,
    Value,
    find_paper_set,
    get_published_value,
    load_published_figures,
    load_published_speed,
)
from one2set.training.systems import SYSTEMS

_ROWS = {
    "catSeq ": "catseq",
    "catSeqTG ": "catseqtg",
    "catSeqTG-$2RF_1$": "catseqtg-2rf1",
    "GAN$_{MR}$": "gan-mr",
    "ExHiRD-h": "exhird",
    "Transformer": "transformer",
    r"\textsc{SetTrans}": "settrans",
    "Oracle": "oracle",
    "- control codes": "settrans-no-codes",
    "- $K$-step assign": "settrans-fixed",
    r"\, + random assign": "settrans-random",
    "- teacher forcing": "settrans-student",
    "- separate set loss": "settrans-single",
}
_TABLE5: tuple[Metric, ...] = (
    "present_f1_5",
    "present_f1_m",
    "num_present",
    "absent_f1_5",
    "absent_f1_m",
    "num_absent",
    "duplication",
)
_NUMBER = re.compile(r"([\d.]+)\$?(?:_\{?(\d+)\}?)?\$?")


def test_every_number_has_a_known_system_set_and_figure() -> None:
    systems = {system for system, _, _ in load_published_figures()}
    assert systems - SYSTEMS.keys() == {"oracle"}
    assert {name for _, name, _ in load_published_figures()} == published_statistics().keys()
    assert {metric for *_, metric in load_published_figures()} == set(METRICS)
    assert all(value.mean >= 0 for value in load_published_figures().values())


def test_a_split_is_recognised_as_one_of_the_papers_sets() -> None:
    assert find_paper_set("kp20k-500") == "kp20k"
    assert find_paper_set("mine") is None
    assert get_published_value("settrans", "kp20k-500", "present_f1_m") == Value(0.392, 0.004)
    assert get_published_value("exhird", "nus", "present_f1_m") is None
    assert get_published_value("settrans", "mine", "present_f1_m") is None
    assert load_published_speed().generation == 6.44


@pytest.mark.shared
def test_the_numbers_are_those_of_the_papers_source(shared: Path) -> None:
    source = (shared / "paper" / "one2set.tex").read_text()
    sides: dict[str, tuple[tuple[Metric, ...], list[str]]] = {
        "tab:present": (("present_f1_5", "present_f1_m"), [*published_statistics()]),
        "tab:absent": (("absent_f1_5", "absent_f1_m"), [*published_statistics()]),
        "tab:dup": (("num_present", "num_absent", "duplication"), ["krapivin", "semeval", "kp20k"]),
        "tab:ablation": (_TABLE5, ["kp20k"]),
    }
    result: dict[tuple[str, str, Metric], Value] = {}
    for label, (figures, sets) in sides.items():
        start = source.rindex(r"\toprule", 0, source.index(rf"\label{{{label}}}"))
        table = source[start : source.index(r"\bottomrule", start)]
        for line in table.splitlines():
            name = next((ours for row, ours in _ROWS.items() if line.startswith(row)), None)
            cells = [cell.strip() for cell in line.replace(r"\\", "").split("&")][1:]
            places = [(name_of_set, metric) for name_of_set in sets for metric in figures]
            if name is None or len(cells) != len(places):
                continue
            for (name_of_set, metric), cell in zip(places, cells, strict=True):
                match = _NUMBER.search(re.sub(r"\\textbf\{|\{|\}(?![\d}])", "", cell))
                if match:
                    deviation = int(match[2]) / 1000 if match[2] else None
                    result.setdefault(
                        (name, name_of_set, metric), Value(float(match[1]), deviation)
                    )
    assert result == load_published_figures()
