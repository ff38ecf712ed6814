"""Means over seeds, differences, speeds and curves."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from one2set.data.corpus.corpus import Corpus
from one2set.data.corpus.prepare import Inputs, prepare
from one2set.evaluation.metrics import compute_from_sums
from one2set.evaluation.protocols import YE2021
from one2set.prediction.prediction import AS_TRAINED
from one2set.reproduction.execution import JOBS
from one2set.reproduction.job import JobFolder, TrainingRecord
from one2set.reproduction.measure import CELLS, CodeShares, Measured
from one2set.reproduction.plan import ROWS, Setup, select_rows
from one2set.reproduction.published import METRICS, Value, get_published_value
from one2set.reproduction.results import Results
from one2set.reproduction.tables import tabulate_speeds
from tests.reproduction.invented import Changes, Invented

pytestmark = pytest.mark.xdist_group("whole")  # so that the plan is trained once


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
    assert [job.job.seed for job in jobs] == [0, 1]
    ours = [job.measured("kp20k-part").figures["num_absent"] for job in jobs]
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
        job.measured(split).figures["num_absent"] for job in jobs for split in whole.splits
    ]
    assert average is not None
    assert average.mean == pytest.approx(fmean(everywhere))
    codes = whole.codes("settrans", "kp20k-part")
    assert len(codes) == 8
    assert all(code.present + code.absent + code.null == pytest.approx(1) for code in codes)
    assert whole.codes("transformer", "kp20k-part") == []


def test_a_difference_is_that_of_the_figures(whole: Results) -> None:
    differences = whole.differences("catseq", "exhird", "kp20k-part")
    assert tuple(differences) == METRICS
    for at, metric in enumerate(CELLS):
        difference = differences[metric]
        ours, theirs = (
            compute_from_sums(whole.rows[row][0].addends("kp20k-part").f1.sum(axis=0), YE2021)[2][
                at
            ]
            for row in ("catseq", "exhird")
        )
        assert difference.mean == pytest.approx(ours - theirs)
        assert difference.low <= difference.high
        value = whole.value("catseq", "kp20k-part", metric)
        assert value is not None
        assert value.mean == pytest.approx(ours)
    same = whole.differences("catseq", "catseq", "kp20k-part")
    assert not any(difference.significant for difference in same.values())


def test_speeds_and_curves(whole: Results) -> None:
    for speed in (whole.training_speed, whole.generation_speed):
        value = speed("transformer")
        assert value is not None
        assert value.mean > 0
    curves = whole.curves("settrans", "f1_present")
    assert [curve.seed for curve in curves] == [0, 1]
    assert curves[0].examples_seen[-1] >= 8
    assert whole.curves("settrans-beam", "f1") == [], "it was not trained"


# --- Results that are written by hand: what is trained in a test reaches no F1 -------------------

SPLITS = ("inspec-part", "kp20k-part")


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> Setup:
    """A corpus whose KP20k is not its largest set."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = (files("one2set.data") / "sample" / "documents.jsonl").read_text().splitlines(True)
    parts = {"train": lines[:4], "inspec-part": lines[4:10], "kp20k-part": lines[10:14]}
    for name, part in parts.items():
        (folder / f"{name}.jsonl").write_text("".join(part))
    tests = {name: str(folder / f"{name}.jsonl") for name in SPLITS}
    prepare(folder / "corpus", Inputs(train=[str(folder / "train.jsonl")], tests=tests))
    return Setup(Corpus(folder / "corpus"), "tiny", 8)


