"""What the paper published, typed. The numbers are in `published.toml`."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, get_args

from one2set.data.corpus.statistics import find_published_statistics, published_statistics

# What tables print of a system on a set; also the names under which it is measured.
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
    """A mean and its standard deviation over seeds, where that is known."""

    mean: float
    deviation: float | None = None


@cache
def published_figures() -> dict[tuple[str, str, Metric], Value]:
    """Tables 2 to 5: by system, set and metric."""
    found: dict[tuple[str, str, Metric], Value] = {}
    for table in _TABLES:
        for system, sets in _file()[table].items():
            for name, figures in sets.items():
                for metric, numbers in figures.items():
                    # Table 5 repeats rows of those before it, without deviations.
                    found.setdefault((system, name, metric), Value(*numbers))
    return found


def published_value(system: str, split: str, metric: Metric) -> Value | None:
    """A metric of a system on one of the paper's sets, by the name of a split such as kp20k-500."""
    name = paper_set(split)
    return None if name is None else published_figures().get((system, name, metric))


def paper_set(split: str) -> str | None:
    """Which of the paper's sets a split is, by its name."""
    row = find_published_statistics(split)
    return next((name for name, known in published_statistics().items() if known is row), None)


class Speed(NamedTuple):
    """How many times as fast as Transformer SetTrans is."""

    training: float
    generation: float


def published_speed() -> Speed:
    return Speed(**_file()["speed"])


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(files("one2set").joinpath("published.toml").read_text("utf-8"))
