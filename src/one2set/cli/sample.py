"""`one2set sample`: the bundled sample as a folder."""

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
    """Copy the bundled sample into a folder: 60 documents, and predictions to score them with.

    A folder that has them already stays as it is.
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
