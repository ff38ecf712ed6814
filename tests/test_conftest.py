"""Skipped tests fail where they are required."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest

@pytest.fixture
def browser():
    pytest.skip("there is no chromium; apt-get install chromium")

@pytest.mark.browser
def test_page(browser):
    pass

@pytest.mark.ray
def test_cluster():
    pytest.skip("no Ray")

def test_other():
    pytest.skip("no matter")
"""


@pytest.mark.parametrize(
    ("required", "failed"), [("", 0), ("browser", 1), ("browser,ray", 2), ("shared", 0)]
)
def test_required_kinds(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, required: str, failed: int
) -> None:
    monkeypatch.setenv("ONE2SET_REQUIRE", required)
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers =\n  browser\n  ray")
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess("-rs", "-p", "no:schemathesis")
    result.assert_outcomes(failed=failed and failed - 1, errors=min(failed, 1), skipped=3 - failed)
    if failed:
        result.stdout.fnmatch_lines(["*this was skipped: *there is no chromium*"])
    else:
        result.stdout.fnmatch_lines(["SKIPPED*apt-get install chromium*"])
