"""Write what `generate` and `predict` make of many documents, with resume and progress."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from one2set.cli import console
from one2set.cli.progress import show_progress
from one2set.cores import count_cores
from one2set.data.reading.streams import LeftOut, count_bytes
from one2set.errors import ConfigError

if TYPE_CHECKING:
    from one2set.bulk.output_formats import Format
    from one2set.bulk.pipeline import Chunk, Lines, Source, Watch, Work
    from one2set.bulk.resume import ResumeState
    from one2set.prediction.predictor import Check


Engine = Literal["local", "ray"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where the lines go: a file, or a folder of parts if the name ends in /."""

    name: str
    format: "Format"
    resume: bool
    overwrite: bool

    @property
    def path(self) -> Path:
        return Path(self.name)

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")


def refuse_without_output(options: Mapping[str, object]) -> None:
    """Refuse options that have no effect without --output, if one is set."""
    for name, value in options.items():
        if value:
            raise ConfigError(f"{name} needs --output; pass --output FILE too")


def refuse_input_as_output(option: str, output: str, inputs: Sequence[str]) -> None:
    """Refuse an output that would replace an input, the only copy of somebody's library, or that
    would be read as input."""
    for path in filter(os.path.exists, inputs):
        if os.path.exists(output) and os.path.samefile(path, output):
            what = "is the input itself"
        elif os.path.isdir(path) and Path(path).resolve() in Path(output).resolve().parents:
            what = f"is in the input folder {path}"
        else:
            continue
        raise ConfigError(f"{option} is {output}, which {what}; name another output")


def make_target(
    output: str | None,
    format: "Format | None",
    *,
    like: str,
    resume: bool,
    overwrite: bool,
    allowed: "Sequence[Format]",
) -> Target | None:
    """Combine the options of the output; None for standard output."""
    from one2set.bulk.output_formats import choose_format

    if output is None:
        refuse_without_output(
            {
                "--resume": resume,
                "--overwrite": overwrite,
                "--format parquet": format == "parquet",
            }
        )
        return None
    if resume and overwrite:
        raise ConfigError("--resume and --overwrite cannot be used together; pass only one")
    if not output.endswith("/") and Path(output).is_dir():
        output += "/"
    chosen = choose_format(output, format, like=like, allowed=allowed)
    return Target(output, chosen, resume, overwrite)


