"""Three documents, and every format that they can be written in."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from one2set.data.document import Document

DOCUMENTS = (
    Document(
        "a-1",
        "Real-Time Scheduling of Robot Swarms",
        "We schedule robots, in real time, on 16 cores. A swarm of robots is fair.",
        ("robot swarm", "real-time scheduling", "load balancing"),
    ),
    Document(
        "b/2", "", 'A naïve Bayes "baseline" for Poincaré maps; it is fast.', ("naïve Bayes",)
    ),
    Document("γ", "Sets (again)", "Sets of sets, and 'sets' of nothing at all.", ("set", "graphs")),
)


def jsonl(documents: Sequence[Document] = DOCUMENTS) -> bytes:
    return lines(
        {
            "id": one.id,
            "title": one.title,
            "abstract": one.abstract,
            "keyphrases": list(one.keyphrases or ()),
        }
        for one in documents
    )


def jsonl_with_strings() -> bytes:
    return lines(
        {"id": one.id, "title": one.title, "text": one.abstract, "keyword": semicolons(one)}
        for one in DOCUMENTS
    )


def tokens() -> bytes:
    return lines(
        {
            "id": one.id,
            "document": one.words(),
            "extractive_keyphrases": spelled(one)[:1],
            "abstractive_keyphrases": spelled(one)[1:],
        }
        for one in DOCUMENTS
    )


def csv_file() -> bytes:
    return table(",")


def tsv_file() -> bytes:
    return table("\t")


def array() -> bytes:
    return json.dumps(_records()).encode()


def indented() -> bytes:
    return json.dumps(_records(), indent=2, ensure_ascii=False).encode()


def one_after_another() -> bytes:
    return "\n".join(json.dumps(record, indent=1) for record in _records()).encode()


def _records() -> list[object]:
    return [json.loads(line) for line in jsonl().splitlines()]


def semicolon_table() -> bytes:
    return table(";")


def tagged_table() -> bytes:
    """As Web of Science exports it."""
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter="\t")
    writer.writerow(["PT", "TI", "AB", "DE", "ID", "UT"])
    writer.writerows(
        ["J", one.title, one.abstract, semicolons(one), "X", one.id] for one in DOCUMENTS
    )
    return sink.getvalue().encode()


def workbook() -> bytes:
    rows = [[one.title or None, one.abstract, 3, semicolons(one), one.id] for one in DOCUMENTS]
    empty = [None] * 5
    header = ["Title", "Abstract", None, "Keywords", "ID"]
    return workbook_of([["without documents"]], [header, rows[0], empty, *rows[1:]])


def workbook_of(*sheets: Sequence[Sequence[object]]) -> bytes:
    book, sink = openpyxl.Workbook(write_only=True), io.BytesIO()
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
    book.save(sink)
    return sink.getvalue()


def bibtex() -> bytes:
    """With braces and commands of LaTeX."""
    entries = [
        f"@article{{{one.id},\n  title = {{{one.title}}},\n  year = 2021,\n  abstract = {{"
        + one.abstract.replace("ï", r"{\"\i}")
        + f"}},\n  keywords = {{{', '.join(one.keyphrases or ())}}}\n}}\n"
        for one in DOCUMENTS
    ]
    return ("% made by hand\n@string{x = {y}}\n" + "\n".join(entries)).encode()


def ris() -> bytes:
    return "".join(
        f"TY  - JOUR\r\nID  - {one.id}\r\nTI  - {one.title}\r\nAB  - {broken(one, '')}\r\n"
        + "".join(f"KW  - {phrase}\r\n" for phrase in one.keyphrases or ())
        + "ER  - \r\n\r\n"
        for one in DOCUMENTS
    ).encode()


def medline() -> bytes:
    return "\n".join(
        f"PMID- {one.id}\nTI  - {one.title}\nAB  - {broken(one, ' ' * 6)}\n"
        + "".join(f"OT  - {phrase}\n" for phrase in one.keyphrases or ())
        for one in DOCUMENTS
    ).encode()


def web_of_science() -> bytes:
    entries = "".join(
        f"PT J\nTI {one.title}\nDE {'; '.join(one.keyphrases or ())}\nID X; Y\n"
        f"AB {broken(one, '   ')}\nUT {one.id}\nER\n\n"
        for one in DOCUMENTS
    )
    return f"FN Clarivate Analytics Web of Science\nVR 1.0\n{entries}EF\n".encode()


def broken(document: Document, indent: str) -> str:
    """The abstract on two lines."""
    return document.abstract.replace(" ", f"\n{indent}", 1)


def parquet() -> bytes:
    columns = {
        "id": [one.id for one in DOCUMENTS],
        "year": [2021, None, 2024],
        "title": [one.title for one in DOCUMENTS],
        "abstract": [one.abstract for one in DOCUMENTS],
        "keywords": [list(one.keyphrases or ()) for one in DOCUMENTS],
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def sources() -> bytes:
    return "".join(
        f"{' '.join(one.title_words())} <eos> {' '.join(one.words()[len(one.title_words()) :])}\n"
        for one in DOCUMENTS
    ).encode()


def targets() -> bytes:
    return "".join(f"{';<peos>;'.join(spelled(one))}\n" for one in DOCUMENTS).encode()


def lines(records: Iterable[object]) -> bytes:
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in records).encode()


def table(delimiter: str) -> bytes:
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=delimiter)
    writer.writerow(["id", "title", "year", "abstract", "keyphrases"])
    writer.writerows([one.id, one.title, 2021, one.abstract, semicolons(one)] for one in DOCUMENTS)
    return sink.getvalue().encode()


def semicolons(document: Document) -> str:
    return ";".join(document.keyphrases or ())


def spelled(document: Document) -> list[str]:
    return [" ".join(words) for words in document.phrase_words()]


def as_it_is(data: bytes) -> bytes:
    return data


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": as_it_is,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
# The file's name, and what it holds.
FORMATS: dict[str, Callable[[], bytes]] = {
    "papers.jsonl": jsonl,
    "strings.json": jsonl_with_strings,
    "tokens.ndjson": tokens,
    "papers.csv": csv_file,
    "papers.tsv": tsv_file,
    "papers.parquet": parquet,
    "array.json": array,
    "indented.json": indented,
    "objects.json": one_after_another,
    "semicolons.csv": semicolon_table,
    "savedrecs.tsv": tagged_table,
    "papers.xlsx": workbook,
    "papers.bib": bibtex,
    "papers.ris": ris,
    "papers.nbib": medline,
    "tagged.ris": web_of_science,
    "papers_src.txt": sources,
}


def write(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)