def write_job(
    setup: Setup,
    root: Path,
    row: str,
    *,
    seed: int = 0,
    hits: int = 0,
    said: float = 4.0,
    duplication: float = 0.5,
    codes: Sequence[tuple[float, float]] = (),
    seconds: float = 100.0,
    cpu_seconds: float = 10.0,
    hardware: str = "",
) -> None:
    """A job that is done. In all cells, `hits` documents have P = R = F1 = 1, the others 0."""
    (job,) = [job for job in setup.jobs(select_rows([row]), [seed]) if job.row.name == row]
    folder = JobFolder(job, setup, root / JOBS).folder
    (folder / "measured").mkdir(parents=True)
    record = TrainingRecord(
        examples_seen=80,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        cpu_examples=60,
        parameters=1,
        null_bias=AS_TRAINED,
        ended=datetime(2021, 8, 1, tzinfo=UTC),
        machine="",
        hardware=hardware,
        versions={},
    )
    (folder / "training.json").write_text(record.model_dump_json())
    for split in SPLITS:
        documents = setup.corpus.manifest.splits[split].documents
        f1 = hits / documents
        measured = Measured(
            documents=documents,
            figures={
                **dict.fromkeys(CELLS, f1),
                "num_present": said,
                "num_absent": 0.0,
                "duplication": duplication,
            },
            gold={"num_present": 3.0, "num_absent": 2.0},
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            codes=tuple(CodeShares(present=p, absent=a, null=1 - p - a) for p, a in codes),
        )
        (folder / "measured" / f"{split}.json").write_text(measured.model_dump_json())
        f1_addends = np.zeros((documents, len(CELLS), 3, 2))
        f1_addends[:, :, :, 1] = 1  # weights
        f1_addends[:hits, :, :, 0] = 1
        counts = np.array([[said, 1], [0, 1], [duplication * said, said]])  # of every document
        path = folder / "measured" / f"{split}.npz"
        np.savez(path, f1=f1_addends, counts=np.tile(counts, (documents, 1, 1)))


def test_a_better_row_has_a_positive_difference(setup: Setup, tmp_path: Path) -> None:
    write_job(setup, tmp_path, "settrans", hits=4)
    write_job(setup, tmp_path, "settrans", hits=2, seed=1)
    write_job(setup, tmp_path, "transformer", hits=1)
    results = Results(setup, tmp_path)
    for row, base, expected in (
        ("settrans", "transformer", 3 / 4 - 1 / 4),
        ("transformer", "settrans", 1 / 4 - 3 / 4),
    ):
        differences = results.differences(row, base, "kp20k-part")
        for metric, difference in differences.items():
            ours, theirs = (results.value(name, "kp20k-part", metric) for name in (row, base))
            assert ours is not None
            assert theirs is not None
            assert difference.mean == pytest.approx(ours.mean - theirs.mean)
            assert difference.mean == pytest.approx(expected if metric in CELLS else 0)
            assert difference.low <= difference.mean <= difference.high
    # Where every document differs there is no doubt.
    write_job(setup, tmp_path, "catseq", hits=0)
    write_job(setup, tmp_path, "exhird", hits=4)
    sure = Results(setup, tmp_path).differences("catseq", "exhird", "kp20k-part")
    assert {(sure[cell].mean, sure[cell].significant) for cell in CELLS} == {(-1.0, True)}


def test_another_search_is_compared_with_its_own_models(setup: Setup, tmp_path: Path) -> None:
    """The other seeds of SetTrans are worse: their models were not searched with a beam."""
    for seed, hits in enumerate((3, 1, 1)):
        write_job(setup, tmp_path, "settrans", hits=hits, seed=seed, said=float(hits))
    write_job(setup, tmp_path, "settrans-beam", hits=3, said=3.0)
    write_job(setup, tmp_path, "transformer", hits=3, said=3.0)
    results = Results(setup, tmp_path)
    same = results.differences("settrans-beam", "settrans", "kp20k-part")
    assert same["present_f1_m"] == pytest.approx((0.0, 0.0, 0.0))
    assert results.number_difference("settrans-beam", "settrans", "kp20k-part").mean == 0
    whole = results.differences("transformer", "settrans", "kp20k-part")["present_f1_m"]
    assert whole.mean == pytest.approx((3 - 5 / 3) / 4), "another system: all seeds count"


