"""The same three documents are read from every format."""

import gzip
import json
import os
import re
import sys
from pathlib import Path

import pytest

from one2set.data.document import Document
from one2set.data.reading.readers import read
from one2set.data.reading.records import Fields
from one2set.data.reading.streams import STDIN
from one2set.errors import DataError
from tests.data.formats import COMPRESSIONS, DOCUMENTS, FORMATS, jsonl, sources, targets, write
from tests.data.reading.test_streams import stdin_of

COMPRESSION = pytest.mark.parametrize("compression", COMPRESSIONS)
FORMAT = pytest.mark.parametrize("name", FORMATS)


def words(documents: list[Document]) -> list[tuple[list[str], list[list[str]]]]:
    return [(document.words(), document.phrase_words()) for document in documents]


@COMPRESSION
@FORMAT
def test_a_file(name: str, compression: str, tmp_path: Path) -> None:
    compress = COMPRESSIONS[compression]
    write(tmp_path, f"papers_trg.txt{compression}", compress(targets()))
    path = write(tmp_path, name + compression, compress(FORMATS[name]()))
    documents = list(read(path))
    assert words(documents) == words(list(DOCUMENTS))
    if name not in ("tokens.ndjson", "papers_src.txt"):
        assert documents == list(DOCUMENTS)


@COMPRESSION
@FORMAT
def test_standard_input(
    name: str, compression: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin_of(COMPRESSIONS[compression](FORMATS[name]())))
    documents = list(read(STDIN))
    if name == "papers_src.txt":  # there is no second input: documents to predict for
        assert [document.words() for document in documents] == [
            document.words() for document in DOCUMENTS
        ]
        assert [document.keyphrases for document in documents] == [None, None, None]
        assert documents[0].id == "stdin-1"
    else:
        assert words(documents) == words(list(DOCUMENTS))


@COMPRESSION
@FORMAT
def test_a_name_without_a_known_extension(name: str, compression: str, tmp_path: Path) -> None:
    path = write(tmp_path, "download", COMPRESSIONS[compression](FORMATS[name]()))
    assert [document.words() for document in read(path)] == [
        document.words() for document in DOCUMENTS
    ]


@COMPRESSION
def test_plain_text(compression: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = COMPRESSIONS[compression]("Sets of naïve, old ideas.\nAnd more, id, text.".encode())
    expected = Document("a.txt", "", "Sets of naïve, old ideas.\nAnd more, id, text.")
    (document,) = read(write(tmp_path, "a.txt", data))
    assert document == expected
    monkeypatch.setattr(sys, "stdin", stdin_of(data))
    (document,) = read(STDIN)
    assert (document.id, document.text) == ("stdin", expected.text)


def test_a_folder_of_everything(tmp_path: Path) -> None:
    for name, make in FORMATS.items():
        write(tmp_path, name, make())
    write(tmp_path, "papers_trg.txt", targets())
    write(tmp_path, ".hidden", b"\0")
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".git", "a.txt", b"no")
    (tmp_path / "below").mkdir()
    write(tmp_path / "below", "z.txt.gz", gzip.compress(b"One text."))
    write(tmp_path / "below", "a.md", b"Another text.")
    documents = list(read(tmp_path))
    assert len(documents) == 3 * len(FORMATS) + 2
    assert words(documents[:-2]) == words(list(DOCUMENTS)) * len(FORMATS)
    assert [document.id for document in documents[-2:]] == ["below/a.md", "below/z.txt.gz"]


def test_a_pair_may_be_compressed_on_one_side(tmp_path: Path) -> None:
    write(tmp_path, "trg.txt.gz", gzip.compress(targets()))
    documents = list(read(write(tmp_path, "src.txt", sources())))
    assert words(documents) == words(list(DOCUMENTS))
    assert documents[0].id == "src-1"


def test_a_source_without_its_target_holds_documents_to_predict_for(tmp_path: Path) -> None:
    documents = list(read(write(tmp_path, "x_src.txt", b"a title . <eos> a text .\nno title .\n")))
    assert documents == [
        Document("x_src-1", "a title .", "a text .", None, tokenised=True),
        Document("x_src-2", "", "no title .", None, tokenised=True),
    ]


def test_a_name_of_a_pair_with_another_extension_is_not_a_pair(tmp_path: Path) -> None:
    assert list(read(write(tmp_path, "papers_src.jsonl", jsonl()))) == list(DOCUMENTS)
    assert list(read(write(tmp_path, "papers_trg.jsonl", jsonl()))) == list(DOCUMENTS)


