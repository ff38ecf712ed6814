"""The bulk pipeline on a cluster, with Ray Data: one reader and a pool of actors.

The reader is a task on the machine of the command and yields chunks in order. Each actor receives
the model and loads it once. The lines return in order. So only the command needs the files, a dead
actor is replaced and its chunk processed again, and nothing is written twice.
"""

import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from one2set.bulk.output_formats import TextOutput
from one2set.bulk.pipeline import Keyphrases, Lines, Source, Work, process_chunk
from one2set.bulk.resume import ResumeState
from one2set.data.reading.locations import is_remote
from one2set.data.reading.streams import is_pipe
from one2set.errors import ConfigError, One2SetError, missing_extra
from one2set.extraction.knowledge import model_files

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 1 << 16  # bytes, after which Ray passes on what there is: every chunk at once
_READER_CPUS = 0.1  # other than an actor's, or Ray would have the actors do the reading too


def run_on_ray(source: Source, work: Work, state: ResumeState, *, workers: int) -> Iterator[Lines]:
    """Work on the cluster that `RAY_ADDRESS` names, or on a new one on this machine.

    `workers` is the number of actors; 0 for one on every CPU but one.
    """
    ray = _ray_data()
    this_node = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    files = ray.put({path.name: path.read_bytes() for path in model_files(work.model)})
    lists = {option: Path(path) for option, path in work.lists.items()}
    sent = {option: (path.name, path.read_bytes()) for option, path in lists.items()}
    size = workers or max(int(ray.cluster_resources()["CPU"]) - 1, 1)
    source = _absolute(source)
    lines = (
        ray.data.from_items([0])
        .map_batches(
            _read,
            fn_args=(source, state),
            batch_format="pyarrow",
            num_cpus=_READER_CPUS,
            label_selector=this_node,
        )
        .map_batches(
            _Actor,
            fn_constructor_args=(files, sent, work),
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=size),
        )
    )
    try:
        for table in lines.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield from _values(table)
    except ray.exceptions.RayError as error:
        if (cause := find_user_error(error)) is not None:
            raise cause from None
        raise


def _read(_: "pa.Table", source: Source, state: ResumeState) -> "Iterator[pa.Table]":
    """Read chunks, as a Ray task. Its own input only starts it."""
    for chunk in source.chunks(state):
        yield _table(chunk)


class _Actor:
    """Holds the model, and turns chunks into lines."""

    def __init__(self, files: Any, lists: dict[str, tuple[str, bytes]], work: Work) -> None:
        """`files` are those of the model, `lists` those of the user, by option."""
        import ray

        self._folder = TemporaryDirectory(prefix="one2set-")  # which it takes with it
        folder = Path(self._folder.name)
        for name, data in ray.get(files).items():
            (folder / name).write_bytes(data)
        self._work = replace(work, model=folder, threads=work.threads or 1)
        for option, (name, content) in lists.items():
            assert isinstance(self._work, Keyphrases)  # nothing else has lists
            path = folder / option / name
            path.parent.mkdir()
            path.write_bytes(content)
            changed: dict[str, Any] = {option: path}
            wanted = replace(self._work.wanted, **changed)
            self._work = replace(self._work, wanted=wanted)

    def __call__(self, table: "pa.Table") -> "Iterator[pa.Table]":
        for chunk in _values(table):
            yield _table(process_chunk(self._work, chunk))


def _table(value: Any) -> "pa.Table":
    """Pickle a value into a table, which Ray can pass on."""
    import pyarrow as pa

    return pa.table({"value": pa.array([pickle.dumps(value)], pa.large_binary())})


def _values(table: "pa.Table") -> Iterator[Any]:
    return (pickle.loads(pickled) for pickled in table.column("value").to_pylist())


def _absolute(source: Source) -> Source:
    """Make paths absolute, for other processes. Pipes are refused."""
    for path in source.inputs:
        if is_pipe(path):
            raise ConfigError(f"{path} cannot be read by Ray; pass files, or leave out --engine")
    inputs = tuple(path if is_remote(path) else os.path.abspath(path) for path in source.inputs)
    texts = source.texts and TextOutput(
        os.path.abspath(source.texts.path), replace=source.texts.replace
    )
    report = source.report and source.report.absolute()
    return replace(source, inputs=inputs, report=report, texts=texts)


def find_user_error(error: BaseException | None) -> One2SetError | None:
    """Find the user's error that made a task fail, if any. Ray's own error also has the class of
    its cause, but its message is long."""
    while error is not None:
        cause = getattr(error, "cause", None)
        if cause is None and isinstance(error, One2SetError):
            return error
        error = cause or error.__cause__
    return None


def connect_to_ray() -> Any:
    """Connect to the cluster that `RAY_ADDRESS` names, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise missing_extra("ray", extra="ray", purpose="--engine ray") from None
    if not ray.is_initialized():
        ray.init(logging_level="ERROR", log_to_driver=False)
    return ray


def _ray_data() -> Any:
    """Connect to Ray, and set it up to keep the order and print nothing."""
    ray = connect_to_ray()
    from ray.data import DataContext

    context = DataContext.get_current()
    context.execution_options.preserve_order = True
    context.target_max_block_size = _BLOCK
    context.enable_progress_bars = False  # ours shows documents
    context.print_on_execution_start = False
    return ray
