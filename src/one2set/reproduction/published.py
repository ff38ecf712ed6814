"""The paper's numbers, from `published.toml`."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, get_args

from one2set.data.corpus.statistics import find_published_statistics, published_statistics

# The metrics of the paper's tables.
Metric = Literal[
    "present_f1_5",
    "present_f1_m",
    "absent_f1_5",
    "absent_f1_m",
    "num_present",
    "num_absent",
    "duplication",
]
METRICS: tuple[Metric, ...] = get_args(Metric)
ORACLE = "oracle"  # the row of the gold phrases
_TABLES = ("table2", "table3", "table4", "table5")


class Value(NamedTuple):
    """A mean over seeds, with its standard deviation if known."""

    mean: float
    deviation: float | None = None


@cache
def load_published_figures() -> dict[tuple[str, str, Metric], Value]:
    """The values of Tables 2 to 5, by system, set and metric."""
    values: dict[tuple[str, str, Metric], Value] = {}
    for table in _TABLES:
        for system, sets in _load_file()[table].items():
            for name, figures in sets.items():
                for metric, numbers in figures.items():
                    # Table 5 repeats rows of the other tables, without deviations.
                    values.setdefault((system, name, metric), Value(*numbers))
    return values


def get_published_value(system: str, split: str, metric: Metric) -> Value | None:
    """The published metric of a system on the paper's set that a split such as kp20k-500 is
    named after."""
    name = find_paper_set(split)
    return None if name is None else load_published_figures().get((system, name, metric))


def find_paper_set(split: str) -> str | None:
    """The paper's set that a split is named after."""
    row = find_published_statistics(split)
    return next((name for name, known in published_statistics().items() if known is row), None)


class Speed(NamedTuple):
    """The speed of SetTrans divided by that of Transformer."""

    training: float
    generation: float


def load_published_speed() -> Speed:
    """The relative speeds in the paper."""
    return Speed(**_load_file()["speed"])


@cache
def _load_file() -> dict[str, Any]:
    return tomllib.loads(files("one2set").joinpath("published.toml").read_text("utf-8"))