def test_seeds_are_compared_with_the_same_seed(setup: Setup, tmp_path: Path) -> None:
    write_job(setup, tmp_path, "settrans", hits=4)
    write_job(setup, tmp_path, "settrans", hits=1, seed=1)
    write_job(setup, tmp_path, "settrans", hits=3, seed=2)
    write_job(setup, tmp_path, "transformer", hits=2, seed=1, said=0.0, duplication=0.0)
    write_job(setup, tmp_path, "transformer", hits=2)
    compare = partial(Results(setup, tmp_path).seed_differences, split="kp20k-part")
    assert compare("settrans", "transformer", metric="present_f1_m") == [0.5, -0.25]
    assert compare("transformer", "settrans", metric="present_f1_m") == [-0.5, 0.25]
    assert compare("settrans", "transformer", metric="duplication") == [0.0], "one is silent"
    assert compare("settrans", "catseq", metric="present_f1_m") == []


def test_differences_of_counts_and_duplication(setup: Setup, tmp_path: Path) -> None:
    write_job(setup, tmp_path, "settrans", said=5.0, duplication=0.25)
    write_job(setup, tmp_path, "transformer", said=4.0, duplication=0.5)
    write_job(setup, tmp_path, "catseq", said=0.0, duplication=0.0)
    results = Results(setup, tmp_path)
    differences = results.differences("settrans", "transformer", "kp20k-part")
    assert differences["num_present"] == pytest.approx((1.0, 1.0, 1.0)), (
        "every document has one more"
    )
    assert differences["duplication"] == pytest.approx((-0.25, -0.25, -0.25))
    assert differences["num_present"].significant
    assert differences["duplication"].significant
    assert not differences["num_absent"].significant
    silent = results.differences("settrans", "catseq", "kp20k-part")["duplication"]
    assert np.isnan(silent).all()
    assert not silent.significant


def test_the_difference_in_number_is_that_of_the_sum(setup: Setup, tmp_path: Path) -> None:
    """Of all documents and of each resample, whatever its parts do."""
    write_job(setup, tmp_path, "settrans", said=5.0)
    write_job(setup, tmp_path, "transformer", said=4.0)
    results = Results(setup, tmp_path)
    number = results.number_difference("settrans", "transformer", "kp20k-part")
    parts = results.differences("settrans", "transformer", "kp20k-part")
    assert number == pytest.approx((1.0, 1.0, 1.0))
    assert number.mean == pytest.approx(parts["num_present"].mean + parts["num_absent"].mean)


def test_codes_are_those_of_all_seeds(setup: Setup, tmp_path: Path) -> None:
    write_job(setup, tmp_path, "settrans", codes=[(0.8, 0.0), (0.0, 0.4)])
    write_job(setup, tmp_path, "settrans", codes=[(0.2, 0.4), (0.0, 0.0)], seed=1)
    results = Results(setup, tmp_path)
    shares = [(x.present, x.absent, x.null) for x in results.codes("settrans", "kp20k-part")]
    assert shares == [pytest.approx((0.5, 0.2, 0.3)), pytest.approx((0.0, 0.2, 0.8))]
    by_seed = results.codes_by_seed("settrans", "kp20k-part")
    assert [[x.present for x in codes] for codes in by_seed] == [[0.8, 0.0], [0.2, 0.0]]


def test_without_predictions_there_is_no_duplication(setup: Setup, tmp_path: Path) -> None:
    write_job(setup, tmp_path, "settrans", duplication=0.5)
    write_job(setup, tmp_path, "settrans", said=0.0, duplication=0.0, seed=1)
    write_job(setup, tmp_path, "transformer", said=0.0, duplication=0.0)
    write_job(setup, tmp_path, "catseq", duplication=0.0)
    results = Results(setup, tmp_path)
    for of in (partial(results.value, split="kp20k-part"), results.average):
        assert of("settrans", metric="duplication") == Value(0.5), "of the seed that speaks"
        assert of("transformer", metric="duplication") is None
        assert of("catseq", metric="duplication") == Value(0.0)
        assert of("transformer", metric="num_present") == Value(0.0)
        spoken = of("settrans", metric="num_present")
        assert spoken is not None
        assert spoken.mean == 2.0, "of both seeds"


