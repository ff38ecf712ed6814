"""Where inputs are: files, patterns of files, and files on other machines.

pyarrow reads `s3://bucket/papers/*.parquet`, `gs://…` and `hdfs://…`. It takes keys and regions
from the environment.
"""

import io
import os
import re
from collections.abc import Sequence
from fnmatch import fnmatch
from glob import glob, has_magic
from typing import IO, Any

from one2set.errors import DataError, missing_extra

COMPRESSED = (".gz", ".zst")
_FILE_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")  # report.doc, graph.js
_WEB = re.compile(r"(?:https?://|www\.)\S+$", re.IGNORECASE)


def is_file(argument: str) -> bool:
    """Whether an argument names a file, and is not a text."""
    if argument == "-" or os.path.exists(argument):
        return True
    if _WEB.match(argument):
        raise DataError(
            "is a web address, which is not downloaded",
            fix="download it first (for example: curl -LO …), and pass the file",
            path=argument,
        )
    if is_remote(argument) and not argument.split()[1:]:
        return True
    if names_file(argument):
        raise DataError(
            "there is no such file",
            fix="check its name; to pass a text of one word, use: echo TEXT | one2set generate",
            path=argument,
        )
    return False


def names_file(argument: str) -> bool:
    """Whether an argument looks like the name of a file or folder, and not like a text."""
    if argument.split()[1:] or not argument.strip():
        return _names_file_with_spaces(argument)
    looks = argument.startswith(("~", ".")) or "/" in argument or "\\" in argument
    return looks or argument.endswith(COMPRESSED) or bool(_FILE_ENDING.search(argument))


def _names_file_with_spaces(argument: str) -> bool:
    """`My thesis.pdf` and `some folder/` are names; a sentence that ends in `.pdf` is rare."""
    if len(argument.split()) > 6:
        return False
    if not argument.rpartition(".")[2].isalnum():  # as for most texts: no reader is imported
        return argument.endswith("/")
    from one2set.data.reading.readers import EXTENSIONS

    return argument.lower().endswith(tuple(EXTENSIONS))


def is_remote(path: str) -> bool:
    """Whether this is a URL, not a path."""
    return "://" in path


def open_remote(path: str) -> IO[bytes]:
    """The bytes of a file, buffered."""
    filesystem, place = _reach(path)
    return io.BufferedReader(filesystem.open_input_file(place), 1 << 20)


def expand_patterns(inputs: Sequence[str]) -> list[str]:
    """Replace patterns such as `in/*.parquet` by the files that match, sorted."""
    paths = []
    for pattern in inputs:
        if has_magic(pattern) and not os.path.exists(pattern):
            matches = (
                list_remote_files(pattern)
                if is_remote(pattern)
                else sorted(glob(pattern, recursive=True))
            )
            if not matches:
                raise DataError("matches no file", fix="check the pattern", path=pattern)
            paths += matches
        else:
            paths.append(pattern)
    return paths


def list_remote_files(pattern: str) -> list[str]:
    """The files that match a pattern with *, sorted by name."""
    from pyarrow.fs import FileSelector

    fixed = pattern[: min(pattern.find(wildcard) for wildcard in "*?[" if wildcard in pattern)]
    folder = fixed.rpartition("/")[0]
    filesystem, place = _reach(folder)
    try:
        infos = filesystem.get_file_info(FileSelector(place, recursive="**" in pattern))
    except OSError as error:
        raise DataError(f"cannot be read ({error})", fix="check the address", path=folder) from None
    names = (f"{folder}/{info.path[len(place) :].lstrip('/')}" for info in infos if info.is_file)
    return sorted(name for name in names if fnmatch(name, pattern))


def _reach(path: str) -> tuple[Any, str]:
    try:
        import pyarrow as pa
        from pyarrow.fs import FileSystem
    except ImportError:
        raise missing_extra("pyarrow", extra="data", purpose="reading remote files") from None
    try:
        filesystem, place = FileSystem.from_uri(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"cannot be reached ({error})", fix="check the address", path=path
        ) from None
    return filesystem, place
