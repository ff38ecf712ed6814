"""`one2set generate` and `predict`: outputs that exist already, and interrupted ones."""

import json
import random
import time
from pathlib import Path

import pytest

from one2set.errors import ConfigError, DataError
from tests.cli.test_predict import SAMPLE, run
from tests.commands import read_jsonl
from tests.processes import descendants, end_by_themselves
from tests.training.children import finish, start


def test_an_output_that_exists(tiny_model: Path, tmp_path: Path) -> None:
    output = tmp_path / "p.jsonl"
    output.write_text("mine\n")
    with pytest.raises(ConfigError, match="exists already; pass --overwrite"):
        run(tiny_model, SAMPLE, "-o", output)
    run(tiny_model, SAMPLE, "-o", output, "--resume")  # says that it is complete
    assert output.read_text() == "mine\n"
    run(tiny_model, SAMPLE, "-o", output, "--overwrite")
    assert len(read_jsonl(output)) == 60


def test_resuming_with_something_else_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    bad, output = tmp_path / "bad.jsonl", tmp_path / "p.jsonl"
    bad.write_text(SAMPLE.read_text() * 5 + "not json\n")  # a chunk is done, and then it stops
    with pytest.raises(DataError, match="not JSON"):
        run(tiny_model, bad, "-o", output)
    for arguments in ((tiny_model, bad, "--beam", "2"), (tiny_model, SAMPLE)):
        with pytest.raises(ConfigError, match="another model, input or options"):
            run(*arguments, "-o", output, "--resume")
    weights = tiny_model / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(ConfigError, match="another model, input or options"):
        run(tiny_model, bad, "-o", output, "--resume")


@pytest.mark.parametrize("way", ["trained", "exported"])
def test_kills_lose_nothing_and_repeat_nothing(
    tiny_model: Path, exported_model: Path, tmp_path: Path, way: str
) -> None:
    """Real processes are killed with -9 wherever they are; the last one ends, and its file is, byte
    for byte, that of a process which nobody disturbed. A model that is not exported runs in one
    process, an exported one in two more, which must not outlive it."""
    source = tmp_path / "many.jsonl"
    documents = [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    with source.open("w") as file:
        for number in range(1100):
            document = documents[number % len(documents)]
            file.write(json.dumps({**document, "id": f"d{number}"}) + "\n")
    calm, killed, log = tmp_path / "calm.jsonl", tmp_path / "killed.jsonl", tmp_path / "log.txt"
    command = {
        "trained": ["predict", str(tiny_model), str(source), "--threads", "1", "--slots", "-o"],
        "exported": [
            "generate",
            "--model",
            str(exported_model),
            str(source),
            "--workers",
            "2",
            "-o",
        ],
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
        assert end_by_themselves(workers)
        midway += 0 < written(killed) < size
    assert finish(start([*command, str(killed), "--resume"], output=log)) == 0, log.read_text()
    assert kills >= 3, "too few kills to prove anything"
    assert midway >= 2, "no kill hit the writing"
    assert killed.read_bytes() == calm.read_bytes()
    assert not list(tmp_path.glob("*.partial-*"))


def written(path: Path) -> int:
    """The size of what an unfinished run has written."""
    return sum(partial.stat().st_size for partial in path.parent.glob(f"{path.name}.partial-*"))
