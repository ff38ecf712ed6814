"""The site builds without broken links, and loads nothing from other hosts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
# Elements that make a browser load something, and their attributes.
_LOADING = re.compile(
    r"<(?:script|link|img|iframe|source|video|audio|object|embed|use|image)\b[^>]*?"
    r"\b(?:src|href|srcset|data|poster)=[\"']?((?:https?:)?//[^\"'> ]+)"
)
_STYLES = re.compile(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"') ]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=_ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_builds(site: Path) -> None:
    api = (site / "api" / "index.html").read_text(encoding="utf-8")
    assert "KeyphraseGenerator" in api
    assert "calibrated" in (site / "faq" / "index.html").read_text(encoding="utf-8")


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert _LOADING.findall(text) == [], page
        # For these two the theme's script asks GitHub, or loads a package.
        assert 'data-md-component="source"' not in text, page
        assert 'class="mermaid"' not in text, page
    for style in site.rglob("*.css"):
        assert _STYLES.findall(style.read_text(encoding="utf-8")) == [], style


def test_the_pattern_finds_external_resources() -> None:
    loading = '<link rel="stylesheet" href="https://fonts.example/a.css"><img src=//a.example/b>'
    assert _LOADING.findall(loading) == ["https://fonts.example/a.css", "//a.example/b"]
    assert _LOADING.findall('<a href="https://example.org">and <link href="a.css">') == []
    assert _STYLES.findall("a { background: url('https://a.example/b') }") == [
        "https://a.example/b"
    ]
