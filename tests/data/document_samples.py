"""An invented paper in every document format, written by hand."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from html import escape

TITLE = "Counting Sheep in Sparse Graphs"
ABSTRACT = "We count sheep in sparse graphs. A shepherd graph has few edges and many sheep."
# A body that every format must give, and words that none may give.
HEADING = "1 Introduction"
BODY = "Insomnia is hard for shepherds. Counting sheep is known to help them, in theory."
APPENDIX = "Appendix"
AFTERWORD = "The sheep of the appendix are asleep."
REFERENCE = "[1] A. Ewe and B. Ram. Woolly thoughts. Journal of Fleece, 1999."
ADDRESS = "https://flock.example/wool?page=3"
CODE = "for sheep in flock_iterator: jump(sheep)"
EXPECTED = [ABSTRACT, HEADING, BODY, APPENDIX, AFTERWORD]
UNREAD = ("Woolly", "Fleece", "flock", "jump", "https", "documentclass", "<p", "Ovid", "Shearer")


def zipped(files: Mapping[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return sink.getvalue()


def html() -> bytes:
    return f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>{TITLE} - Flocks</title>
<meta name="citation_title" content="{TITLE}"><style>p {{ color: red }}</style></head>
<body><nav><a href="/">jump home</a></nav><main><h1>{TITLE}</h1><p>Ovid Shearer</p>
<h2>Abstract</h2><p>We count sheep in <em>sparse</em> <a href="{ADDRESS}">graphs</a>.
A shepherd graph has few edges and many sheep.</p>
<h2>{HEADING}</h2><div>{BODY}</div><pre><code>{escape(CODE)}</code></pre>
<script>jump()</script><h2>References</h2><ol><li>{REFERENCE}</li></ol>
<h2>{APPENDIX}</h2><p>{AFTERWORD}</p></main><footer>jump to the top</footer></body></html>
""".encode()


def markdown() -> bytes:
    return f"""# {TITLE}

[![build](https://flock.example/badge.svg)](https://flock.example) Ovid *Shearer*

## Abstract

We count sheep in **sparse** [graphs]({ADDRESS}).
A shepherd graph has few edges and many sheep.

## {HEADING}

{BODY}

```python
{CODE}
```

<!-- jump over this -->

## References

- {REFERENCE}

## {APPENDIX}

{AFTERWORD} <!-- jump -->
""".encode()


def latex() -> bytes:
    return rf"""\documentclass[11pt]{{article}} % jump
\usepackage{{flock}}
\title{{Counting \emph{{Sheep}} in Sparse Graphs}}
\author{{Ovid Shearer}}
\begin{{document}}
\maketitle
\begin{{abstract}}
We count sheep in \textbf{{sparse}} graphs~\cite{{fleece}}. % a flock
A shepherd graph has few edges and many sheep.
\end{{abstract}}
\section{{{HEADING}}}\label{{sec:flock}}
{BODY}
\begin{{lstlisting}}
{CODE}
\end{{lstlisting}}
\begin{{equation}} flock = \sum_i jump_i \end{{equation}}
\begin{{thebibliography}}{{9}}
\bibitem{{fleece}} {REFERENCE}
\end{{thebibliography}}
\section*{{{APPENDIX}}}
{AFTERWORD} \url{{{ADDRESS}}}
\end{{document}}
""".encode()


def rtf() -> bytes:
    lines = [
        TITLE,
        "Ovid Shearer",
        "Abstract",
        *EXPECTED[:3],
        "References",
        REFERENCE,
        *EXPECTED[3:],
    ]
    body = "\\par\n".join(rf"{{\b {line}}}" for line in lines)
    return (
        r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Fleece;}}{\info{\title " + TITLE + "}}\n"
        r"{\header jump \chpgn}{\*\generator flock;}" + body + r"\par"
        r'{\field{\*\fldinst{HYPERLINK "' + ADDRESS + r'"}}{\fldrslt{ }}}' + "}"
    ).encode()


def docx(**more: str) -> bytes:
    def paragraph(text: str, style: str = "") -> str:
        named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        return f"<w:p>{named}<w:r><w:t>{escape(text)}</w:t></w:r></w:p>"

    split = (
        f"<w:p><w:r><w:t>{BODY[:10]}</w:t></w:r><w:del><w:r><w:delText>jump</w:delText></w:r></w:del>"
        f"<w:r><w:instrText>HYPERLINK flock</w:instrText><w:t>{BODY[10:]}</w:t></w:r></w:p>"
    )
    body = "".join(
        [
            paragraph(TITLE, "T1"),
            paragraph("Ovid Shearer"),
            paragraph("Abstract", "H1"),
            paragraph(ABSTRACT),
            paragraph(HEADING, "H1"),
            split,
            paragraph(CODE, "C1"),
            paragraph("References", "H1"),
            paragraph(REFERENCE),
            paragraph(APPENDIX, "H1"),
            f"<w:tbl><w:tr><w:tc>{paragraph(AFTERWORD)}</w:tc></w:tr></w:tbl>",
        ]
    )
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    styles = "".join(
        f'<w:style w:styleId="{id}"><w:name w:val="{name}"/></w:style>'
        for id, name in (("T1", "Title"), ("H1", "heading 1"), ("C1", "Source Code"))
    )
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "word/styles.xml": f"<w:styles {space}>{styles}</w:styles>",
            "word/header1.xml": "<x>jump</x>",
            "word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>",
            **more,
        }
    )


