"""Files over HTTP have the text of the library, within limits."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from fastapi.testclient import TestClient

from one2set.data.document import Document
from one2set.data.reading.documents import read_document
from one2set.errors import missing_extra
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.serving import files
from one2set.serving.app import create_app
from one2set.serving.limits import FILES_PATH, Access, Limits
from tests.data import document_samples as samples
from tests.serving.running import URL

BYTES = {"Content-Type": "application/octet-stream"}


def send(client: TestClient, content: bytes, name: str = "", **headers: str) -> Any:
    return client.post(FILES_PATH, params={"name": name}, content=content, headers=BYTES | headers)


def test_every_format_gives_what_the_library_reads(client: TestClient) -> None:
    for name, content in {
        "paper.pdf": samples.pdf(),
        "paper.docx": samples.docx(),
        "paper.odt": samples.odt(),
        "paper.epub": samples.epub(),
        "paper.html": samples.html(),
        "paper.md": samples.markdown(),
        "paper.tex": samples.latex(),
        "paper.rtf": samples.rtf(),
        "paper.txt": "Words of a set: élan.".encode(),
        "": b"Words without a name.",
    }.items():
        response = send(client, content, name)
        assert response.status_code == 200, response.text
        document = read_document(content, name)
        assert response.json() == {"title": document.title, "text": document.abstract}


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "a.txt", "the file contains no text; check"),
        (b"  \n ", "a.txt", "the file contains no text"),
        (b"a\0b\xff", "a.txt", "the file "),
        (b"%PDF-1.7 and no more", "a.pdf", "the file "),
        (samples.zipped({"a": "b"}), "a.docx", "the file is an archive without a document"),
        (b"x" * 1_001, "a.txt", "the file has 1,001 characters of text; at most 1,000"),
    ],
)
def test_unreadable_files_are_explained(
    generator: KeyphraseGenerator, content: bytes, name: str, message: str
) -> None:
    with TestClient(create_app(generator, Limits(characters=1_000)), base_url=URL) as client:
        response = send(client, content, name)
        assert response.status_code == 422
        assert response.json()["detail"].startswith(message)
        assert name not in response.json()["detail"], "the client knows it"


def test_only_octet_streams_within_the_limit_are_read(generator: KeyphraseGenerator) -> None:
    limits, access = Limits(body=100, file=1_000), Access("geheim")
    app = create_app(generator, limits, access)
    token = {"Authorization": "Bearer geheim"}
    with TestClient(app, base_url=URL) as client:
        assert send(client, b"words").status_code == 401
        assert send(client, b"words " * 150, **token).status_code == 200
        large = send(client, b"words " * 200, **token)
        assert large.status_code == 413
        assert "at most 1,000 bytes" in large.json()["detail"]
        for kind in ("text/plain", "multipart/form-data", "application/pdf"):
            response = send(client, b"words", **token, **{"Content-Type": kind})
            assert response.status_code == 422
            assert f"Content-Type is {kind}" in response.json()["detail"]
        without = client.post(FILES_PATH, content=b"words", headers=token)
        assert "Content-Type is missing" in without.json()["detail"]


def test_a_missing_package_is_named(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object, **__: object) -> Document:
        raise missing_extra("pypdf", extra="documents", purpose="reading a PDF")

    monkeypatch.setattr(files, "read_document", read)
    response = send(client, b"%PDF-")
    assert response.status_code == 501
    assert 'pip install "one2set[documents]"' in response.json()["detail"]


def test_files_do_not_block_the_event_loop(
    generator: KeyphraseGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While two of a client are read, more of it are sent away, and texts are answered."""
    held, started = threading.Event(), threading.Semaphore(0)
    names: set[str] = set()

    def read(body: bytes, name: str, **_: object) -> Document:
        names.add(threading.current_thread().name)
        started.release()
        assert held.wait(60)
        return Document(name, "", body.decode())

    monkeypatch.setattr(files, "read_document", read)
    with (
        TestClient(create_app(generator), base_url=URL) as client,
        ThreadPoolExecutor(2) as threads,
    ):
        asked = [threads.submit(send, client, b"words") for _ in range(2)]
        for _ in asked:
            assert started.acquire(timeout=60)
        refused = send(client, b"words")
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        texts = client.post("/v1/keyphrases", json={"documents": ["Words of a set."]})
        assert texts.status_code == 200
        held.set()
        assert [request.result().status_code for request in asked] == [200] * 2
    assert all(name.startswith("file") for name in names)


