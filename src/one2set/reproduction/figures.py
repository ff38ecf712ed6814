"""The paper's figures and learning curves, drawn from results as SVG."""

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from one2set.errors import missing_extra
from one2set.reproduction.page import PageFigure
from one2set.reproduction.plan import (
    LAMBDAS,
    ROWS,
    STEPS,
    SYSTEM_ROWS,
    name_lambda_row,
    name_steps_row,
)
from one2set.reproduction.published import Metric, Value, load_published_speed
from one2set.reproduction.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

_PRESENT, _ABSENT, _NULL = "#1f5f8b", "#d9731a", "#e8ebef"
_COLOURS = ("#9aa5b1", "#5b7083", "#b8860b", "#9b2c6f", "#2e8b57", "#d9731a", "#1f5f8b")
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "svg.hashsalt": "one2set",  # so that equal figures have equal bytes
}


class _Drawing(NamedTuple):
    name: Literal["lambda", "steps", "codes", "curves"]
    caption: str
    draw: "Callable[[Picture, Results], bool]"  # returns whether there was anything to draw
    size: tuple[float, float]


def draw_figures(results: Results) -> dict[str, PageFigure]:
    """All figures for which there are results, by name."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Picture
    except ImportError:
        raise missing_extra("matplotlib", extra="train", purpose="Drawing figures") from None
    figures: dict[str, PageFigure] = {}
    for drawing in _DRAWINGS:
        with rc_context(_STYLE):
            picture = Picture(figsize=drawing.size, layout="constrained")
            if not drawing.draw(picture, results):
                continue
            file = io.BytesIO()
            picture.savefig(file, format="svg", metadata={"Date": None})
        caption = drawing.caption.format(set=results.reference)
        figures[drawing.name] = PageFigure(drawing.name, file.getvalue(), caption)
    return figures


def _draw_line(
    axes: "Axes", at: Sequence[float], values: Sequence[Value | None], label: str, **style: str
) -> None:
    """A line through the known values, with error bars."""
    known = [(x, value) for x, value in zip(at, values, strict=True) if value is not None]
    if known:
        axes.errorbar(
            [x for x, _ in known],
            [value.mean for _, value in known],
            yerr=[value.deviation or 0.0 for _, value in known],
            label=label,
            marker="o",
            markersize=4,
            capsize=2,
            linestyle=style.get("linestyle", "-"),
            color=style["color"],
        )


def _draw_performance(
    axes: "Axes", results: Results, at: Sequence[float], rows: Sequence[str]
) -> None:
    """F1 of present phrases on the left axis, of absent ones on the right."""
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    for side, own, colour in (("present", axes, _PRESENT), ("absent", right, _ABSENT)):
        for cutoff, linestyle in (("5", "--"), ("m", "-")):
            figure: Metric = f"{side}_f1_{cutoff}"  # type: ignore[assignment]
            values = [results.value(row, results.reference, figure) for row in rows]
            _draw_line(
                own, at, values, f"{side} F1@{cutoff.upper()}", color=colour, linestyle=linestyle
            )
        own.set_ylabel(f"F1, {side}", color=colour)
        own.tick_params(axis="y", colors=colour)
        own.margins(y=0.12)
        own.set_ylim(bottom=0)
    handles = [axis.get_legend_handles_labels() for axis in (axes, right)]
    axes.legend(
        *(first + second for first, second in zip(*handles, strict=True)),
        fontsize=7,
        handlelength=3,
    )
    axes.set_title("Performance")


def _draw_lambda(picture: "Picture", results: Results) -> bool:
    rows = [name_lambda_row(value) for value in LAMBDAS]
    if sum(map(results.has, rows)) < 2:
        return False
    left, right = picture.subplots(1, 2)
    positions = list(range(len(LAMBDAS)))
    _draw_performance(left, results, positions, rows)
    sides: tuple[tuple[Metric, str, str], ...] = (
        ("num_present", "#PK", _PRESENT),
        ("num_absent", "#AK", _ABSENT),
    )
    for figure, label, colour in sides:
        values = [results.value(row, results.reference, figure) for row in rows]
        _draw_line(right, positions, values, label, color=colour)
        right.axhline(results.gold(results.reference, figure), color=colour, linestyle=":")
    right.set_title("Number of predictions (dotted: gold)")
    right.set_ylim(bottom=0)
    right.legend()
    for axes in (left, right):
        axes.set_xticks(positions, [str(value) for value in LAMBDAS])
        axes.set_xlabel("λ")
    return True


def _draw_steps(picture: "Picture", results: Results) -> bool:
    rows = [name_steps_row(k) for k in STEPS]
    if not results.has("transformer") or sum(map(results.has, rows)) < 2:
        return False
    left, right = picture.subplots(1, 2)
    _draw_performance(left, results, STEPS, rows)
    sides: tuple[tuple[Metric, str], ...] = (
        ("present_f1_5", "--"),
        ("present_f1_m", "-"),
    )
    for figure, linestyle in sides:
        base = results.value("transformer", results.reference, figure)
        assert base is not None
        left.axhline(base.mean, color="#7a8591", linestyle=linestyle, linewidth=0.8)
    left.set_title("Performance (grey: Transformer, present)")
    speeds = (("training", results.training_speed), ("generation", results.generation_speed))
    for shift, (name, speed) in zip((-0.18, 0.18), speeds, strict=True):
        base = speed("transformer")
        values = [
            (k, speed(row))
            for k, row in zip(STEPS, rows, strict=True)
            if results.has(row) and results.on_same_hardware(row, "transformer")
        ]
        known = [(k, value.mean) for k, value in values if value is not None]
        assert base is not None
        colour = _PRESENT if name == "training" else _ABSENT
        bars = right.bar(
            [k + shift for k, _ in known],
            [value / base.mean for _, value in known],
            width=0.34,
            color=colour,
            label=name,
        )
        right.bar_label(bars, fmt="%.2f×", fontsize=7)
    right.axhline(1, color="#7a8591", linewidth=0.8)
    paper = load_published_speed()
    right.set_title(
        f"Speed, Transformer = 1 (paper, K = 2: {paper.training}×, {paper.generation}×)"
    )
    right.margins(y=0.25)
    right.legend(loc="upper left", ncols=2)
    for axes in (left, right):
        axes.set_xticks(STEPS)
        axes.set_xlabel("K")
    return True


def _draw_codes(picture: "Picture", results: Results) -> bool:
    rows = [row for row in ("settrans-fixed", "settrans-single", "settrans") if results.has(row)]
    if not rows:
        return False
    titles = {
        "settrans-fixed": "without K-step target assignment",
        "settrans-single": "a single set loss",
        "settrans": "a separate set loss",
    }
    grid = picture.subplots(len(rows), 1, sharex=True, squeeze=False)
    for axes, row in zip(grid[:, 0], rows, strict=True):
        codes = results.codes(row, results.reference)
        numbers = range(1, len(codes) + 1)
        below = [0.0] * len(codes)
        for side, colour in (("present", _PRESENT), ("absent", _ABSENT), ("null", _NULL)):
            shares = [getattr(code, side) for code in codes]
            label = "∅" if side == "null" else side
            axes.bar(numbers, shares, bottom=below, color=colour, label=label, width=0.8)
            below = [low + share for low, share in zip(below, shares, strict=True)]
        axes.set_title(titles[row])
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.set_xticks(list(numbers))
    grid[0, 0].legend(ncols=3, loc="lower right", bbox_to_anchor=(1, 1))
    grid[-1, 0].set_xlabel("control code")
    return True


def _draw_curves(picture: "Picture", results: Results) -> bool:
    panels = {"f1_present": "present F1@M", "f1_absent": "absent F1@M", "duplication": "Dup"}
    drawn = False
    for axes, (name, title) in zip(picture.subplots(1, 3), panels.items(), strict=True):
        for row, colour in zip(SYSTEM_ROWS, _COLOURS, strict=True):
            for number, curve in enumerate(results.curves(row, name)):
                label = None if number else ROWS[row].label
                axes.plot(
                    curve.examples_seen, curve.values, color=colour, label=label, linewidth=1.2
                )
                axes.plot(
                    curve.examples_seen[-1:], curve.values[-1:], "o", color=colour, markersize=3
                )
                drawn = True
        axes.set_title(f"{title}, validation")
        axes.set_xlabel("documents seen")
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.set_ylim(bottom=0)
        axes.margins(x=0.02)
    if drawn:
        handles = picture.axes[0].get_legend_handles_labels()
        picture.legend(*handles, loc="outside lower center", ncols=len(SYSTEM_ROWS), fontsize=8)
    return drawn


_DRAWINGS = (
    _Drawing(
        "lambda",
        "Performance and number of predictions by the weight λ of ∅ (λ_pre = λ_abs), on {set}. "
        "Bars are standard deviations over seeds.",
        _draw_lambda,
        (9, 3.2),
    ),
    _Drawing(
        "steps",
        "Performance on {set}, and speed compared with Transformer, by assignment steps K.",
        _draw_steps,
        (9, 3.2),
    ),
    _Drawing(
        "codes",
        "The output of each control code on {set}: present phrases, absent phrases and ∅.",
        _draw_codes,
        (7.5, 5.2),
    ),
    _Drawing(
        "curves",
        "Validation as training goes on, a line for each seed. Systems that start from the weights "
        "of another count their own documents only.",
        _draw_curves,
        (10, 3.4),
    ),
)
