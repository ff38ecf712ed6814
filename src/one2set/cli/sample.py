"""`one2set sample`: the bundled sample as a folder."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from one2set.cli.console import err


def sample(
    output: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")],
) -> None:
    """Copy the bundled sample into a folder: 60 documents, and predictions to score them with."""
    from one2set.atomic import atomic_folder

    with (
        as_file(files("one2set.data").joinpath("sample")) as bundled,
        atomic_folder(output) as to,
    ):
        shutil.copytree(bundled, to, dirs_exist_ok=True)
    err.print(f"{output}: {', '.join(sorted(path.name for path in output.iterdir()))}")
