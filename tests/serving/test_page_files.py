"""The files of the page are served unchanged, and refer to no other host."""

import re
from importlib.resources import files

import pytest
from fastapi.testclient import TestClient

FILES = {
    file.name: file.read_text(encoding="utf-8")
    for file in (files("one2set.serving") / "page").iterdir()
}
PATHS = {name: f"/page/{name}" for name in FILES} | {"index.html": "/", "docs.html": "/docs"}


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_file_has_the_content_security_policy(client: TestClient, name: str) -> None:
    response = client.get(PATHS[name])
    assert response.text == FILES[name]
    assert response.headers["x-content-type-options"] == "nosniff"
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


def test_files_refer_to_one_another_only() -> None:
    page = FILES["index.html"] + FILES["docs.html"]
    used = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert {*used} <= {*(path.lstrip("/") for path in PATHS.values()), "./", "openapi.json"}
    for name, text in FILES.items():
        assert len(text.splitlines()) <= 300, name
        elsewhere = re.findall(r"https?:[\w./]+|[\"'(]//[\w./]+", text)
        assert {*elsewhere} <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    imports = re.findall(r'from "\./([\w.]+)"', "".join(FILES.values()))
    assert {*imports} <= FILES.keys()
    assert not re.search(r"<script>|<style>|style=|onclick=", page), "the policy would refuse it"
