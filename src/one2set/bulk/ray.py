"""The work of `bulk` on a cluster, over Ray Data: one reader, and a pool of actors.

The reader is a task beside the program that asks, and hands out chunks in order; each actor loads
the model once, which is sent to it; the lines come back in order. So only that program needs the
files, an actor that dies is replaced and its chunk done again, and nothing is written twice.
"""

import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from one2set.bulk.pipeline import Lines, Source, Work, lines_of
from one2set.bulk.resume import Begun
from one2set.data.reading.remote import is_remote
from one2set.data.reading.streams import is_pipe
from one2set.errors import ConfigError, One2SetError, missing_extra

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 1 << 16  # bytes, after which Ray passes on what there is: every chunk at once
_READER_CPUS = 0.1  # other than an actor's, or Ray would have the actors do the reading too


def run_on_ray(source: Source, work: Work, begun: Begun, *, workers: int) -> Iterator[Lines]:
    """Do it on the cluster that `RAY_ADDRESS` names, else on one that is started here.

    `workers` is the number of actors; 0 for one on every CPU but one.
    """
    ray = _ray_data()
    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    files = ray.put({path.name: path.read_bytes() for path in _files(work.model)})
    size = workers or max(int(ray.cluster_resources()["CPU"]) - 1, 1)
    source, begun = _absolute(source, begun)
    lines = (
        ray.data.from_items([0])
        .map_batches(
            _read,
            fn_args=(source, begun),
            batch_format="pyarrow",
            num_cpus=_READER_CPUS,
            label_selector=here,
        )
        .map_batches(
            _Actor,
            fn_constructor_args=(files, work),
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=size),
        )
    )
    try:
        for table in lines.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield from _values(table)
    except ray.exceptions.RayError as error:
        if (cause := cause_of(error)) is not None:
            raise cause from None
        raise


def _read(_: "pa.Table", source: Source, begun: Begun) -> "Iterator[pa.Table]":
    """The task that reads. Its own input is only there to start it."""
    for chunk in source.chunks(begun):
        yield _table(chunk)


class _Actor:
    """Has the model, and makes lines of chunks."""

    def __init__(self, files: Any, work: Work) -> None:
        import ray

        self._folder = TemporaryDirectory(prefix="one2set-")  # which it takes with it
        folder = Path(self._folder.name)
        for name, data in ray.get(files).items():
            (folder / name).write_bytes(data)
        self._work = replace(work, model=folder, threads=work.threads or 1)

    def __call__(self, table: "pa.Table") -> "Iterator[pa.Table]":
        for chunk in _values(table):
            yield _table(lines_of(self._work, chunk))


def _table(value: Any) -> "pa.Table":
    """Anything, as Ray passes it on."""
    import pyarrow as pa

    return pa.table({"value": pa.array([pickle.dumps(value)], pa.large_binary())})


def _values(table: "pa.Table") -> Iterator[Any]:
    return (pickle.loads(each) for each in table.column("value").to_pylist())


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()]


def _absolute(source: Source, begun: Begun) -> tuple[Source, Begun]:
    """With paths that hold in another process. What can be read only here is refused."""
    for each in source.inputs:
        if is_pipe(each):
            raise ConfigError(f"{each} cannot be read by Ray; pass files, or leave out --engine")
    inputs = tuple(each if is_remote(each) else os.path.abspath(each) for each in source.inputs)
    return (
        replace(source, inputs=inputs, report=source.report and source.report.absolute()),
        begun._replace(file=begun.file and begun.file.absolute()),
    )


def cause_of(error: BaseException | None) -> One2SetError | None:
    """What the user can mend, if that is why a task failed. Ray's error is of the class of its
    cause too, but says all that Ray knows."""
    while error is not None:
        cause = getattr(error, "cause", None)
        if cause is None and isinstance(error, One2SetError):
            return error
        error = cause or error.__cause__
    return None


def connected() -> Any:
    """Ray, connected to the cluster that `RAY_ADDRESS` names, else to one that is started here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise missing_extra("ray", extra="ray", purpose="--engine ray") from None
    if not ray.is_initialized():
        ray.init(logging_level="ERROR", log_to_driver=False)
    return ray


def _ray_data() -> Any:
    """Ray, ready to pass on chunks in order and in silence."""
    ray = connected()
    from ray.data import DataContext

    context = DataContext.get_current()
    context.execution_options.preserve_order = True
    context.target_max_block_size = _BLOCK
    context.enable_progress_bars = False  # ours shows documents
    context.print_on_execution_start = False
    return ray
