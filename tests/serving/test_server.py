"""The server as a process answers accepted requests before it exits."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi import FastAPI

from one2set.data.document import Document
from one2set.errors import ConfigError
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.serving.limits import Limits
from one2set.serving.server import run


@contextmanager
def serving(*options: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The process and its address."""
    command = [sys.executable, "-m", "one2set", "serve", "--port", "0", "--threads", "1", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        result = re.search(r"http://\S+", line)
        assert result, line + process.stderr.read()
        yield process, result[0]
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def ask(url: str, texts: list[str]) -> list[list[str]]:
    request = urllib.request.Request(
        f"{url}/v1/keyphrases",
        json.dumps({"documents": texts}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        documents = json.load(answer)["documents"]
    return [[keyphrase["text"] for keyphrase in document["keyphrases"]] for document in documents]


def metric(url: str, name: str) -> float:
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return float(re.findall(rf"^{name} (\S+)$", text, re.MULTILINE)[0])


def test_accepted_requests_are_answered_before_exit(
    model: Path, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    long = [" ".join([document.abstract] * 40) for document in documents[:6]]
    with serving("--model", str(model)) as (process, url):
        with ThreadPoolExecutor(3) as threads:
            asked = [threads.submit(ask, url, long[n : n + 2]) for n in (0, 2, 4)]
            deadline = time.monotonic() + 60
            # The first request is being computed, the others wait.
            while metric(url, "one2set_waiting_documents") < 2:
                assert time.monotonic() < deadline
                assert not any(request.done() for request in asked)
                time.sleep(0.02)
            process.terminate()
            answers = [phrases for request in asked for phrases in request.result()]
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert answers == [
        [keyphrase.text for keyphrase in keyphrases] for keyphrases in generator.generate(long)
    ]


def test_loopback_a_token_and_ctrl_c(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONE2SET_TOKEN", "geheim")
    with serving("--model", str(model)) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            ask(url, ["a text"])
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_an_address_that_cannot_be_bound_is_reported() -> None:
    def never(url: str) -> None:
        raise AssertionError(url)

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for host, chosen in (("127.0.0.1", port), ("no.such.host.invalid", 0)):
            with pytest.raises(ConfigError, match=f"cannot listen on {host}:{chosen}"):
                run(FastAPI(), host=host, port=chosen, limits=Limits(seconds=1.0), started=never)
