"""LaTeX: commands, formulas, environments."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pylatexenc.latex2text import LatexNodes2Text

from one2set.data.reading.document_formats import latex
from one2set.data.reading.document_formats.blocks import clean, compose
from one2set.data.reading.document_formats.latex import read_latex, to_text
from one2set.errors import DataError


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"\emph{counting} \textbf{sheep}", "counting sheep"),
        (r"G{\"o}del \& Erd\H{o}s, na\"ive", "Gödel & Erdős, naïve"),
        (r"$k$-means and $\sum_i x_i^2$ here", "k-means and here"),
        (r"as shown~\citep[see][p.~3]{a,b}, in \ref{c}", "as shown, in"),
        (r"\href{http://a.example}{wool} and \url{http://b.example}", "wool and"),
        (r"as shown ~ ~\cite [a]  [b] {c} in  \unknown{d}", "as shown in d"),
        (r"as shown  \cite*{c}  ~  \ref{d}.", "as shown."),
        (r"counted \href{http://a.example}{wool}", "counted wool"),
        (r"100\% of \$5", "100% of $5"),
        (r"95\,\% of \mbox{a \emph{\textbf{flock}}} -- R\&D", "95 % of a flock – R&D"),
        (r"sheep\footnote{Not \emph{goats}.} graze \todo{cite}", "sheep graze"),
        (r"a {\textless} b\textgreater{}c \textbar\ {\textless d} \textlesser", "a < b>c | < d"),
        (r"unknown \commands{keep} their text", "unknown keep their text"),
        (r"\cite{never closed", ""),
        ("", ""),
    ],
)
def test_pieces(source: str, expected: str) -> None:
    assert clean(to_text(source)) == expected


def body(source: str) -> list[str]:
    return compose(read_latex(source))[1].split("\n\n")


@pytest.mark.parametrize(
    "unread",
    [
        r"\begin{equation*}x\end{equation*}",
        "$$x$$",
        r"\[x\]",
        r"\begin{tabular}{l}x\\ x\end{tabular}",
        "\\begin{verbatim}\n$x \\begin{x}\n\\end{verbatim}",
        "% x",
        r"\begin{table}\begin{tabular}{l}x\end{tabular}\end{table}",
    ],
)
def test_environments_that_are_not_read(unread: str) -> None:
    assert body(f"a\n{unread}\nb") in (["a b"], ["a", "b"])


def test_what_is_never_closed_does_not_take_forever() -> None:
    for source in ("\\[" * 50_000, "\\begin{equation}" * 20_000, "$$ a " * 49_999):
        read_latex(source)
    with pytest.raises(DataError, match="is damaged"):
        read_latex("{" * 50_000)


def test_sections_abstract_and_body() -> None:
    source = r"""\title[short]{A \textbf{title}}
\begin{document} x \abstract{We count.} \section[a]{Wool \& {Sleep}} First.

Second. \subsection*{Deep} \begin{itemize} \item one \item two \end{itemize} \end{document} no"""
    title, text = compose(read_latex(source))
    assert title == "A title"
    assert text.split("\n\n")[-6:] == ["Wool & Sleep", "First.", "Second.", "Deep", "one", "two"]
    assert "We count." in text


LINES = st.sampled_from(
    [
        "plain words,\n",
        "``quotes'' --- a~dash -- and?\n",
        r"\emph{on one line} and \% more" + "\n",
        "\\emph{over\ntwo {lines}} here\n",
        "\\textbf\n{next line}\n",
        "\\frac{a}\n{b}\n",
        r"Sch\"olkopf, na\"{\i}ve, \o re" + "\n",
    ]
)


@given(st.lists(LINES, max_size=5).map("".join))
def test_lines_are_converted_as_the_whole_is(source: str) -> None:
    whole = LatexNodes2Text(math_mode="text").latex_to_text(source, tolerant_parsing=True)
    assert to_text(source) == whole


def test_commands_of_the_document_are_written_out() -> None:
    preamble = r"\newcommand{\sys}{\textsc{WoolNet}\xspace}\def\k{$k$}\newcommand\two[2]{#1}"
    text = rf"{preamble}\begin{{document}}\sys{{}} beats \sys, \k-means and \sys\ too, \system."
    assert body(text) == ["WoolNet beats WoolNet, k-means and WoolNet too, ."]


def test_percent_signs_in_addresses_begin_no_comment() -> None:
    text = r"""Data: \url{http://a.example/a%20b} and \href {http://a.example/{b%}}{wool}. % \url{x
Sheep graze on \path{c:/50%} meadows. \href{% a comment
http://b.example}{Goats} \url{unclosed % a comment
do not."""
    assert body(text)[0].startswith("Data: and wool. Sheep graze on meadows. Goats")
    assert "comment" not in " ".join(body(text))


def test_addresses_that_are_never_closed_do_not_take_forever() -> None:
    for unit in (r"\url{", r"\url{a{b}", r"\url{{", r"\url {a%"):
        assert len(latex._COMMENT.sub(r"\1", unit * 100_000)) <= len(unit) * 100_000


def test_long_commands_are_not_written_out() -> None:
    text = rf"\newcommand{{\x}}{{{'wool ' * 40}}}\begin{{document}}" + r"\x sheep" * 3
    assert "wool" not in " ".join(body(text))


def test_the_label_of_an_item_is_not_read() -> None:
    assert body(r"\begin{document}\begin{itemize}\item[b)] Sheep\item Goats\end{itemize}") == [
        "Sheep",
        "Goats",
    ]


def test_spaces_before_the_arguments_of_a_heading() -> None:
    text = "a \\section  {B} c\n\n\\section* \t[x]\n {D} e \\subsection[y]{F} g \\section [z] h"
    assert body(text)[:6] == ["a", "B", "c", "D", "e", "F"]


def test_spaces_in_the_definition_of_a_command() -> None:
    preamble = "\\newcommand  {  \\wool } \n {Wool} \\def \\sheep  {Sheep}"
    assert body(rf"{preamble}\begin{{document}}\wool\ and \sheep.") == ["Wool and Sheep."]


_ODD = st.lists(
    st.sampled_from([*" ~\n*x[]{}\\", "  ", "[a]", "{b}", r"{\x}"])
    | st.sampled_from([r"\x", r"\cite", r"\href", r"\section", r"\def", r"\newcommand"])
    | st.sampled_from([r"\url", "%"]),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("pattern", [latex._SILENT, latex._HEADING, latex._MACRO, latex._COMMENT])
@given(source=_ODD)
def test_patterns_that_do_not_try_again_match_what_others_match(
    pattern: "re.Pattern[str]", source: str
) -> None:
    """Without these marks, the time grows with the square of the length."""
    obvious = re.sub(r"(?<=[*+])\+", "", pattern.pattern.replace("(?<![~ ])", ""))
    assert obvious != pattern.pattern
    expected = [(match.span(), match.groups()) for match in re.finditer(obvious, source)]
    assert [(match.span(), match.groups()) for match in pattern.finditer(source)] == expected
