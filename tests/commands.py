"""Run the command line within the test process."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from one2set.cli import app


def invoke(*arguments: object) -> Result:
    """The result of a command, which must succeed; raises the error that a user would see."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result


def run(*arguments: object) -> str:
    """What a command prints to stdout and stderr."""
    return invoke(*arguments).output


def parse_jsonl(text: str) -> list[dict[str, Any]]:
    """The objects of JSON lines."""
    return [json.loads(line) for line in text.splitlines()]


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file."""
    return parse_jsonl(path.read_text())
