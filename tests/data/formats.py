"""Three documents in every format of records."""

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
            "id": document.id,
            "title": document.title,
            "abstract": document.abstract,
            "keyphrases": list(document.keyphrases or ()),
        }
        for document in documents
    )


def jsonl_with_strings() -> bytes:
    return lines(
        {
            "id": document.id,
            "title": document.title,
            "text": document.abstract,
            "keyword": semicolons(document),
        }
        for document in DOCUMENTS
    )


def tokens() -> bytes:
    return lines(
        {
            "id": document.id,
            "document": document.words(),
            "extractive_keyphrases": spell_words(document)[:1],
            "abstractive_keyphrases": spell_words(document)[1:],
        }
        for document in DOCUMENTS
    )


def csv_file() -> bytes:
    return table(",")


def tsv_file() -> bytes:
    return table("\t")


def array() -> bytes:
    return json.dumps(_records()).encode()


def indented() -> bytes:
    return json.dumps(_records(), indent=2, ensure_ascii=False).encode()


def concatenated_json() -> bytes:
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
        ["J", document.title, document.abstract, semicolons(document), "X", document.id]
        for document in DOCUMENTS
    )
    return sink.getvalue().encode()


def workbook() -> bytes:
    rows = [
        [document.title or None, document.abstract, 3, semicolons(document), document.id]
        for document in DOCUMENTS
    ]
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
        f"@article{{{document.id},\n  title = {{{document.title}}},\n  year = 2021,\n"
        "  abstract = {"
        + document.abstract.replace("ï", r"{\"\i}")
        + f"}},\n  keywords = {{{', '.join(document.keyphrases or ())}}}\n}}\n"
        for document in DOCUMENTS
    ]
    return ("% made by hand\n@string{x = {y}}\n" + "\n".join(entries)).encode()


def ris() -> bytes:
    return "".join(
        f"TY  - JOUR\r\nID  - {document.id}\r\nTI  - {document.title}\r\n"
        f"AB  - {broken(document, '')}\r\n"
        + "".join(f"KW  - {phrase}\r\n" for phrase in document.keyphrases or ())
        + "ER  - \r\n\r\n"
        for document in DOCUMENTS
    ).encode()


def medline() -> bytes:
    return "\n".join(
        f"PMID- {document.id}\nTI  - {document.title}\nAB  - {broken(document, ' ' * 6)}\n"
        "PT  - Journal Article\nPT  - Review\n"
        + "".join(f"OT  - {phrase}\n" for phrase in document.keyphrases or ())
        for document in DOCUMENTS
    ).encode()


def web_of_science() -> bytes:
    entries = "".join(
        f"PT J\nTI {document.title}\nDE {'; '.join(document.keyphrases or ())}\nID X; Y\n"
        f"AB {broken(document, '   ')}\nUT {document.id}\nER\n\n"
        for document in DOCUMENTS
    )
    return f"FN Clarivate Analytics Web of Science\nVR 1.0\n{entries}EF\n".encode()


def broken(document: Document, indent: str) -> str:
    """The abstract on two lines."""
    return document.abstract.replace(" ", f"\n{indent}", 1)


def parquet() -> bytes:
    return parquet_of(
        id=[document.id for document in DOCUMENTS],
        year=[2021, None, 2024],
        title=[document.title for document in DOCUMENTS],
        abstract=[document.abstract for document in DOCUMENTS],
        keywords=[list(document.keyphrases or ()) for document in DOCUMENTS],
    )


def parquet_of(**columns: Sequence[object]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def sources() -> bytes:
    return "".join(
        f"{' '.join(document.title_words())} <eos> {' '.join(document.abstract_words())}\n"
        for document in DOCUMENTS
    ).encode()


def targets() -> bytes:
    return "".join(f"{';<peos>;'.join(spell_words(document))}\n" for document in DOCUMENTS).encode()


def lines(records: Iterable[object]) -> bytes:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()


def table(delimiter: str) -> bytes:
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=delimiter)
    writer.writerow(["id", "title", "year", "abstract", "keyphrases"])
    writer.writerows(
        [document.id, document.title, 2021, document.abstract, semicolons(document)]
        for document in DOCUMENTS
    )
    return sink.getvalue().encode()


def semicolons(document: Document) -> str:
    return ";".join(document.keyphrases or ())


def spell_words(document: Document) -> list[str]:
    return [" ".join(words) for words in document.phrase_words()]


def keep_bytes(data: bytes) -> bytes:
    return data


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": keep_bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
# File names and contents.
FORMATS: dict[str, Callable[[], bytes]] = {
    "papers.jsonl": jsonl,
    "strings.json": jsonl_with_strings,
    "tokens.ndjson": tokens,
    "papers.csv": csv_file,
    "papers.tsv": tsv_file,
    "papers.parquet": parquet,
    "array.json": array,
    "indented.json": indented,
    "objects.json": concatenated_json,
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
