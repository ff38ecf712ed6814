"""`one2set generate --output`: keyphrases of many documents, in files."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from one2set.bulk import pipeline
from one2set.bulk.pipeline import Keyphrases, Lines, Source
from one2set.bulk.resume import ResumeState
from one2set.cli.progress import Display
from one2set.errors import ConfigError, DataError
from tests.commands import invoke, parse_jsonl, read_jsonl

SAMPLE = Path(str(files("one2set.data") / "sample" / "documents.jsonl"))


def run(model: Path, *arguments: str | Path) -> str:
    """What `generate` writes to stdout."""
    return invoke("generate", "--model", model, *arguments).stdout


def printed(model: Path, *arguments: str | Path) -> str:
    return run(model, *arguments, "--format", "jsonl", "--threads", "1")


@pytest.mark.parametrize("options", [(), ("--top", "1"), ("--present-only",)])
def test_a_file_has_the_same_lines_as_standard_output(
    exported_model: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    output = tmp_path / "k.jsonl"
    assert run(exported_model, SAMPLE, "-o", output, "--workers", "2", *options) == ""
    assert output.read_text() == printed(exported_model, SAMPLE, *options)


@pytest.mark.parametrize("options", [(), ("--workers", "1"), ("--workers", "3")])
def test_a_worker_has_one_thread_by_default(
    exported_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    threads = []

    def note(source: Source, work: Keyphrases, state: ResumeState, **_: object) -> list[Lines]:
        threads.append(work.threads)
        return []

    monkeypatch.setattr(pipeline, "run", note)
    for more in ([], ["--threads", "5"]):
        run(exported_model, SAMPLE, "-o", tmp_path / "k.jsonl", "--overwrite", *options, *more)
    assert threads == [1, 5]


def test_a_long_document_shows_its_progress(
    exported_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[float] = []
    monkeypatch.setattr(Display, "update", lambda self, completed, text: shown.append(completed))
    path = tmp_path / "long.txt"
    path.write_text(" ".join(f"word{number}" for number in range(1_000)))
    run(exported_model, path, "-o", tmp_path / "k.jsonl", "--workers", "2")
    assert len({round(completed) for completed in shown}) > 3
    assert shown == sorted(shown)
    assert shown[-1] == path.stat().st_size


def test_a_model_that_is_not_exported(tiny_model: Path, tmp_path: Path) -> None:
    run(tiny_model, SAMPLE, "-o", tmp_path / "k.jsonl")
    assert (tmp_path / "k.jsonl").read_text() == printed(tiny_model, SAMPLE)


def test_parquet_zst_and_folders_hold_the_same(exported_model: Path, tmp_path: Path) -> None:
    expected = parse_jsonl(printed(exported_model, SAMPLE))
    table = pa.Table.from_pylist(read_jsonl(SAMPLE), schema=None)
    (tmp_path / "in").mkdir()
    for number in range(2):
        pq.write_table(table.slice(number * 30, 30), tmp_path / "in" / f"{number}.parquet")
    run(exported_model, f"{tmp_path}/in/*.parquet", "-o", f"{tmp_path}/out/")
    (part,) = (tmp_path / "out").glob("part-*")
    run(exported_model, tmp_path / "in", "-o", tmp_path / "p.jsonl.zst")
    with zstandard.open(tmp_path / "p.jsonl.zst", "rt", encoding="utf-8") as file:
        assert [json.loads(line) for line in file] == expected
    for row, line in zip(pq.read_table(part).to_pylist(), expected, strict=True):
        assert row["id"] == line["id"]
        for phrase, other in zip(row["keyphrases"], line["keyphrases"], strict=True):
            assert {name: phrase[name] for name in other} == other
    pattern = printed(exported_model, f"{tmp_path}/in/*.parquet")
    assert parse_jsonl(pattern) == expected


def test_an_existing_folder_needs_no_slash(exported_model: Path, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(read_jsonl(SAMPLE)[:3])
    pq.write_table(table, tmp_path / "in.parquet")
    (tmp_path / "out").mkdir()
    with pytest.raises(ConfigError, match="a folder has parts in jsonl or parquet"):
        run(exported_model, tmp_path / "in.parquet", "-o", tmp_path / "out", "--format", "csv")
    run(exported_model, tmp_path / "in.parquet", "-o", tmp_path / "out", "--workers", "1")
    assert [path.name for path in (tmp_path / "out").glob("part-*")] == ["part-00000.parquet"]


def test_a_changed_list_is_another_setting(exported_model: Path, tmp_path: Path) -> None:
    output, stopped = tmp_path / "k.jsonl", tmp_path / "stop.txt"
    options = ("-o", output, "--workers", "1", "--stop-list", stopped)
    stopped.write_text("graph\n")
    run(exported_model, SAMPLE, *options)
    run(exported_model, SAMPLE, *options, "--resume")
    stopped.write_text("graph\nsets\n")
    with pytest.raises(ConfigError, match="made with other settings: lists stop_list was"):
        run(exported_model, SAMPLE, *options, "--resume")
    with pytest.raises(DataError, match=r"no\.txt: cannot be read"):
        run(exported_model, SAMPLE, "-o", output, "--overwrite", "--vocabulary", "no.txt")


def test_shared_knowledge_is_verified(damaged_light: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lexicon\.safetensors: has changed since"):
        run(damaged_light, SAMPLE, "-o", tmp_path / "k.jsonl")
    run(damaged_light, SAMPLE, "-o", tmp_path / "k.jsonl", "--no-verify", "--workers", "1")


def test_shared_knowledge_that_is_not_there_is_an_error(
    damaged_light: Path, tmp_path: Path
) -> None:
    (damaged_light.parent / "default").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="this light model has no learnt components"):
        run(damaged_light, SAMPLE, "-o", tmp_path / "k.jsonl")


def test_jsonl_needs_neither_torch_nor_pyarrow(exported_model: Path, tmp_path: Path) -> None:
    arguments = ["generate", "--model", str(exported_model), str(SAMPLE), "-o"]
    arguments += [str(tmp_path / "k.jsonl"), "--workers", "1"]
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'scipy', 'pyarrow']))\n"
        f"sys.argv[1:] = {arguments!r}\nfrom one2set.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "k.jsonl").read_text() == printed(exported_model, SAMPLE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--resume"], "--resume needs --output; pass --output FILE too"),
        (["--overwrite"], "--overwrite needs --output"),
        (["--workers", "2"], "--workers needs --output"),
        (["--engine", "ray"], "--engine needs --output"),
        (["--format", "parquet"], "--format parquet needs --output"),
        (["-o", "k.jsonl", "--resume", "--overwrite"], "cannot be used together"),
        (["--format", "xlsx"], "--format xlsx needs --output"),
        (["-o", "k.docx"], r"ends in \.jsonl, \.json, \.csv, \.xlsx, "),
        (["-o", "k.jsonl", "--format", "csv"], "--format is csv, but the output is k.jsonl"),
        (["-o", "k.jsonl", "--format", "text"], "--format is text, which is for reading"),
        (["-o", "k.parquet", "--format", "jsonl"], "rename it"),
        (["a second text", "-o", "k.jsonl"], "'a second text' is not a file"),
    ],
)
def test_invalid_options_are_errors(
    exported_model: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        run(exported_model, SAMPLE, *arguments)
    assert not Path("k.jsonl").exists()


def test_missing_files_are_errors(exported_model: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\*.csv: matches no file"):
        run(exported_model, f"{tmp_path}/*.csv", "-o", tmp_path / "k.jsonl")
    with pytest.raises(DataError, match=r"missing.ndjson: there is no such file"):
        run(exported_model, tmp_path / "missing.ndjson", "-o", tmp_path / "k.jsonl")


@pytest.mark.parametrize("option", [(), ("--no-verify",)])
def test_a_model_that_is_not_there_is_an_error(tmp_path: Path, option: tuple[str, ...]) -> None:
    """The same as without --output, and nothing is written."""
    (tmp_path / "file").write_text("not a model")
    for name in ("nothing", "file"):
        with pytest.raises(ConfigError, match=rf"there is no model .*/{name}; pass default,"):
            run(tmp_path / name, SAMPLE, "-o", tmp_path / "k.jsonl", *option)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("ending", ["json", "csv", "html", "bib"])
def test_other_formats_hold_what_is_printed(
    exported_model: Path, tmp_path: Path, ending: str
) -> None:
    output = tmp_path / f"k.{ending}"
    run(exported_model, SAMPLE, "-o", output, "--workers", "1")
    shown = run(exported_model, SAMPLE, "--format", ending, "--threads", "1")
    assert output.read_text() == shown  # the test runner, too, makes line ends equal


@pytest.mark.parametrize("options", [["-f", "jsonl"], ["-o", "k.jsonl", "--workers", "1"]])
def test_files_of_other_formats_in_a_folder_are_named_and_left_out(
    exported_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("papers").mkdir()
    Path("papers/b.txt").write_text("Sets of words.")
    Path("papers/a.png").write_bytes(b"x")
    shown = invoke("generate", "--model", exported_model, "papers", *options)
    assert "1 file was left out, as its format is not known: papers/a.png\n" in shown.stderr
    for number in range(4):
        Path(f"papers/c{number}.db").write_bytes(b"x")
    again = ["--overwrite"] if "-o" in options else []
    shown = invoke("generate", "--model", exported_model, "papers", *options, *again)
    names = "papers/a.png, papers/c0.db, papers/c1.db and 2 more"
    assert f"5 files were left out, as their formats are not known: {names}\n" in shown.stderr
    written = read_jsonl(Path("k.jsonl")) if again else parse_jsonl(shown.stdout)
    assert [record["id"] for record in written] == ["b.txt"]


def test_text_output_writes_the_texts(exported_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Sets\n\nOf *words*.")
    for options in (["-o", tmp_path / "k.jsonl", "--workers", "1"], ["-f", "jsonl"]):
        run(exported_model, tmp_path / "a.md", *options, "--text-output", tmp_path / "texts")
        assert (tmp_path / "texts" / "a.md.txt").read_text() == "Sets\nOf words."
        (tmp_path / "texts" / "a.md.txt").unlink()


@pytest.mark.parametrize("with_output", [False, True])
def test_a_text_replaces_no_other_file_without_overwrite(
    exported_model: Path, tmp_path: Path, with_output: bool
) -> None:
    source, text = tmp_path / "a.md", tmp_path / "notes.txt"
    source.write_text("# Sets\n\nOf *words*.")
    text.write_text("My notes")
    options: list[str | Path] = ["-f", "jsonl"]
    if with_output:
        options = ["-o", tmp_path / "k.jsonl", "--workers", "1"]
    options += ["--text-output", text]
    with pytest.raises(ConfigError, match=r"notes\.txt exists already; pass --overwrite, or name"):
        run(exported_model, source, *options)
    assert text.read_text() == "My notes"
    run(exported_model, source, *options, "--overwrite")
    assert text.read_text() == "Sets\nOf words."
    if with_output:
        text.write_text("Sets\nOf")  # as an interrupted run may leave it
        run(exported_model, source, *options, "--resume")
        assert text.read_text() == "Sets\nOf words."


@pytest.mark.parametrize("given", ["lib.bib", "link.bib", "."])
@pytest.mark.parametrize("options", [[], ["--overwrite"], ["--resume"]])
def test_an_input_is_not_replaced_by_its_output(
    exported_model: Path, tmp_path: Path, given: str, options: list[str]
) -> None:
    library = tmp_path / "lib.bib"
    library.write_text("@misc{a, title={Sets}, abstract={Of words.}}")
    (tmp_path / "link.bib").symlink_to(library)
    with pytest.raises(ConfigError, match=r"--output is .*lib\.bib, which is .*; name another"):
        run(exported_model, tmp_path / given, "-o", library, "--workers", "1", *options)
    assert library.read_text().startswith("@misc{a")
    assert not (tmp_path / "lib.bib.partial").exists()


@pytest.mark.parametrize("name", ["k.csv", "out/", "below/k.jsonl"])
def test_an_output_is_not_read_as_input(exported_model: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.txt").write_text("Sets of words.")
    (tmp_path / "below").mkdir()
    output = f"{tmp_path}/{name}"
    for option in ("--output", "--text-output"):
        with pytest.raises(ConfigError, match=rf"{option} is .*, which is in the input folder"):
            run(exported_model, tmp_path, option, output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "below"]


def test_an_input_is_not_replaced_by_its_text(exported_model: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"Sets of words.\r\n")
    for options in (["-o", tmp_path / "k.jsonl", "--workers", "1"], ["-f", "jsonl"]):
        for name in (text, tmp_path):
            with pytest.raises(ConfigError, match=r"--text-output is .* is the input itself"):
                run(exported_model, name, *options, "--text-output", name)
    run(exported_model, text, "-f", "jsonl", "--text-output", tmp_path)
    assert text.read_bytes() == b"Sets of words.\r\n"
    assert (tmp_path / "a.txt.txt").exists()


def test_an_output_may_be_a_new_file_or_a_folder_within_an_input(
    exported_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("Sets of words.")
    (tmp_path / "out").mkdir()
    for name in ("out/", "k.jsonl"):
        run(exported_model, tmp_path / "a.txt", "-o", f"{tmp_path}/{name}", "--workers", "1")
    assert (tmp_path / "k.jsonl").read_text() == (tmp_path / "out/part-00000.jsonl").read_text()