def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path: Path) -> None:
    for name in ("papers.jsonl", "papers.csv", "papers.tsv", "download"):
        data = FORMATS.get(name, jsonl)().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        path = write(tmp_path, name, b"\xef\xbb\xbf" + data)
        assert list(read(path)) == list(DOCUMENTS)


def test_fields_can_be_mapped_in_any_table(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", b'Title,Summary,Tags\nT,"S,\nmore.",a;b\n')
    fields = Fields.from_options(["title=Title", "abstract=Summary", "keyphrases=Tags"])
    assert list(read(path, fields=fields)) == [Document("a-2", "T", "S,\nmore.", ("a", "b"))]


def test_names_with_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    for name in (b"caf\xe9.txt", b"caf\xe9.jsonl"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b'{"abstract": "A."}\n')
    assert [document.id for document in read(tmp_path)] == ["caf\ufffd-1", "caf\ufffd.txt"]


def test_reading_is_lazy(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", b'{"abstract": "A."}\nnot json\n')
    documents = read(path)
    assert next(documents).abstract == "A."
    with pytest.raises(DataError):
        next(documents)


def test_entries_without_an_abstract_have_their_title(tmp_path: Path) -> None:
    for name, data in (("a.bib", b"@misc{x, title={Sets}}"), ("a.ris", b"TY  - A\nTI  - Sets\n")):
        (document,) = read(write(tmp_path, name, data))
        assert (document.title, document.abstract) == ("Sets", "")
        assert document.keyphrases is None


def test_records_in_text_files_are_known_by_their_content(tmp_path: Path) -> None:
    for name in ("papers.bib", "papers.ris", "tagged.ris", "savedrecs.tsv"):
        assert list(read(write(tmp_path, "savedrecs.txt", FORMATS[name]()))) == list(DOCUMENTS)


def test_a_table_of_excel_that_names_its_separator(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", b"sep=;\r\nTitle;Abstract\r\nT;A, b.\r\n")
    assert list(read(path)) == [Document("a-3", "T", "A, b.")]


def test_utf_16_of_any_format(tmp_path: Path) -> None:
    for name in ("papers.jsonl", "papers.csv", "indented.json", "papers.bib", "papers.ris"):
        data = FORMATS[name]().decode().encode("utf-16")
        assert list(read(write(tmp_path, name, data))) == list(DOCUMENTS)


def test_a_long_array_is_read_piece_by_piece(tmp_path: Path) -> None:
    records = [{"abstract": "word " * (20_000 if n % 7 == 0 else 3), "id": n} for n in range(20)]
    path = write(tmp_path, "a.json", json.dumps(records, indent=1).encode())
    documents = read(path)
    assert [document.id for document in documents] == [str(n) for n in range(20)]
    broken = write(tmp_path, "b.json", json.dumps(records)[:-9].encode())
    assert next(read(broken)).id == "0"


def test_texts_in_an_array(tmp_path: Path) -> None:
    documents = list(read(write(tmp_path, "a.json", b'["Sheep graze.",\n "Wool is warm."]')))
    assert [document.abstract for document in documents] == ["Sheep graze.", "Wool is warm."]


def test_records_on_one_line_have_different_ids(tmp_path: Path) -> None:
    data = b'[{"abstract": "A."}, {"abstract": "B."},\n"C.", {"abstract": "D."}\n, "E."]'
    documents = list(read(write(tmp_path, "a.json", data)))
    assert [document.id for document in documents] == ["a-1", "a-1-2", "a-2", "a-2-2", "a-3"]


@pytest.mark.parametrize(
    "text",
    [
        "We align images, text, and audio in a shared space.\nThen we search, and rank.",
        "Mind, body, and soul\nWe study how people feel, think and act.",
        "Title, or text\nA text.",
        "Sound, text: which of these two did people prefer; title\nA text.",
        "Text, images.\nA text.",
        "images, text",
    ],
)
def test_prose_is_not_taken_for_a_table(text: str, tmp_path: Path) -> None:
    (document,) = read(write(tmp_path, "download", text.encode()))
    assert document.abstract == text


@pytest.mark.parametrize(
    "header",
    [
        "Art. No.,Language of Original Document,Title,Abstract",
        'Abstract|b|c|"UT (Unique WOS ID)"',
        "id;text",
    ],
)
def test_a_table_without_a_known_name_is_known_by_its_header(header: str, tmp_path: Path) -> None:
    row = re.sub(r"[^,;|]+", "A text", header)
    (document,) = read(write(tmp_path, "download", f"{header}\n{row}\n".encode()))
    assert document.abstract == "A text"
