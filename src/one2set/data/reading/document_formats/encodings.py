"""The encoding of formats that can declare it: HTML, XML, LaTeX."""

import codecs
import re

_CHARSET = re.compile(
    rb"""(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,100}?encoding)\s*=\s*["']?\s*([\w.:-]{1,40})"""
    rb"""|\\usepackage\[([\w-]{1,20})\]\{inputenc\}""",
    re.IGNORECASE,
)
_LATEX_NAMES = {"ansinew": "cp1252", "applemac": "mac-roman", "utf8x": "utf-8"}


def decode_declared(data: bytes) -> str:
    """Decode by the byte order mark, by UTF-8 if it is that, by what the text declares, or else
    as Windows-1252, as browsers do."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    for encoding in ("utf-8", _declared(data)):
        try:
            return data.decode(encoding)
        except (UnicodeError, LookupError):
            continue
    return data.decode("cp1252", "replace")


def _declared(data: bytes) -> str:
    match = _CHARSET.search(data[:8192])
    if match is None:
        return "cp1252"
    name = (match.group(1) or match.group(2)).decode().lower()
    return _LATEX_NAMES.get(name, name)
