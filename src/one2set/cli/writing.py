"""From work to a file, with a bar that shows how far it has come: what `one2set predict` does."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from one2set.cli.console import err, progress_bar

if TYPE_CHECKING:
    from one2set.bulk.output_formats import Format
    from one2set.bulk.pipeline import Lines, Source
    from one2set.bulk.resume import Begun


@dataclass(frozen=True, slots=True)
class Target:
    """Where lines go: a file, or where its name ends in / a folder of parts."""

    name: str
    format: "Format"
    resume: bool
    overwrite: bool

    @property
    def path(self) -> Path:
        return Path(self.name)

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/") or self.path.is_dir()


def write_lines(
    source: "Source",
    run: "Callable[[Begun], Iterator[Lines]]",
    target: Target | None,
    settings: Mapping[str, Any],
) -> None:
    """Write what a run makes of what is not done yet, to standard output if there is no target."""
    from one2set.bulk.resume import Begun, partial_file, partial_folder

    with ExitStack() as stack:
        begun, write = Begun(), sys.stdout.buffer.write
        if target is not None:
            how: dict[str, Any] = {
                "settings": settings,
                "resume": target.resume,
                "overwrite": target.overwrite,
                "format": target.format,
            }
            partial = (
                stack.enter_context(partial_folder(target.path, **how))
                if target.is_folder
                else stack.enter_context(partial_file(target.path, **how))
            )
            begun, write = partial.begun, partial.write
        tally = _Tally(source.inputs, done_before=begun.done)
        with progress_bar("Predicting", total=tally.total_bytes or None) as update:
            for result in run(begun):
                # Of the first chunk some lines may be there already.
                for line in result.lines[max(begun.done - result.chunk.first, 0) :]:
                    write(line)
                tally.count(result)
                update(tally.bytes_done, tally.rate)
    tally.summarise(target.name if target else "standard output")


class _Tally:
    """Documents and bytes that are done, by now and by this run."""

    def __init__(self, inputs: tuple[str, ...], *, done_before: int) -> None:
        self._started = time.perf_counter()
        self._done = self._before = done_before
        self._cut = self._skipped = 0
        self.bytes_done = 0
        # Standard input and folders count nothing: then there is no telling what is left.
        self.total_bytes = sum(os.path.getsize(path) for path in inputs if os.path.isfile(path))

    def count(self, result: "Lines") -> None:
        """Take note of a chunk, of which some may have been done before."""
        self._done = max(self._done, result.chunk.first + len(result.lines))
        self._cut += result.cut
        self._skipped, self.bytes_done = result.chunk.skipped, result.chunk.bytes_read

    @property
    def rate(self) -> str:
        return f"{self._done:,} documents, {self._per_second():,.1f}/s"

    def summarise(self, output: str) -> None:
        """Say what was done, and what not."""
        seconds = time.perf_counter() - self._started
        new = self._done - self._before
        before = f", {self._before:,} were done before" if self._before else ""
        err.print(
            f"{output}: {new:,} documents in {seconds:,.1f} s "
            f"({self._per_second():,.1f}/s){before}",
            soft_wrap=True,
        )
        if self._cut:
            err.print(
                f"[yellow]{self._cut:,} documents were longer than --max-source-words; "
                "only their start was read[/]"
            )
        if self._skipped:
            err.print(f"[yellow]{self._skipped:,} records were skipped[/]")

    def _per_second(self) -> float:
        return (self._done - self._before) / (time.perf_counter() - self._started)