def write_bulk(
    source: "Source",
    work: "Work",
    target: Target | None,
    *,
    workers: int = 0,
    engine: Engine = "local",
    verify: bool = True,
) -> None:
    """Do the work on all documents of a source, and write its lines.

    `workers` is 0 for one process per core, or one process in all where PyTorch is needed.
    """
    from importlib.metadata import version

    from one2set.bulk.pipeline import run
    from one2set.bulk.ray import run_on_ray
    from one2set.bulk.resume import find_finished
    from one2set.extraction.knowledge import check_model
    from one2set.keyphrases.thesaurus import hash_list
    from one2set.model.manifest import hash_files
    from one2set.model.paths import find_knowledge_folder
    from one2set.prediction.loading import expect_model_folder

    if target is not None:
        refuse_input_as_output("--output", target.name, source.inputs)
    expect_model_folder(work.model)
    if verify:
        check_model(work.model)
    if engine == "local":
        workers = workers or (1 if work.needs_torch else count_cores())
        # An exported network gains little from a second thread: 8 % of the time on two cores. One
        # process with PyTorch uses all cores, or as many as OMP_NUM_THREADS says.
        if not work.threads and not (work.needs_torch and workers == 1):
            threads = max(count_cores() // workers, 1) if work.needs_torch else 1
            work = replace(work, threads=threads)
    knowledge = find_knowledge_folder(work.model)
    if not knowledge.is_dir():  # that of a light model is not there, which is reported on loading
        knowledge = work.model
    # A run can be resumed by one with equal settings; how it is computed does not matter.
    without = ("model", "threads", "batch_tokens", "device")
    settings = {
        "one2set": version("one2set"),
        "model": hash_files(knowledge) | hash_files(work.model),
        "format": target and target.format,
        "work": type(work).__name__,
        "options": {name: value for name, value in asdict(work).items() if name not in without},
        "lists": {name: hash_list(path) for name, path in work.lists.items()} or None,
    }
    if target is not None and target.resume:
        finished = find_finished(target.path, settings, is_folder=target.is_folder)
        if finished is not None:
            source.check_all_done(finished)
            console.err.print(f"{target.name} is complete already", soft_wrap=True)
            return

    def run_there(state: "ResumeState", watch: "Watch") -> "Iterator[Lines]":
        if engine == "ray":
            return run_on_ray(source, work, state, workers=workers)
        return run(source, work, state, workers=workers, watch=watch)

    _write(source, run_there, target, settings)


def _write(
    source: "Source",
    run: "Callable[[ResumeState, Watch], Iterator[Lines]]",
    target: Target | None,
    settings: Mapping[str, Any],
) -> None:
    from one2set.bulk.resume import ResumeState, unfinished_output
    from one2set.keyphrases.passages import estimate_passages, estimate_progress

    with ExitStack() as stack:
        output, state = None, ResumeState()
        if target is not None:
            output = stack.enter_context(
                unfinished_output(
                    target.path,
                    is_folder=target.is_folder,
                    settings=settings,
                    resume=target.resume,
                    overwrite=target.overwrite,
                    format=target.format,
                )
            )
            state = output.state
        tally = _Tally(source.inputs, done_before=state.done)
        with show_progress("Documents", total=tally.total_bytes or None) as display:

            def watch(chunk: "Chunk") -> "Check":
                sizes = (len(document.text.split()) for document in chunk.documents)
                passages, checks = sum(map(estimate_passages, sizes)), count(1)
                before, size = tally.bytes_done, chunk.bytes_read - tally.bytes_done

                def check() -> None:
                    share = estimate_progress(next(checks), passages)
                    display.update(before + share * size, tally.rate)

                return check

            for result in run(state, watch):
                if output is None:
                    console.write(b"".join(result.lines))
                else:
                    # Of the first chunk some lines may be there already.
                    new = result.lines[max(state.done - result.chunk.first, 0) :]
                    output.add(new, end=result.end, digest=result.chunk.digest)
                tally.count(result)
                display.update(tally.bytes_done, tally.rate)
    if target is None:
        sys.stdout.buffer.flush()  # it may fail, and then there is no success to report
    tally.summarise(target.name if target else "standard output")


class _Tally:
    """Counts documents and bytes, in all and of this run."""

    def __init__(self, inputs: tuple[str, ...], *, done_before: int) -> None:
        self._started = time.perf_counter()
        self._done = self._before = done_before
        self._cut = self._skipped = 0
        self._left_out = LeftOut()
        self.bytes_done = 0
        self.total_bytes = count_bytes(inputs)  # 0 for standard input: no time is estimated

    def count(self, result: "Lines") -> None:
        """Add a chunk; some of it may have been done before."""
        self._done = max(self._done, result.end)
        self._cut += result.cut
        self._skipped, self.bytes_done = result.chunk.skipped, result.chunk.bytes_read
        self._left_out = result.chunk.left_out

    @property
    def rate(self) -> str:
        return f"{self._done:,} documents, {self._per_second():,.1f}/s"

    def summarise(self, output: str) -> None:
        """Print what was done and what was not."""
        seconds = time.perf_counter() - self._started
        new = self._done - self._before
        before = f", {self._before:,} were done before" if self._before else ""
        console.err.print(
            f"{output}: {new:,} documents in {seconds:,.1f} s "
            f"({self._per_second():,.1f}/s){before}",
            soft_wrap=True,
        )
        if self._cut:
            console.err.print(
                f"{self._cut:,} documents were longer than --max-source-words; "
                "only their beginning was read",
                style="yellow",
            )
        console.warn_about_skipped(self._skipped)
        console.warn_about_left_out(self._left_out)

    def _per_second(self) -> float:
        return (self._done - self._before) / (time.perf_counter() - self._started)
