"""`one2set generate` and `predict`: outputs that exist already, and interrupted ones."""

import json
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from one2set.bulk import resume
from one2set.errors import ConfigError, DataError
from tests.cli.test_predict import SAMPLE, run
from tests.commands import read_jsonl
from tests.processes import descendants, wait_until_ended
from tests.training.children import finish, start


def test_an_existing_output_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    output = tmp_path / "p.jsonl"
    output.write_text("mine\n")
    with pytest.raises(ConfigError, match="exists already; pass --overwrite"):
        run(tiny_model, SAMPLE, "-o", output)
    with pytest.raises(ConfigError, match="no record of what it was made of"):
        run(tiny_model, SAMPLE, "-o", output, "--resume")
    assert output.read_text() == "mine\n"
    run(tiny_model, SAMPLE, "-o", output, "--overwrite")
    assert len(read_jsonl(output)) == 60


def test_a_complete_output_is_that_of_the_same_input_and_options(
    tiny_model: Path, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "p.jsonl"
    source.write_bytes(SAMPLE.read_bytes())
    run(tiny_model, source, "-o", output)
    before, at = output.read_bytes(), output.stat()
    run(tiny_model, source, "-o", output, "--resume")
    assert (output.stat().st_ino, output.stat().st_mtime_ns) == (at.st_ino, at.st_mtime_ns)
    with pytest.raises(ConfigError, match="other settings: options slots was false, is true"):
        run(tiny_model, source, "-o", output, "--slots", "--resume")
    source.write_bytes(SAMPLE.read_bytes().replace(b"the", b"teh"))
    with pytest.raises(DataError, match="documents 1 to 16 of the input have changed"):
        run(tiny_model, source, "-o", output, "--resume")
    source.write_bytes(SAMPLE.read_bytes() * 5)
    with pytest.raises(DataError, match="documents 49 to 112 of the input have changed"):
        run(tiny_model, source, "-o", output, "--resume")
    assert output.read_bytes() == before


def test_documents_that_are_added_at_the_very_end_are_not_dropped(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All lines are written, but the output does not have its name yet."""
    source, output = tmp_path / "in.jsonl", tmp_path / "p.jsonl"
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    source.write_bytes(b"".join(lines[:16]))  # a chunk

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(resume, "_deliver", die)
        with pytest.raises(SystemExit):
            run(tiny_model, source, "-o", output)
    assert not output.exists()
    source.write_bytes(b"".join(lines[:20]))
    with pytest.raises(DataError, match=r"has 16 documents, but the input now has more.*--overw"):
        run(tiny_model, source, "-o", output, "--resume")
    source.write_bytes(b"".join(lines[:16]))
    run(tiny_model, source, "-o", output, "--resume")
    assert len(read_jsonl(output)) == 16


def test_resuming_with_something_else_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    bad, output = tmp_path / "bad.jsonl", tmp_path / "p.jsonl"
    bad.write_text(SAMPLE.read_text() * 5 + "not json\n")  # a chunk is done, and then it stops
    with pytest.raises(DataError, match="not JSON"):
        run(tiny_model, bad, "-o", output)
    with pytest.raises(ConfigError, match=r"options search was \[\], is \[\[\"beam\",2\]\]"):
        run(tiny_model, bad, "--beam", "2", "-o", output, "--resume")
    with pytest.raises(DataError, match="documents 49 to 60 of the input have changed"):
        run(tiny_model, SAMPLE, "-o", output, "--resume")
    bad.write_text(bad.read_text().replace("graph", "grahp"))  # under the same names
    with pytest.raises(DataError, match="documents 1 to 16 of the input have changed"):
        run(tiny_model, bad, "-o", output, "--resume")
    weights = tiny_model / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ConfigError, match=r"other settings: model weights\.safetensors was"):
        run(tiny_model, bad, "-o", output, "--resume", "--no-verify")


@pytest.mark.parametrize("way", ["trained", "exported"])
def test_killed_commands_resume_to_the_same_bytes(
    tiny_model: Path, exported_model: Path, tmp_path: Path, way: str
) -> None:
    """Real processes are killed with -9 wherever they are; the last one ends, and its file is, byte
    for byte, that of a process which nobody disturbed. A model that is not exported runs in one
    process, an exported one in two more, which must not outlive it."""
    source = write_many(tmp_path)
    calm, killed, log = tmp_path / "calm.jsonl", tmp_path / "killed.jsonl", tmp_path / "log.txt"
    command = {
        "trained": ["predict", str(tiny_model), str(source), "--threads", "1", "--slots", "-o"],
        "exported": [*generate_in_two_processes(exported_model, source), "-o"],
    }[way]
    assert finish(start([*command, str(calm)], output=log)) == 0, log.read_text()
    size = calm.stat().st_size

    chance = random.Random(way)
    kills = midway = 0
    for share in (0.0, *sorted(chance.uniform(0.05, 0.9) for _ in range(4))):
        child = start([*command, str(killed), "--resume"], output=log)
        while child.is_alive() and written(killed) < share * size:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.05))
        kills += child.is_alive()
        assert child.pid is not None
        workers = descendants(child.pid)
        child.kill()
        child.join()
        assert wait_until_ended(workers)
        midway += 0 < written(killed) < size
    assert finish(start([*command, str(killed), "--resume"], output=log)) == 0, log.read_text()
    assert kills >= 3, "too few kills to prove anything"
    assert midway >= 2, "no kill hit the writing"
    assert killed.read_bytes() == calm.read_bytes()
    assert not list(tmp_path.glob("*.partial"))


def test_what_happens_to_a_running_job(exported_model: Path, tmp_path: Path) -> None:
    """Its workers are killed, each of them twice, and another command with other options wants to
    overwrite its output. It ends as if nothing had happened."""
    command = generate_in_two_processes(exported_model, write_many(tmp_path))
    calm, output, log = tmp_path / "calm.jsonl", tmp_path / "p.jsonl", tmp_path / "log.txt"
    assert finish(start([*command, "-o", str(calm)], output=log)) == 0, log.read_text()
    job = start([*command, "-o", str(output)], output=log)
    assert job.pid is not None
    killed = 0
    for lines in (0, 1):
        while job.is_alive() and (written(output) <= lines or not descendants(job.pid)):
            time.sleep(0.001)
        for worker in descendants(job.pid):
            with suppress(ProcessLookupError):  # it went with another worker
                os.kill(worker, signal.SIGKILL)
                killed += 1
    os.kill(job.pid, signal.SIGSTOP)  # so that it does not end before the other one looks
    other = start([*command, "-o", str(output), "--top", "1", "--overwrite"], output=log)
    assert finish(other) == 2
    os.kill(job.pid, signal.SIGCONT)
    assert "another process is writing" in " ".join(log.read_text().split())
    assert finish(job) == 0, log.read_text()
    assert killed >= 2
    assert output.read_bytes() == calm.read_bytes()


def write_many(folder: Path) -> Path:
    """A file of 1,100 documents."""
    path = folder / "many.jsonl"
    documents = read_jsonl(SAMPLE)
    rows = ({**documents[n % len(documents)], "id": f"d{n}"} for n in range(1100))
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def generate_in_two_processes(model: Path, source: Path) -> list[str]:
    return ["generate", "--model", str(model), str(source), "--workers", "2"]


def written(path: Path) -> int:
    """The size of what an unfinished run has written."""
    return sum(lines.stat().st_size for lines in path.parent.glob(f"{path.name}.partial/*.lines"))