def test_speeds_use_cpu_time(setup: Setup, tmp_path: Path) -> None:
    write_job(setup, tmp_path, "settrans", seconds=100.0, cpu_seconds=10.0)
    write_job(setup, tmp_path, "transformer", seconds=1.0, cpu_seconds=10.0)
    write_job(setup, tmp_path, "catseq", seconds=100.0, cpu_seconds=0.0)
    results = Results(setup, tmp_path)
    for row in ("settrans", "transformer"):
        assert results.training_speed(row) == Value(60 / 10)  # the examples of those seconds
        assert results.generation_speed(row) == Value((6 + 4) / (10 + 10))
    assert results.training_speed("catseq") == Value(80 / 100), "only the clock was read"


def test_hardware_is_compared_over_all_seeds(setup: Setup, tmp_path: Path) -> None:
    write_job(setup, tmp_path, "settrans", hardware="one")
    write_job(setup, tmp_path, "transformer", hardware="one")
    write_job(setup, tmp_path, "transformer", hardware="another", seed=1)
    write_job(setup, tmp_path, "catseq", hardware="one")
    results = Results(setup, tmp_path)
    assert results.on_same_hardware("settrans", "catseq")
    assert not results.on_same_hardware("settrans", "transformer")
    assert not results.on_same_hardware("transformer"), "a mean over two kinds"


def test_speeds_on_different_hardware_have_no_ratio(setup: Setup, tmp_path: Path) -> None:
    write_job(setup, tmp_path, "transformer", hardware="one", cpu_seconds=10.0)
    write_job(setup, tmp_path, "settrans", hardware="one", cpu_seconds=5.0)
    write_job(setup, tmp_path, "settrans-steps-1", hardware="another", cpu_seconds=1.0)
    write_job(setup, tmp_path, "settrans-beam", hardware="another", cpu_seconds=1.0)
    results = Results(setup, tmp_path)
    rows = tabulate_speeds(results).rows
    assert [[getattr(cell, "text", cell) for cell in row] for row in rows] == [
        ["Transformer", "6.0", "1.00", "0.5", "1.00"],
        ["SetTrans", "12.0", "2.00", "1.0", "2.00"],
        ["K = 1", "60.0", "–", "5.0", "–"],
        ["SetTrans, beam 5", "–", "–", "5.0", "–"],
    ]


def test_the_reference_is_kp20k_even_if_another_set_is_larger(setup: Setup, tmp_path: Path) -> None:
    splits = setup.corpus.manifest.splits
    assert splits["inspec-part"].documents > splits["kp20k-part"].documents
    results = Results(setup, tmp_path)
    assert results.reference == "kp20k-part"


def test_jobs_of_another_plan_are_left_out_and_counted(whole: Results) -> None:
    other = Results(replace(whole.setup, code="another"), whole.root)
    assert other.rows == {}
    assert other.others == sum(map(len, whole.rows.values()))


@given(st.lists(st.integers(0, 4), min_size=5, max_size=5))
def test_the_rank_correlation_is_scipys(values: list[int]) -> None:
    rows = ["catseq", "catseqtg", "gan-mr", "transformer", "settrans"]
    ours: Changes = {(row, "present_f1_m"): float(x) for row, x in zip(rows, values, strict=True)}
    actual = Invented(ours).rank_correlation(rows, "kp20k", "present_f1_m")
    if len(set(values)) == 1:
        assert actual is None
    else:
        known = [get_published_value(row, "kp20k", "present_f1_m") for row in rows]
        expected = spearmanr(values, [value.mean for value in known if value is not None])
        assert actual == pytest.approx(expected.statistic)


def test_too_few_systems_have_no_rank_correlation() -> None:
    assert Invented().rank_correlation(["catseq", "settrans"], "kp20k", "present_f1_m") is None
    assert Invented().rank_correlation(["catseq"] * 3, "elsewhere", "present_f1_m") is None
    silent: Changes = {("catseq", "duplication"): None}
    rows = ["catseq", "transformer", "settrans"]
    assert Invented(silent).rank_correlation(rows, "kp20k", "duplication") is None