def test_few_files_are_read_at_once(
    generator: KeyphraseGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = threading.Barrier(2)

    def read(body: bytes, name: str, **_: object) -> Document:
        with suppress(threading.BrokenBarrierError):
            met.wait(0.5)  # for a second one, which must not come
            raise AssertionError("two files are read at once")
        return Document(name, "", body.decode())

    monkeypatch.setattr(files, "read_document", read)
    monkeypatch.setattr(files, "_THREADS", 1)
    with (
        TestClient(create_app(generator), base_url=URL) as client,
        ThreadPoolExecutor(2) as threads,
    ):
        answers = list(threads.map(lambda _: send(client, b"words"), range(2)))
    assert [answer.status_code for answer in answers] == [200] * 2


def test_a_file_that_takes_too_long_gets_503(
    generator: KeyphraseGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = threading.Event()

    def read(body: bytes, name: str, **_: object) -> Document:
        assert held.wait(60)
        return Document(name, "", "")

    monkeypatch.setattr(files, "read_document", read)
    with TestClient(create_app(generator, Limits(seconds=0.2)), base_url=URL) as client:
        response = send(client, b"words")
        assert response.status_code == 503
        assert "not done in 0.2 s" in response.json()["detail"]
        held.set()


class Held:
    """Reads a file when it is told to."""

    def __init__(self) -> None:
        self.begun = self.running = 0
        self.free = threading.Event()

    def read(self, body: bytes, name: str, **_: object) -> Document:
        self.begun += 1
        self.running += 1
        assert self.free.wait(60)
        self.running -= 1
        return Document(name, "", body.decode())


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_ended_requests_leave_no_more_threads_than_may_read(
    generator: KeyphraseGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests end while their files are read or wait. Those that wait are never read."""
    held = Held()
    monkeypatch.setattr(files, "read_document", held.read)
    with TestClient(create_app(generator, Limits(seconds=0.2)), base_url=URL) as client:
        for _ in range(6):
            assert send(client, b"words").status_code == 503
        assert (held.begun, held.running) == (2, 2)
        held.free.set()
        answers: list[int] = []
        while 200 not in answers[-1:]:
            assert len(answers) < 100
            answers.append(send(client, b"words").status_code)
    assert held.begun <= 2 + len(answers)


def test_files_of_ended_requests_count_as_long_as_they_are_in_memory(
    generator: KeyphraseGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    monkeypatch.setattr(files, "read_document", held.read)
    with TestClient(create_app(generator, Limits(seconds=0.3, files=2)), base_url=URL) as client:
        assert [send(client, b"words").status_code for _ in range(4)] == [503, 503, 429, 429]
        texts = client.post("/v1/keyphrases", json={"documents": [""]})
        assert texts.status_code != 429
        held.free.set()
        wait_for(lambda: send(client, b"words").status_code == 200)


def test_the_server_ends_while_a_file_is_read(
    generator: KeyphraseGenerator,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It does not wait, and the end of the thread disturbs nobody."""
    held = Held()
    monkeypatch.setattr(files, "read_document", held.read)
    with TestClient(create_app(generator, Limits(seconds=0.2)), base_url=URL) as client:
        assert send(client, b"words").status_code == 503
    assert held.running == 1
    held.free.set()
    wait_for(lambda: not any(thread.name.startswith("file") for thread in threading.enumerate()))
    assert held.running == 0
    assert caplog.records == []
