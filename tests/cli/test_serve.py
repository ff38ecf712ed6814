"""`one2set serve` as a user calls it; tests/serving/test_server.py runs it."""

import sys

import pytest
from typer.testing import CliRunner

from one2set.cli import app
from one2set.errors import ConfigError


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [module for module in sys.modules if module.startswith("one2set.serving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = CliRunner().invoke(app, ["serve"])
    assert isinstance(result.exception, ConfigError)
    assert "serving needs the package 'fastapi'" in str(result.exception)
    assert 'pip install "one2set[serve]"' in str(result.exception)


def test_limits_are_checked_before_a_model_is_loaded() -> None:
    result = CliRunner().invoke(app, ["serve", "--model", "nowhere", "--queue", "3"])
    assert isinstance(result.exception, ConfigError)
    assert "only 3 can wait" in str(result.exception)
    result = CliRunner().invoke(app, ["serve", "--model", "nowhere", "--timeout", "inf"])
    assert isinstance(result.exception, ConfigError)
    assert "the limit of seconds is inf" in str(result.exception)
    for options, variable in ((["--token", ""], None), ([], ""), ([], " ")):
        environment = {"ONE2SET_TOKEN": variable}
        result = CliRunner().invoke(app, ["serve", "--model", "nowhere", *options], env=environment)
        assert isinstance(result.exception, ConfigError)
        assert "the token is empty" in str(result.exception)
    result = CliRunner().invoke(app, ["serve", "--model", "nowhere", "--allowed-host", "http://a"])
    assert isinstance(result.exception, ConfigError)
    assert "the allowed host is 'http://a'" in str(result.exception)
    result = CliRunner().invoke(app, ["serve", "--model", "nowhere"])
    assert isinstance(result.exception, ConfigError)
    assert "there is no model nowhere" in str(result.exception)


def test_the_example_of_a_server_in_a_network_names_it() -> None:
    """A server refuses clients that call it by another name."""
    shown = CliRunner().invoke(app, ["serve", "--help"]).output
    (example,) = (line for line in shown.splitlines() if "serve --host 0.0.0.0" in line)
    assert "--allowed-host NAME" in example


def test_a_server_that_no_other_machine_can_call_is_pointed_out() -> None:
    command = ["serve", "--model", "nowhere", "--host", "0.0.0.0"]
    warning = "pass --allowed-host for each name"
    assert warning in CliRunner().invoke(app, command).output
    assert warning not in CliRunner().invoke(app, [*command, "--allowed-host", "a.org"]).output
    assert warning not in CliRunner().invoke(app, command[:3]).output
