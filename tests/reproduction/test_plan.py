"""The order of rows, and what changes the key of a job."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from one2set.data.corpus.corpus import Corpus
from one2set.errors import ConfigError
from one2set.reproduction.plan import (
    PARTS,
    ROWS,
    STEPS,
    ReportRow,
    Setup,
    name_steps_row,
    order_rows,
    select_rows,
)
from one2set.training.config import Config
from one2set.training.systems import SYSTEMS


def test_the_plan_has_every_system_of_the_paper_after_its_dependency() -> None:
    names = [row.name for row in select_rows(PARTS)]
    assert {row.system for row in ROWS.values()} == SYSTEMS.keys() - {"copyrnn"}
    assert sorted(names) == sorted(ROWS), "every row belongs to some part, or is needed by one"
    for name in names:
        after = ROWS[name].after
        assert after is None or names.index(after) < names.index(name)
    assert all(name_steps_row(k) in ROWS for k in STEPS)


def test_a_part_includes_only_its_dependencies() -> None:
    assert {row.name for row in select_rows(["codes"])} == {
        "settrans",
        "settrans-fixed",
        "settrans-single",
    }
    tables = [row.name for row in select_rows(["tables"])]
    assert tables.index("catseqtg-peos") < tables.index("catseqtg-2rf1")
    assert "settrans-fixed" not in tables
    with pytest.raises(ConfigError, match="--only is figures; expected parts \\(tables, ablations"):
        select_rows(["tables", "figures"])


def test_rows_outside_the_plan_add_their_dependencies() -> None:
    asked = [ReportRow("gan-mr", "gan-mr", "gan-mr"), ReportRow("catseq", "catseq", "catseq")]
    assert [row.name for row in order_rows(asked, {})] == ["catseq", "gan-mr"]


def test_all_rows_see_the_same_number_of_examples_except_fine_tuned_ones(
    quick_setup: Callable[..., Setup],
) -> None:
    jobs = quick_setup(documents=20).jobs(select_rows(PARTS), [0])
    num_examples = {job.row.name: job.num_examples for job in jobs}
    assert num_examples.pop("catseqtg-2rf1") == num_examples.pop("gan-mr") == 4, "a fifth"
    searched = [row.name for row in ROWS.values() if row.decoding]
    assert {num_examples.pop(row) for row in searched} == {0}
    assert set(num_examples.values()) == {20}


def test_the_scale_sets_the_default_number_of_examples(tested_corpus: Path) -> None:
    corpus = Corpus(tested_corpus)
    setup = Setup(corpus, "tiny", fine_tune=7)
    num_examples = {
        job.row.name: job.num_examples for job in setup.jobs(select_rows(["tables"]), [0])
    }
    assert num_examples["settrans"] == 2 * corpus.manifest.splits["train"].documents
    assert num_examples["gan-mr"] == 7


def test_the_key_changes_with_everything_that_affects_the_result(
    quick_setup: Callable[..., Setup],
) -> None:
    def keys(setup: Setup, seed: int = 0) -> dict[str, str]:
        return {job.row.name: job.key for job in setup.jobs(select_rows(PARTS), [seed])}

    setup = quick_setup()
    base = keys(setup)
    assert len(set(base.values())) == len(base)
    assert keys(quick_setup()) == base
    assert keys(quick_setup("logging.log_steps=7", "machine.threads=1")) == base
    others = [
        keys(setup, seed=1),
        keys(quick_setup("train.learning_rate=0.1", "validation.every=3")),
        keys(quick_setup(documents=16)),
        keys(replace(setup, code="another")),
    ]
    for other in others:
        assert not {*other.values()} & {*base.values()}
    # A default value does not change the key.
    usual = keys(quick_setup(f"train.beta1={Config().train.beta1}"))
    assert usual == base
    # Rounds of GAN_MR are nothing to others.
    rounds = keys(quick_setup("adversarial.head_start=3"))
    assert {name for name in base if base[name] != rounds[name]} == {"gan-mr"}
    # More fine-tuning is nothing to those that are trained before.
    finer = keys(replace(setup, fine_tune=3))
    changed = {name for name in base if base[name] != finer[name]}
    assert changed == {"catseqtg-2rf1", "gan-mr"}


def test_all_of_one_seed_come_before_those_of_the_next(quick_setup: Callable[..., Setup]) -> None:
    jobs = quick_setup().jobs(select_rows(["codes"]), range(2))
    assert [job.seed for job in jobs] == [0, 0, 0, 1, 1, 1]
    assert jobs[0].name == f"settrans-seed0-{jobs[0].key}"
