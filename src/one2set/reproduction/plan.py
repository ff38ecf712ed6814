"""The rows of the paper's tables and figures, and the jobs that they need.

A row is a system with settings, or another search with a trained model. A job is a row with one
seed. The setup is what all jobs share: the data, the scale and the number of examples.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Literal, get_args

from one2set.data.corpus.corpus import MANIFEST, TRAIN, VALID, Corpus, file_hash
from one2set.errors import ConfigError
from one2set.prediction.exclusion import ALL
from one2set.reproduction.version import hash_code
from one2set.training.config import Config, fingerprint
from one2set.training.systems import configure_system, get_system

Part = Literal["tables", "ablations", "lambda", "steps", "codes", "beyond"]
PARTS: tuple[Part, ...] = get_args(Part)
# The systems of Tables 2 to 4, in their order.
SYSTEM_ROWS = ("catseq", "catseqtg", "catseqtg-2rf1", "gan-mr", "exhird", "transformer", "settrans")
LAMBDAS = (0.05, 0.1, 0.2, 0.5, 1.0)  # λ_pre = λ_abs, as in the paper's figure
STEPS = (1, 2, 3, 4)  # K
_BEAM = 5


@dataclass(frozen=True, slots=True)
class Decoding:
    """A change of the search of a trained model."""

    beam: int = 1
    tuned_bias: bool = False  # the biases on ∅ that are best on validation documents
    exclusive: int | None = None  # the window of exclusive search; None keeps the system's


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A row of a table, or a point of a figure."""

    name: str
    label: str  # as it is printed
    system: str
    parts: tuple[Part, ...] = ()
    settings: tuple[str, ...] = ()
    decoding: Decoding | None = None  # instead of training: search with another row's model

    @property
    def after(self) -> str | None:
        """The row whose model it starts from, or uses."""
        return self.system if self.decoding else get_system(self.system).starts_from


def name_lambda_row(value: float) -> str:
    """The row in which both λ are `value`."""
    return f"settrans-lambda-{value}"


def _set_k(value: int) -> tuple[str]:
    return (f"loss.assign_steps={value}",)


def _set_null_weights(value: float) -> tuple[str, str]:
    return f"loss.null_weight_present={value}", f"loss.null_weight_absent={value}"


ROWS = {
    row.name: row
    for row in (
        ReportRow("transformer", "Transformer", "transformer", ("tables", "steps", "beyond")),
        ReportRow("settrans", "SetTrans", "settrans", PARTS),
        ReportRow("catseq", "catSeq", "catseq", ("tables",)),
        ReportRow("catseqtg", "catSeqTG", "catseqtg", ("tables",)),
        ReportRow("catseqtg-peos", "catSeqTG with <peos>", "catseqtg-peos"),  # for the next one
        ReportRow("catseqtg-2rf1", "catSeqTG-2RF1", "catseqtg-2rf1", ("tables",)),
        ReportRow("gan-mr", "GAN_MR", "gan-mr", ("tables",)),
        ReportRow("exhird", "ExHiRD-h", "exhird", ("tables",)),
        ReportRow("settrans-fixed", "− K-step assign", "settrans-fixed", ("ablations", "codes")),
        ReportRow(
            "settrans-single", "− separate set loss", "settrans-single", ("ablations", "codes")
        ),
        ReportRow("settrans-no-codes", "− control codes", "settrans-no-codes", ("ablations",)),
        ReportRow("settrans-random", "+ random assign", "settrans-random", ("ablations",)),
        ReportRow("settrans-student", "− teacher forcing", "settrans-student", ("ablations",)),
        *(
            ReportRow(name_lambda_row(x), f"λ = {x}", "settrans", ("lambda",), _set_null_weights(x))
            for x in LAMBDAS
        ),
        *(
            ReportRow(f"settrans-steps-{k}", f"K = {k}", "settrans", ("steps",), _set_k(k))
            for k in STEPS
            if k != 2  # which is SetTrans itself
        ),
        ReportRow(
            "transformer-missing-eos",
            "Transformer, <eos> missing",
            "transformer-missing-eos",
            ("beyond",),
        ),
        ReportRow(
            "settrans-bias",
            "SetTrans, tuned bias on ∅",
            "settrans",
            ("beyond",),
            decoding=Decoding(tuned_bias=True),
        ),
        ReportRow(
            "settrans-beam",
            f"SetTrans, beam {_BEAM}",
            "settrans",
            ("beyond",),
            decoding=Decoding(beam=_BEAM),
        ),
        ReportRow(
            "transformer-exclusive",
            "Transformer, exclusive search",
            "transformer",
            ("beyond",),
            decoding=Decoding(exclusive=ALL),
        ),
        ReportRow(
            "exhird-exclusive",
            "ExHiRD-h, no first word twice",
            "exhird",
            ("beyond",),
            decoding=Decoding(exclusive=ALL),
        ),
    )
}