def odt(**more: str) -> bytes:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "style")
    )
    body = f"""<text:p text:style-name="P1">{TITLE}</text:p><text:p>Ovid Shearer</text:p>
<text:h>Abstract</text:h><text:p>We count<text:s/>sheep in <text:span>sparse</text:span> graphs.
<text:note><text:note-body><text:p>jump</text:p></text:note-body></text:note>A shepherd graph has
few edges<text:s/>and many sheep.</text:p><text:h>{HEADING}</text:h><text:p>{BODY}</text:p>
<text:p text:style-name="Preformatted_20_Text">{CODE}</text:p><text:h>References</text:h>
<text:list><text:list-item><text:p>{REFERENCE}</text:p></text:list-item></text:list>
<text:h>{APPENDIX}</text:h><text:p>{AFTERWORD}</text:p>"""
    content = f"""<office:document-content {spaces}><office:automatic-styles>
<style:style style:name="P1" style:parent-style-name="Title"/></office:automatic-styles>
<office:body><office:text>{body}</office:text></office:body></office:document-content>"""
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": content,
            "META-INF/manifest.xml": "<manifest/>",
            **more,
        }
    )


def epub(**more: str) -> bytes:
    def chapter(*blocks: str) -> str:
        return f"<html><head><title>jump</title></head><body>{''.join(blocks)}</body></html>"

    package = f"""<package xmlns="http://www.idpf.org/2007/opf"
xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>{TITLE}</dc:title></metadata>
<manifest><item id="n" href="nav.xhtml" properties="nav"/><item id="b" href="two%20b.xhtml"/>
<item id="a" href="one.xhtml"/></manifest>
<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/></spine></package>"""
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": """<container
xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>""",
            "OEBPS/book.opf": package,
            "OEBPS/nav.xhtml": chapter("<p>jump to a chapter</p>"),
            "OEBPS/one.xhtml": chapter(
                f"<h1>{TITLE}</h1><p>Ovid Shearer</p><h2>Abstract</h2><p>{ABSTRACT}</p>",
                f"<h2>{HEADING}</h2><p>{BODY}</p><pre>{escape(CODE)}</pre>",
            ),
            "OEBPS/two b.xhtml": chapter(
                f"<h2>References</h2><p>{REFERENCE}</p><h2>{APPENDIX}</h2><p>{AFTERWORD}</p>"
            ),
            **more,
        }
    )


Line = tuple[float, str]  # size of the type, text


def pdf_of(pages: Sequence[Sequence[Line]], *, title: str = "") -> bytes:
    """A PDF whose pages have these lines, one below the other."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b""]
    kids = []
    for lines in pages:
        kids.append(f"{len(objects) + 1} 0 R")
        content = _draw(lines)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R"
            b" >> >> /Contents %d 0 R >>" % (len(objects) + 2)
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>".encode()
    objects[2] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects.append(f"<< /Title ({title}) >>".encode())
    return _assemble(objects, info=len(objects))


def _draw(lines: Sequence[Line]) -> bytes:
    y, parts = 740.0, []
    for size, text in lines:
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        parts.append(f"BT /F1 {size} Tf 72 {y} Td ({escaped}) Tj ET")
        y -= 1.4 * size
    return "\n".join(parts).encode("latin-1")


def _assemble(objects: Sequence[bytes], *, info: int) -> bytes:
    sink, offsets = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
    for number, each in enumerate(objects, 1):
        offsets.append(len(sink))
        sink += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    start = len(sink)
    sink += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    sink += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    sink += b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(objects) + 1, info)
    return bytes(sink) + b"startxref\n%d\n%%%%EOF\n" % start


def pdf() -> bytes:
    head = "Shearer: Counting Sheep"

    def page(number: int, *lines: Line) -> list[Line]:
        return [(8, head), *lines, (8, f"{number}")]

    return pdf_of(
        [
            page(1, (18, TITLE), (9, "Ovid Shearer"), (12, "Abstract"),
                 (10, "We count sheep in sparse graphs. A shep-"),
                 (10, "herd graph has few edges and many sheep."), (12, HEADING)),
            page(2, (10, "Insomnia is hard for shepherds. Counting"),
                 (10, "sheep is known to help them, in theory.")),
            page(3, (12, "References"), (9, REFERENCE), (12, APPENDIX), (10, AFTERWORD)),
        ]
    )  # fmt: skip


SAMPLES = {
    "paper.pdf": pdf,
    "paper.docx": docx,
    "paper.odt": odt,
    "paper.epub": epub,
    "paper.html": html,
    "paper.md": markdown,
    "paper.tex": latex,
    "paper.rtf": rtf,
}
