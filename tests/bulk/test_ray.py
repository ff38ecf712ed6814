"""A real Ray cluster on this machine writes the same lines, even if an actor dies."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from one2set.bulk import ray as bulk_ray
from one2set.bulk.output_formats import TextOutput
from one2set.bulk.pipeline import Keyphrases, Source, run
from one2set.bulk.resume import ResumeState
from one2set.data.document import Document
from one2set.data.vocabulary import WordVocabulary
from one2set.export.export import export_model
from one2set.keyphrases.selection import Selection
from one2set.model.folder import save_model
from one2set.model.settrans import SetTrans
from tests.clusters import capture_on_ray

# Its own process: Ray leaves threads and warnings behind. An actor is killed with -9 when the first
# lines are there.
SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path
from tests.clusters import start_ray
from tests.processes import descendants

out, killed = Path(sys.argv[sys.argv.index("-o") + 1]), []

def kill():
    while not killed:
        time.sleep(0.01)
        if any(path.stat().st_size for path in out.parent.glob(out.name + ".partial/*.lines")):
            for process in descendants(os.getpid()):
                try:
                    name = Path(f"/proc/{process}/cmdline").read_bytes()
                except OSError:
                    continue
                if name.startswith(b"ray::") and b"MapWorker" in name:
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                    break

start_ray(cpus=3)
threading.Thread(target=kill, daemon=True).start()
from one2set.cli import main
try:
    main()
finally:
    print("killed", len(killed))
"""


@pytest.mark.ray
def test_a_cluster_writes_the_same_as_one_machine_even_if_an_actor_dies(
    settrans: SetTrans, vocabulary: WordVocabulary, documents: list[Document], tmp_path: Path
) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'one2set[ray]'")
    save_model(tmp_path / "trained", settrans, vocabulary)
    export_model(tmp_path / "trained", tmp_path / "exported")
    (tmp_path / "in").mkdir()
    for number in range(2):
        rows = [
            {"id": f"{number}-{n}", "title": d.title, "abstract": d.abstract}
            for n, d in enumerate(documents * 10)
        ]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / f"{number}.parquet")
    arguments = ["generate", "--model", "exported", "in/*.parquet", "--engine", "ray"]
    arguments += ["--workers", "2", "-o", "out/", "--format", "jsonl"]
    assert "killed 1" in capture_on_ray(SCRIPT, *arguments, folder=tmp_path)
    inputs = tuple(str(path) for path in sorted((tmp_path / "in").iterdir()))
    results = run(Source(inputs), Keyphrases(tmp_path / "exported"), ResumeState(), workers=1)
    expected = b"".join(line for result in results for line in result.lines)
    actual = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert actual.pop(".one2set.jsonl")  # the journal
    assert actual == {"part-00000.jsonl": expected}


def test_an_actor_receives_the_lists_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be on a machine that does not have them."""
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get=dict))
    work = Keyphrases(Path("here"), Selection(vocabulary="terms.csv"))
    actor = bulk_ray._Actor({"a.json": b"{}"}, {"vocabulary": ("terms.csv", b"label\n")}, work)
    assert isinstance(actor._work, Keyphrases)
    sent = Path(str(actor._work.wanted.vocabulary))
    assert (sent.name, sent.read_bytes()) == ("terms.csv", b"label\n")
    assert (actor._work.model / "a.json").read_bytes() == b"{}"
    actor._folder.cleanup()


def test_paths_are_those_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader has another current folder."""
    monkeypatch.chdir(tmp_path)
    source = bulk_ray._absolute(Source(("in",), report=Path("report"), texts=TextOutput("texts")))
    assert source.texts is not None
    paths = source.inputs[0], source.report, source.texts.path
    assert [*map(Path, map(str, paths))] == [tmp_path / name for name in ("in", "report", "texts")]