def name_steps_row(k: int) -> str:
    """The row in which K is k."""
    return "settrans" if k == 2 else f"settrans-steps-{k}"


def select_rows(names: Iterable[str]) -> list[ReportRow]:
    """The rows of some parts, and single rows by name, each after the row that it depends on."""
    requested = set(names)
    if unknown := requested.difference(PARTS, ROWS):
        raise ConfigError(
            f"--only is {', '.join(sorted(unknown))}; expected parts ({', '.join(PARTS)}) "
            f"or rows ({', '.join(ROWS)})"
        )
    return order_rows(
        [row for row in ROWS.values() if requested.intersection({row.name, *row.parts})], ROWS
    )


def order_rows(rows: Sequence[ReportRow], known: dict[str, ReportRow]) -> list[ReportRow]:
    """Each row once, after the row that it depends on, which is added."""
    ordered: dict[str, ReportRow] = {}
    for row in rows:
        if row.after is not None:
            before = known.get(row.after) or ReportRow(row.after, row.after, row.after)
            ordered |= {earlier.name: earlier for earlier in order_rows([before], known)}
        ordered[row.name] = row
    return list(ordered.values())


@dataclass(frozen=True)
class Job:
    """A row with one seed, and everything that its results depend on."""

    row: ReportRow
    seed: int
    config: Config
    num_examples: int  # training examples, counted again in every epoch
    key: str
    before: "Job | None"

    @property
    def name(self) -> str:
        return f"{self.row.name}-seed{self.seed}-{self.key}"


@dataclass(frozen=True)
class Setup:
    """What all jobs have in common."""

    corpus: Corpus
    scale: str
    documents: int | None = None  # instead of the scale's
    fine_tune: int | None = None  # of systems that start from another; default: a fifth
    changes: tuple[str, ...] = ()
    code: str = field(default_factory=hash_code)

    @property
    def splits(self) -> list[str]:
        """The test sets."""
        return [name for name in self.corpus.manifest.splits if name not in (TRAIN, VALID)]

    @cached_property
    def _corpus_hash(self) -> str:
        return file_hash(self.corpus.folder / MANIFEST)

    def jobs(self, rows: Sequence[ReportRow], seeds: Iterable[int]) -> list[Job]:
        """The jobs of rows, which are ordered by dependency. All jobs of one seed come before
        those of the next, so that the first results cover every row."""
        jobs: list[Job] = []
        for seed in seeds:
            known: dict[str, Job] = {}
            for row in rows:
                known[row.name] = self._job(row, seed, known[row.after] if row.after else None)
            jobs += known.values()
        return jobs

    def _job(self, row: ReportRow, seed: int, before: Job | None) -> Job:
        changes = self.settings(row)
        config = configure_system(row.system, scale=self.scale, changes=changes)
        # Defaults are left out, so that settings added by a later version do not change the key.
        irrelevant = _find_irrelevant_sections(row.system)
        relevant = {k: v for k, v in find_changes(config).items() if not k.startswith(irrelevant)}
        num_examples = 0 if row.decoding else _count_examples(config, self.corpus)
        key = fingerprint(
            {
                "system": row.system,
                "seed": seed,
                "config": relevant,
                "decoding": row.decoding and _drop_unset(asdict(row.decoding)),
                "corpus": self._corpus_hash,
                "code": self.code,
                "before": before.key if before else None,
            }
        )
        return Job(row, seed, config, num_examples, key, before)

    def settings(self, row: ReportRow) -> list[str]:
        """The settings that are passed to `one2set train` with --set."""
        settings, num_examples = [*self.changes, *row.settings], self.documents
        if get_system(row.system).starts_from is not None:
            num_examples = self.fine_tune or max(1, self._usual_num_examples(row) // 5)
        return settings + ([f"limits.documents={num_examples}"] if num_examples else [])

    def _usual_num_examples(self, row: ReportRow) -> int:
        if self.documents:
            return self.documents
        usual = configure_system(row.system, scale=self.scale, changes=self.changes)
        return _count_examples(usual, self.corpus)


def find_changes(config: Config) -> dict[str, object]:
    """The settings that differ from the defaults, by their full names."""
    usual = Config().flat()
    return {name: value for name, value in config.flat().items() if value != usual[name]}


def _drop_unset(settings: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in settings.items() if value is not None}


def _find_irrelevant_sections(name: str) -> tuple[str, ...]:
    """The sections whose settings do not affect the results of a system."""
    system = get_system(name)
    matters = {
        "reward.": system.objective in ("reward", "adversarial"),
        "adversarial.": system.objective == "adversarial",
        "beam.": system.decoder == "beam",
    }
    return ("logging.", "machine.", *(section for section, does in matters.items() if not does))


def _count_examples(config: Config, corpus: Corpus) -> int:
    """The maximum number of examples of a run, without limits by steps or time."""
    limits = config.limits
    by_epochs = limits.epochs * corpus.manifest.splits[TRAIN].documents
    return min([limit for limit in (limits.documents, by_epochs) if limit], default=0)
