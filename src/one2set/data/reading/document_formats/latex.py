"""LaTeX: its text without commands, comments, code, formulas, tables and references.

Files that it includes are not read: a document is one file here.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from one2set.data.reading.document_formats.archives import damaged
from one2set.data.reading.document_formats.blocks import Block, Extract
from one2set.errors import missing_extra

# A file may have very long runs of spaces. Where two patterns could share a run, the first takes
# all of it (`\s*+`), and a pattern that begins with a run does not begin within it (`(?<![~ ])`):
# otherwise the time would grow with the square of the length.
# In an address, % is no comment; an address within a comment is none.
_COMMENT = re.compile(
    r"(\\(?:url|path|nolinkurl|href)\s*+\{(?:[^{}\n]|\{[^{}\n]*+\})*+\})|(?<!\\)%.*"
)
_PERCENT = re.compile(r"(?<!\\)%")
_GENERATED = re.compile(r"\\(?:maketitle|tableofcontents|listoffigures|listoftables|today)\b")
_NOT_READ = re.compile(
    "verbatim|lstlisting|minted|alltt|comment|filecontents|tikzpicture|equation|align|gather|"
    "multline|eqnarray|displaymath|math|tabular[xy]?|longtable|array|algorithm(ic)?|"
    "thebibliography|CCSXML|keywords?|IEEEkeywords"
)
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{(\w{1,40})\*?\}|\$\$|\\\[|\\\]|\\.", re.DOTALL)
_CLOSING = {"$$": "$$", "\\[": "\\]"}
_FORMULA = re.compile(r"(?<!\\)\$((?:[^$\\]|\\.){1,2000}?)\$|\\\((.{1,2000}?)\\\)", re.DOTALL)
_COMMAND = re.compile(r"[\\{}$%&]")
_SIGNS = {"~": "\u00a0", "``": "“", "''": "”", "---": "—", "--": "–", "?`": "¿", "!`": "¡"}
_SIGNS |= {rf"\{sign}": sign for sign in "%&#_"} | {rf"\{space}": " " for space in ",;: "}
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
# Signs by name, which the converter does not know.
_NAMED_SIGNS = {"less": "<", "greater": ">", "bar": "|"}
_NAMED_SIGN = re.compile(
    r"\{\\text(less|greater|bar)\}|\\text(less|greater|bar)(?![A-Za-z])(?:\{\})?"
)
_WHOLE_ENVIRONMENT = re.compile(r"\\(?:begin|end|def|newcommand|verb)\b")
_GOES_ON = re.compile(r"[\\}\]]\s*$|\\[A-Za-z]+\*?\s*$")  # the next line may have its arguments
_STYLED = re.compile(
    r"\\(?:emph|text(?:bf|it|sc|sf|tt|rm|normal)?|mbox|underline)\{([^\\{}$%&]*)\}"
)
_NESTED = 3  # levels of nested styles
_MACRO = re.compile(  # names and terms, not layout
    r"\\(?:(?:re)?newcommand\*?|providecommand|def)\s*+\{?\s*+(\\[A-Za-z]++)\s*+\}?\s*+"
    r"\{((?:[^{}\n]|\{[^{}\n]{0,80}\}){1,80})\}"
)
_MOST_MACROS, _MOST_USES = 200, 10_000  # so that a text cannot become much longer
_PLAIN = re.compile(r"[\w,.+*/=<> ^-]{1,12}")
_BODY = re.compile(r"\\begin\s*\{document\}(.*?)(?:\\end\s*\{document\}|\Z)", re.DOTALL)
_ABSTRACT = re.compile(r"\\begin\s*\{abstract\}")
_ABSTRACT_END = re.compile(r"\\end\s*\{abstract\}")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*|\\par\b|\\item\b(?:\s*\[[^\]]{0,100}\])?")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_SECTION = r"(?:part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)"
_HEADING = re.compile(rf"\\{_SECTION}\*?\s*+(?:\[[^\]]{{0,300}}\]\s*+)?(?=\{{)")
# Commands whose arguments are no text: how many of them, after an optional one.
_SILENT = re.compile(
    r"(?:(?<![~ ])[~ ]*\\(?:[Cc]ite\w*|[Cc]ref|[Aa]utoref|eqref|pageref|ref|label|url|path|input|"
    r"include|includegraphics|bibliography|bibliographystyle|usepackage|documentclass|pagestyle|"
    r"thispagestyle|vspace|hspace|lstinline|keywords|affiliation|author|date|thanks|email|"
    r"orcid|institute|address|affil|ccsdesc|footnote(?:text)?|todo)|\\href(?=\s*\{))\*?"
    r"\s*(?:\[[^\]]{0,500}\]\s*){0,2}(?=\{)"
)


def read_latex(text: str) -> Extract:
    """Read a LaTeX document."""
    text = _expand_macros(_GENERATED.sub("", _COMMENT.sub(r"\1", text)))
    title = _argument_of(text, r"\\title") or ""
    body = _BODY.search(text)
    abstract, text = _split_abstract(_without_unread(body.group(1) if body else text))
    blocks = []
    for number, section in enumerate(_HEADING.split(text)):
        end = _end_of_group(section, 0) if number else 0
        if number:
            blocks.append(Block(to_text(section[1 : end - 1]), heading=True))
        blocks += [Block(to_text(part)) for part in _PARAGRAPH_END.split(section[end:])]
    return Extract(to_text(title), blocks, to_text(abstract))


def _expand_macros(text: str) -> str:
    """Write out commands without arguments that the document defines: names of its own."""
    macros = {match[1]: match[2].replace("\\xspace", "") for match in _MACRO.finditer(text)}
    names = "|".join(map(re.escape, islice(macros, _MOST_MACROS)))
    used = re.compile(rf"({names})(?![A-Za-z])(?:\{{\}}|\\(?=\s))?")
    return used.sub(lambda match: macros[match[1]], text, count=_MOST_USES) if macros else text


def _without_unread(text: str) -> str:
    """Leave out code, formulas on lines of their own, tables and references."""
    parts, done, closing = [], 0, ""
    for match in _ENVIRONMENT.finditer(text):
        delimiter = match.group(1) or match.group()
        name = match.group(2) or ""
        if closing and delimiter in ("end", "$$", "\\]") and closing in (name, delimiter):
            closing, done = "", match.end()
        elif not closing and (
            delimiter in _CLOSING or (delimiter == "begin" and _NOT_READ.fullmatch(name))
        ):
            parts.append(text[done : match.start()])
            closing, done = _CLOSING.get(delimiter, name), len(text)
    return "\n".join([*parts, text[done:]])


def _split_abstract(text: str) -> tuple[str, str]:
    """The abstract, and the text without it."""
    start = _ABSTRACT.search(text)
    end = _ABSTRACT_END.search(text, start.end()) if start else None
    if start and end:
        return text[start.end() : end.start()], text[: start.start()] + text[end.end() :]
    return _argument_of(text, r"\\abstract") or "", text


def to_text(source: str) -> str:
    """The text of a piece of LaTeX without comments, such as a field of BibTeX, where % is text."""
    source = _FORMULA.sub(_shown_formula, _PERCENT.sub(r"\\%", _without_silent(source)))
    if not source.strip():
        return ""
    return "".join(map(_convert, _balanced_lines(source)))


def _balanced_lines(source: str) -> Iterator[str]:
    """Pieces that can be converted alone: lines, with those that a group spans together."""
    if _WHOLE_ENVIRONMENT.search(source):
        yield source
        return
    piece, depth = "", 0
    for line in source.splitlines(keepends=True):
        piece += line
        depth += sum({"{": 1, "}": -1}.get(brace, 0) for brace in _BRACE.findall(line))
        if depth <= 0 and not _GOES_ON.search(line):
            yield piece
            piece, depth = "", 0
    yield piece


def _convert(piece: str) -> str:
    piece = _NAMED_SIGN.sub(lambda match: _NAMED_SIGNS[match[1] or match[2]], piece)
    for _ in range(_NESTED):
        piece = _STYLED.sub(r"\1", piece)
    # Most of a text is as simple as this; the parser would take milliseconds for a line.
    if not _COMMAND.search(_SIGN.sub("", piece)):
        return _SIGN.sub(lambda match: _SIGNS[match[0]], piece)
    converter, context = _load_converter()
    try:
        text: str = converter.latex_to_text(piece, tolerant_parsing=True, latex_context=context)
    except Exception as error:  # whatever the parser stumbles over
        raise damaged(error) from None
    return text


@cache
def _load_converter() -> tuple[Any, Any]:
    """The converter, and the commands that it knows, which take longer to list than a line to
    convert."""
    try:
        from pylatexenc.latex2text import LatexNodes2Text
        from pylatexenc.latexwalker import get_default_latex_context_db
    except ImportError:
        raise missing_extra("pylatexenc", extra="documents", purpose="reading LaTeX") from None
    return LatexNodes2Text(math_mode="text"), get_default_latex_context_db()


def _shown_formula(match: "re.Match[str]") -> str:
    """A formula as short as the k of k-means is part of a term; others are left out."""
    formula = match.group(1) or match.group(2) or ""
    return formula if _PLAIN.fullmatch(formula) else " "


def _without_silent(source: str) -> str:
    """Leave out commands whose argument is no text, with the argument."""
    parts, done = [], 0
    for match in _SILENT.finditer(source):
        if match.start() >= done:
            parts.append(source[done : match.start()])
            done = _end_of_group(source, match.end())
    return "".join([*parts, source[done:]])


def _argument_of(text: str, command: str) -> str | None:
    match = re.search(rf"{command}\s*(?:\[[^\]]{{0,500}}\]\s*)?(?=\{{)", text)
    return text[match.end() + 1 : _end_of_group(text, match.end()) - 1] if match else None


def _end_of_group(text: str, start: int) -> int:
    """Where the group ends that starts there with a brace."""
    depth = 0
    for match in _BRACE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match.group(), 0)
        if depth == 0 and match.group() == "}":
            return match.end()
    return len(text)
