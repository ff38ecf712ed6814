"""Texts are written to files."""

from pathlib import Path

import pytest

from one2set.bulk.output_formats import TextOutput
from one2set.data.document import Document
from one2set.errors import ConfigError

ONE, TWO = Document("a/b.pdf", "Title", "Text,\r\nnaïve."), Document("a b.pdf", "", "Other.")


def test_a_folder_has_a_file_for_each_document(tmp_path: Path) -> None:
    texts = TextOutput(str(tmp_path / "new" / "texts"))
    for document in (ONE, TWO, ONE, Document("../..", "", "x"), Document("", "", "y")):
        texts.write(document)
    result = {path.name: path.read_bytes().decode() for path in texts.path.iterdir()}
    assert result == {
        "a_b.pdf.txt": ONE.text,
        "a_b.pdf-2.txt": TWO.text,
        "a_b.pdf-3.txt": ONE.text,
        "_.txt": "x",
        "document.txt": "y",
    }


def test_names_are_short_enough_for_a_file_system(tmp_path: Path) -> None:
    texts = TextOutput(str(tmp_path))
    for _ in range(2):
        texts.write(Document("学" * 99, "", "x"))
    assert {path.name for path in tmp_path.iterdir()} == {f"{'学' * 66}.txt", f"{'学' * 66}-2.txt"}


def test_one_file_is_for_one_document(tmp_path: Path) -> None:
    texts = TextOutput(str(tmp_path / "text.txt"))
    texts.write(ONE)
    assert texts.path.read_bytes().decode() == ONE.text
    with pytest.raises(ConfigError, match="more than one document; name a folder"):
        texts.write(TWO)


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"--text-output is .*cannot be written"):
        TextOutput(str(tmp_path / "file" / "below")).write(ONE)


@pytest.mark.parametrize("name", ["text.txt", "texts"])
def test_other_files_are_replaced_only_if_the_user_says_so(tmp_path: Path, name: str) -> None:
    output = str(tmp_path / name)
    TextOutput(output).write(ONE)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    TextOutput(output).write(ONE)  # the same text
    path.write_text("My notes")
    with pytest.raises(
        ConfigError, match=rf"--text-output is .*, but {path} exists already; pass --overwrite, or"
    ):
        TextOutput(output).write(ONE)
    assert path.read_text() == "My notes"
    TextOutput(output, replace=True).write(ONE)
    assert path.read_bytes().decode() == ONE.text
