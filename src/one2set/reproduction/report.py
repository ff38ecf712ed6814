"""The report: our measurements beside the published ones, as Markdown and as one HTML page."""

import fcntl
import json
import os
import platform
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import orjson

from one2set.atomic import atomic_file
from one2set.data.corpus.corpus import MANIFEST, TRAIN, VALID, file_hash
from one2set.reproduction import tables
from one2set.reproduction.claims import CheckedClaim, Verdict, check_claims
from one2set.reproduction.figures import draw_figures
from one2set.reproduction.job import JobFolder
from one2set.reproduction.page import (
    Heading,
    PageBlock,
    PageFigure,
    PageTable,
    Paragraph,
    Preformatted,
    TableCell,
    to_html,
    to_markdown,
)
from one2set.reproduction.plan import PARTS, ROWS, SYSTEM_ROWS, find_changes, select_rows
from one2set.reproduction.published import METRICS, get_published_value
from one2set.reproduction.results import RESAMPLES, Results

_TITLE = "One2Set, reproduced"
_FIGURES = "figures"
_INTERVALS = (
    "Intervals cover the choice of documents, not that of the seed: a row with one seed may differ "
    "more with another."
)
_KINDS: dict[Verdict, str] = {
    "holds": "holds",
    "holds, not significant": "open",
    "does not hold": "fails",
    "not measured": "open",
}


