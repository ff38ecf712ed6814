"""Results: over seeds, against each other, in time."""

from dataclasses import replace
from statistics import fmean, stdev

import pytest

from one2set.evaluation.metrics import from_sums
from one2set.evaluation.protocols import YE2021
from one2set.reproduction.measure import CELLS
from one2set.reproduction.plan import ROWS
from one2set.reproduction.results import Results


def test_every_row_is_there_and_the_reference_is_kp20k(whole: Results) -> None:
    assert whole.rows.keys() == ROWS.keys()
    assert whole.seeds == [0, 1]
    assert whole.splits == ["inspec-part", "kp20k-part"]
    assert whole.reference == "kp20k-part"
    assert whole.others == 0
    assert whole.has("settrans", "gan-mr")
    assert not whole.has("settrans", "never")


def test_means_and_deviations_are_over_seeds(whole: Results) -> None:
    jobs = whole.rows["settrans"]
    assert [one.job.seed for one in jobs] == [0, 1]
    ours = [one.measured("kp20k-part").figures["num_absent"] for one in jobs]
    value = whole.value("settrans", "kp20k-part", "num_absent")
    assert value is not None
    assert value.mean == fmean(ours)
    assert value.deviation == stdev(ours)
    single = whole.value("catseq", "kp20k-part", "num_absent")
    assert single is not None
    assert single.deviation is None
    assert whole.value("never", "kp20k-part", "num_absent") is None
    average = whole.average("settrans", "num_absent")
    everywhere = [
        one.measured(split).figures["num_absent"] for one in jobs for split in whole.splits
    ]
    assert average is not None
    assert average.mean == pytest.approx(fmean(everywhere))
    codes = whole.codes("settrans", "kp20k-part")
    assert len(codes) == 8
    assert all(one.present + one.absent + one.null == pytest.approx(1) for one in codes)
    assert whole.codes("transformer", "kp20k-part") == []


def test_a_difference_is_that_of_the_figures(whole: Results) -> None:
    found = whole.differences("catseq", "exhird", "kp20k-part")
    assert found.keys() == CELLS.keys()
    for at, (figure, difference) in enumerate(found.items()):
        ours, theirs = (
            from_sums(whole.rows[row][0].addends("kp20k-part").sum(axis=0), YE2021)[2][at]
            for row in ("catseq", "exhird")
        )
        assert difference.mean == pytest.approx(ours - theirs)
        assert difference.low <= difference.high
        value = whole.value("catseq", "kp20k-part", figure)
        assert value is not None
        assert value.mean == pytest.approx(ours)
    same = whole.differences("catseq", "catseq", "kp20k-part")
    assert not any(one.sure for one in same.values())


def test_speeds_and_curves(whole: Results) -> None:
    for speed in (whole.training_speed, whole.generation_speed):
        value = speed("transformer")
        assert value is not None
        assert value.mean > 0
    curves = whole.curves("settrans", "f1_present")
    assert [curve.seed for curve in curves] == [0, 1]
    assert curves[0].visits[-1] >= 8
    assert whole.curves("settrans-beam", "f1") == [], "it was not trained"


def test_jobs_of_another_plan_are_left_out_and_counted(whole: Results) -> None:
    other = Results(replace(whole.setup, code="another"), whole.root)
    assert other.rows == {}
    assert other.others == sum(map(len, whole.rows.values()))
