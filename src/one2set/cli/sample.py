"""`one2set sample`: copy the included sample into a folder."""

import filecmp
import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err


def sample(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")],
) -> None:
    """Copy the included sample: 60 documents, and predictions to score.

    one2set sample my-sample
    one2set evaluate my-sample/documents.jsonl my-sample/predictions.jsonl

    A folder that already has these files is not changed.
    """
    from one2set.atomic import atomic_folder

    with as_file(files("one2set.data").joinpath("sample")) as bundled:
        names = sorted(path.name for path in bundled.iterdir())
        if not _has_copies(output, bundled, names):
            with atomic_folder(output) as to:
                shutil.copytree(bundled, to, dirs_exist_ok=True)
    err.print(f"{output}: {', '.join(names)}")


def _has_copies(folder: Path, bundled: Path, names: list[str]) -> bool:
    same, _, _ = filecmp.cmpfiles(folder, bundled, names, shallow=False)
    return same == names