def write_report(results: Results, *, command: str) -> Path:
    """Write report.html, report.md with its figures, and results.json. Returns the first path.

    Processes on several machines may finish a plan together; they write one after the other."""
    with (results.root / ".report.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _write_report(results, command)


def _write_report(results: Results, command: str) -> Path:
    pictures = draw_figures(results)
    checked_claims = check_claims(results)
    blocks = _build_blocks(results, checked_claims, pictures, command)
    title = f"{_TITLE}: {_list_examples(results, started=False)} examples"
    root = results.root
    for figure in pictures.values():
        with atomic_file(root / _FIGURES / f"{figure.name}.svg") as file:
            file.write(figure.svg)
    with atomic_file(root / "report.md") as file:
        file.write(to_markdown(title, blocks, figures=_FIGURES).encode())
    with atomic_file(root / "results.json") as file:
        file.write(orjson.dumps(_to_records(results, checked_claims), option=orjson.OPT_INDENT_2))
    with atomic_file(root / "report.html") as file:
        file.write(to_html(title, blocks).encode())
    return root / "report.html"


def _build_blocks(
    results: Results,
    checked_claims: Sequence[CheckedClaim],
    pictures: dict[str, PageFigure],
    command: str,
) -> list[PageBlock]:
    return [
        *_summarise(results, checked_claims),
        *_section(
            "Claims",
            Paragraph(
                "The comparisons were fixed before the first run; significance, and the conditions "
                "against systems that predict nothing, were added later. The reference set is "
                f"`{results.reference}`. A claim holds but is not significant if the 95 % interval "
                "of a difference is not on the claim's side of 0; claims about codes and speed "
                "have no interval. "
                f"{_INTERVALS} Where two rows share several seeds, the number of seeds in which "
                "the difference has the same sign follows. Where a claim fails, the reason is what "
                "can be computed."
            ),
            _tabulate_claims(checked_claims),
        ),
        *_section(
            "Data",
            Paragraph(
                "Table 1: the test sets. Numbers in parentheses (small and grey in HTML), here and "
                "below, are the paper's."
            ),
            tables.tabulate_statistics(results),
        ),
        *_section(
            "Present keyphrases",
            Paragraph(
                "Table 2: F1 of present phrases, mean ± standard deviation over seeds. With three "
                "systems or more, the last row, here and below, is Spearman's rank correlation of "
                "our column with the paper's: +1 if both put the systems in the same order."
            ),
            tables.tabulate_f1(results, "present"),
        ),
        *_section(
            "Absent keyphrases",
            Paragraph("Table 3: F1 of absent phrases."),
            tables.tabulate_f1(results, "absent"),
        ),
        *_section(
            "Number and duplication",
            Paragraph(
                "Table 4: unique present and absent phrases per document, and the fraction of "
                "duplicates in all predictions of a set (–: no predictions). The published Dup of "
                "catSeq, catSeqTG, 2RF1, GAN_MR and ExHiRD-h is probably a mean over documents "
                "instead. The authors of ExHiRD-h search with K = 4 on Inspec; all our sets have "
                "K = 1."
            ),
            tables.tabulate_numbers(results),
        ),
        *_section(
            "Ablations",
            Paragraph(f"Table 5, on `{results.reference}`."),
            tables.tabulate_ablations(results),
        ),
        *_section("Weight of ∅", *_find_figure(pictures, "lambda")),
        *_section(
            "Assignment steps and speed",
            *_find_figure(pictures, "steps"),
            Paragraph(
                "Speeds are per second of CPU time, on which other work on a machine has little "
                "effect; those of training include start-up and validation. Rows trained on other "
                "hardware than Transformer have no ratio (–). The paper's speeds were measured on "
                "a GPU."
            ),
            tables.tabulate_speeds(results),
        ),
        *_section("Control codes", *_find_figure(pictures, "codes")),
        *_section("Learning curves", *_find_figure(pictures, "curves")),
        *_section(
            "Significance",
            Paragraph(
                f"Differences of F1, with 95 % intervals in parentheses, from {RESAMPLES:,} paired "
                "bootstrap resamples of the documents, each with its mean over seeds. * marks "
                f"intervals without 0. {_INTERVALS}"
            ),
            tables.tabulate_significance(results, _list_pairs(results)),
        ),
        *_section("Beyond the paper", *_describe_beyond(results)),
        Heading("How it was done"),
        *_describe_protocol(results, command),
        *_section(
            "Jobs",
            Paragraph("`results.json` has the command of each job."),
            tables.tabulate_jobs(results),
        ),
    ]


def _section(title: str, *blocks: PageBlock) -> list[PageBlock]:
    """A section with what was measured; nothing if it has neither a figure nor rows of a table."""
    measured = any(
        isinstance(block, PageFigure) or (isinstance(block, PageTable) and block.rows)
        for block in blocks
    )
    return [Heading(title), *blocks] if measured else []


def _summarise(results: Results, checked_claims: Sequence[CheckedClaim]) -> list[PageBlock]:
    counts = Counter(claim.verdict for claim in checked_claims)
    verdicts = "; ".join(f"{verdict}: {counts[verdict]}" for verdict in _KINDS)
    planned = select_rows(PARTS)
    missing = [row.name for row in planned if not results.has(row.name)]
    splits = results.setup.corpus.manifest.splits
    blocks: list[PageBlock] = [
        Paragraph(
            f"**Verdicts on {len(checked_claims)} claims of the paper – {verdicts}.** "
            f"Scale `{results.setup.scale}`, {splits[TRAIN].documents:,} training documents, "
            f"{len(results.splits)} test sets, "
            f"seeds {', '.join(map(str, results.seeds))}; {len(planned) - len(missing)} of "
            f"{len(planned)} rows are measured."
        )
    ]
    if missing:
        blocks.append(Paragraph(f"Not measured yet: {', '.join(missing)}."))
    if results.others:
        blocks.append(
            Paragraph(
                f"Jobs of another corpus, scale, number of examples or version of the code "
                f"that are in the folder and left out here: {results.others}."
            )
        )
    return blocks


def _tabulate_claims(checked_claims: Sequence[CheckedClaim]) -> PageTable:
    rows: list[list[TableCell | str]] = [
        [
            TableCell(checked.claim.text, note=checked.claim.rule),
            TableCell(checked.verdict, kind=_KINDS[checked.verdict]),
            checked.numbers,
            checked.reason,
        ]
        for checked in checked_claims
        if checked.verdict != "not measured"
    ]
    return PageTable(
        ["claim, and the rule", "verdict", "numbers", "likely reason"], rows, words=True
    )


def _find_figure(pictures: dict[str, PageFigure], name: str) -> list[PageBlock]:
    return [pictures[name]] if name in pictures else []


def _list_pairs(results: Results) -> list[tuple[str, str, str]]:
    pairs = [("settrans", "transformer", split) for split in results.splits]
    others = [*tables.ABLATION_ROWS, "settrans-steps-1"]
    pairs += [(row, "settrans", results.reference) for row in others if row != "settrans"]
    return pairs


def _describe_beyond(results: Results) -> list[PageBlock]:
    text = (
        "Each row is compared with the row that it changes. The release omits the <eos> of "
        "documents without absent phrases. With a beam, each code has its own."
    )
    biases = [
        job_folder.training_record().null_bias
        for job_folder in results.rows.get("settrans-bias", [])
    ]
    if biases:
        pairs = "; ".join(f"{bias.present:+.1f} and {bias.absent:+.1f}" for bias in biases)
        text += f" Biases on log P(∅) of present and absent codes, tuned on validation: {pairs}."
    return [
        Paragraph(f"On `{results.reference}`. {text}"),
        tables.tabulate_beyond(results),
    ]


def _describe_protocol(results: Results, command: str) -> list[PageBlock]:
    setup, splits = results.setup, results.setup.corpus.manifest.splits
    row = next(row for row in ROWS if results.has(row))
    config = results.rows[row][0].job.config
    train, validation = config.train, config.validation
    limits = _list_examples(results, started=False)
    chosen = "highest F1@M over all phrases" if validation.select_by == "f1" else "lowest loss"
    documents = splits[VALID].documents if VALID in splits else 0
    if validation.documents:
        documents = min(documents, validation.documents)
    packages = ("one2set", "torch", "numpy", "scipy")
    changes = [f"{name} = {json.dumps(value)}" for name, value in find_changes(config).items()]
    return [
        Paragraph(
            "All rows were trained on the same documents, by one loop: "
            f"schedule `{train.schedule}` with {train.warmup_steps:,} steps of warm-up, rate "
            f"{train.learning_rate:g} (recurrent networks, as their authors, 1e-3), limit {limits} "
            f"examples.{_describe_started(results)} The best "
            f"weights are those of the {chosen} on {documents:,} validation documents (2RF1: "
            "highest reward). Test sets were used once, after that. Greedy search, protocol "
            "`ye2021`."
        ),
        Paragraph(
            f"Corpus `{setup.corpus.folder.name}`, manifest {_hash_corpus(results)}; "
            f"version of the code {setup.code}; Python {platform.python_version()}, "
            f"{', '.join(f'{name} {version(name)}' for name in packages)}; "
            f"{platform.platform()}, {os.cpu_count()} cores."
        ),
        Preformatted("The command that made this report", [command]),
        Preformatted(f"Settings of {row} that are not defaults", changes),
    ]


def _describe_started(results: Results) -> str:
    """How rows that start from another one's weights were trained; "" if none was measured."""
    jobs = [
        job_folder.job
        for job_folders in results.rows.values()
        for job_folder in job_folders
        if job_folder.before and job_folder.job.num_examples
    ]
    if not jobs:
        return ""
    train = jobs[0].config.train  # the same for all of them
    return (
        f" Rows that start from another one's weights see {_list_examples(results, started=True)} "
        f"more (GAN_MR's include the examples of its discriminator), with schedule "
        f"`{train.schedule}`, {train.warmup_steps:,} steps of warm-up and rate "
        f"{train.learning_rate:g}."
    )


def _list_examples(results: Results, *, started: bool) -> str:
    """The numbers of examples that rows see, of those that start from another row's weights or of
    all others."""
    numbers = {
        job_folder.job.num_examples
        for jobs in results.rows.values()
        for job_folder in jobs
        if bool(job_folder.before) == started and job_folder.job.num_examples
    }
    return ", ".join(f"{number:,}" for number in sorted(numbers))


def _hash_corpus(results: Results) -> str:
    return file_hash(results.setup.corpus.folder / MANIFEST)[:12]


def _to_records(results: Results, checked_claims: Sequence[CheckedClaim]) -> dict[str, object]:
    """All results, unrounded, for programs."""
    return {
        "code": results.setup.code,
        "scale": results.setup.scale,
        "reference": results.reference,
        "claims": [
            {
                "claim": checked.claim.text,
                "rule": checked.claim.rule,
                "verdict": checked.verdict,
                "numbers": checked.numbers,
                "reason": checked.reason,
            }
            for checked in checked_claims
        ],
        "rows": [
            {
                "row": row,
                "seed": job_folder.job.seed,
                "set": split,
                **{str(metric): job_folder.measured(split).figures[metric] for metric in METRICS},
                "published": _get_published(row, split),
            }
            for row, jobs in results.rows.items()
            for job_folder in jobs
            for split in results.splits
        ],
        "rank_correlations": [
            {
                "systems": list(rows),
                "set": split,
                "metric": metric,
                "spearman": results.rank_correlation(rows, split, metric),
            }
            for rows, splits in (
                (SYSTEM_ROWS, results.splits),
                (tables.ABLATION_ROWS, [results.reference]),
            )
            for split in splits
            for metric in METRICS
        ],
        "jobs": [
            _to_job_record(job_folder, results)
            for jobs in results.rows.values()
            for job_folder in jobs
        ],
    }


def _get_published(row: str, split: str) -> dict[str, float | None]:
    values = {metric: get_published_value(row, split, metric) for metric in METRICS}
    return {metric: value and value.mean for metric, value in values.items()}


def _to_job_record(job_folder: JobFolder, results: Results) -> dict[str, object]:
    """The cost of a job. Rows that start from another one list their own examples only."""
    record = job_folder.training_record()
    return {
        "row": job_folder.job.row.name,
        "seed": job_folder.job.seed,
        "starts_from": None if job_folder.before is None else job_folder.before.job.row.name,
        "examples_seen": record.examples_seen,
        "training_hours": record.seconds / 3600,
        "training_cpu_hours": record.cpu_seconds / 3600,
        "generation_hours": sum(job_folder.measured(s).seconds for s in results.splits) / 3600,
        "parameters": record.parameters,
        "ended": record.ended.isoformat(),
        "machine": record.machine,
        "hardware": record.hardware,
        "command": None if job_folder.job.row.decoding else ["one2set", *job_folder.command()],
    }
