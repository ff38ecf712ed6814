"""Pinned versions agree with requirements, and the source package is complete."""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_pins(text: str) -> dict[str, str]:
    """The versions of packages, by their names."""
    result = re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)
    return {normalise(name): version for name, version in result}


def names(*extras: str) -> Iterator[str]:
    """The packages that the core and these extras require."""
    chosen = [PROJECT["project"]["optional-dependencies"][extra] for extra in extras]
    for requirement in sum(chosen, PROJECT["project"]["dependencies"]):
        if not requirement.startswith("one2set["):
            yield normalise(re.split(r"[\[><=; ]", requirement)[0])


def test_the_lock_has_what_a_server_needs_with_hashes() -> None:
    """If it fails: make lock."""
    locked = parse_pins(LOCK)
    assert set(names("data", "serve")) <= set(locked)
    entries = re.split(r"\n(?=\w)", LOCK.strip())
    assert len(entries) == len(locked)
    assert all("--hash=sha256:" in entry for entry in entries)


def test_lock_and_constraints_have_the_same_versions() -> None:
    constraints = parse_pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    in_browsers = {"httpx2-jsfetch"}  # not installed here
    locked = {
        name: version for name, version in parse_pins(LOCK).items() if name not in in_browsers
    }
    assert locked.items() <= constraints.items()


def test_every_required_package_is_pinned() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    constraints = parse_pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert set(names(*extras)) <= set(constraints)


def test_the_source_package_has_every_file_but_the_tools() -> None:
    """An unpacked sdist can run its own tests."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no git checkout, so there is nothing to compare with")
    parts = {Path(line).parts[0] for line in listed.stdout.splitlines()}
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    # hatchling adds these two itself.
    assert parts - {name.strip("/") for name in included} == {
        ".gitignore",
        "LICENSE",
        "pyproject.toml",
    }
