"""`one2set mcp` as a user calls it; tests/adapters/test_mcp.py tests the server."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from one2set.cli import app
from one2set.cli.mcp import mcp
from one2set.errors import ConfigError


def test_closed_standard_input_is_a_mistake(
    monkeypatch: pytest.MonkeyPatch, exported_model: Path
) -> None:
    monkeypatch.setattr("one2set.cli.mcp.sys.stdin", None)
    # CliRunner would replace standard input.
    with pytest.raises(ConfigError, match="standard input is closed"):
        mcp(model=str(exported_model), threads=1)


def test_missing_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, exported_model: Path, tmp_path: Path
) -> None:
    model = ["mcp", "--model", str(exported_model), "--threads", "1"]
    result = CliRunner().invoke(app, [*model, "--folder", str(tmp_path / "nothing")])
    assert isinstance(result.exception, ConfigError)
    assert "is not a folder; pass --folder" in str(result.exception)
    monkeypatch.delitem(sys.modules, "one2set.adapters.mcp")
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    result = CliRunner().invoke(app, model)
    assert isinstance(result.exception, ConfigError)
    assert "the MCP server needs the package 'mcp'" in str(result.exception)
    assert 'pip install "one2set[mcp]"' in str(result.exception)
