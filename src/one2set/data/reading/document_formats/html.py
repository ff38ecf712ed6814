"""HTML: the main text of a page, without tags, code, menus and addresses of links."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from one2set.data.reading.document_formats.archives import damaged, too_deep
from one2set.data.reading.document_formats.blocks import LINE_BREAK, Block, Extract
from one2set.data.reading.document_formats.encodings import decode_declared
from one2set.errors import missing_extra

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_NOT_READ = (
    "script, style, noscript, template, svg, math, pre, nav, footer, aside, button, select, label, "
    "textarea, datalist, iframe, object, canvas, audio, video, head, sup.reference, [hidden], "
    "[aria-hidden=true], [role=navigation], [role=contentinfo], [role=search], #footer, .footer"
)
_FORM = ":not(body) > form:not(:has(h1, main, article))"
_BLOCK = re.compile(
    "address|article|blockquote|body|caption|center|d[dlt]|div|fieldset|fig(caption|ure)|h[1-6]|"
    "header|hr|html|li|main|[ou]l|p|section|summary|t(able|body|foot|head)|t[dhr]"
)
# XHTML may close an element at once, `<a id="p1"/>`, which HTML does not know: it would read the
# rest of the page as part of the element. Elements that never have a content are left alone.
_XHTML = re.compile(r"\s*+<\?xml\s|.{0,4000}?http://www\.w3\.org/1999/xhtml", re.DOTALL)
_CLOSED_AT_ONCE = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)"
    r"""([a-z][\w:.-]*+)((?:[^"'<>/]|"[^"<]*+"|'[^'<]*+'|/(?!>))*+)/>""",
    re.IGNORECASE,
)
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
# The title for libraries and networks; else the only main heading; else the window's title.
_TITLES = ("citation_title", "dc.title", "dcterms.title", "og:title")
_ABSTRACTS = ("citation_abstract", "dc.description", "dcterms.abstract", "dcterms.description")
_TAG = re.compile(r"<(/?)([a-z][\w:-]{0,40})\b[^<>]*?(/?)>", re.IGNORECASE)
# Elements without an end tag, or whose end tag may be left out.
_UNCLOSED = re.compile(
    "p|li|d[dt]|t[dhr]|tbody|thead|tfoot|option|br|hr|img|meta|link|input|wbr|col|area",
    re.IGNORECASE,
)
_DEEPEST = 3_000  # nested elements; the time to parse grows with the square of their number
_MENU = 3  # links without other words between them
_DEEP = 200  # elements between a text and its block; deeper ones are blocks of their own


def read_html(data: bytes) -> Extract:
    """Read a page."""
    tree = _parse(data)
    meta, window = _meta(tree), _text(tree.css_first("title"))
    for node in tree.css(_NOT_READ):
        # The words around a menu are apart, those around the number of a reference are not.
        node.replace_with("" if node.tag == "sup" else " ")
    # A form around a page, as ASP.NET makes it, is read: in a wrapper it has most of the text.
    whole = _count_letters(tree.body)
    for node in tree.css(_FORM):
        if 2 * _count_letters(node) <= whole:
            node.replace_with(" ")
    for node in tree.css("br, hr, p:empty"):
        node.replace_with(LINE_BREAK if node.tag == "br" else 2 * LINE_BREAK)
    headings = tree.css("h1")
    title = _first(meta, _TITLES) or (_text(headings[0]) if len(headings) == 1 else window)
    return Extract(title, list(_blocks(tree)), _first(meta, _ABSTRACTS))


def _parse(data: bytes) -> "LexborHTMLParser":
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise missing_extra("selectolax", extra="documents", purpose="reading HTML") from None
    source = decode_declared(data)
    if _XHTML.match(source):
        source = _CLOSED_AT_ONCE.sub(r"<\1\2></\1>", source)
    _check_depth(source)
    try:
        return LexborHTMLParser(source)
    except Exception as error:  # the parser's own errors have no common class
        raise damaged(error) from None


def _check_depth(source: str) -> None:
    depth = 0
    for match in _TAG.finditer(source):
        end, name, empty = match.groups()
        if not empty and not _UNCLOSED.fullmatch(name):
            depth = max(depth - 1, 0) if end else depth + 1
            if depth > _DEEPEST:
                raise too_deep()


def _meta(tree: "LexborHTMLParser") -> dict[str, str]:
    values: dict[str, str] = {}
    for node in tree.css("meta"):
        name = node.attributes.get("name") or node.attributes.get("property") or ""
        values.setdefault(name.lower(), node.attributes.get("content") or "")
    return values


def _first(meta: dict[str, str], names: tuple[str, ...]) -> str:
    return next((meta[name] for name in names if meta.get(name, "").strip()), "")


def _text(node: "LexborNode | None") -> str:
    return "" if node is None else node.text()


def _count_letters(node: "LexborNode | None") -> int:
    return sum(map(len, _text(node).split()))


def _blocks(tree: "LexborHTMLParser") -> Iterator[Block]:
    """The text of each block, in order, without menus."""
    for are_links, run in groupby(_linked_blocks(tree), key=lambda block: block[1] > 0):
        blocks = list(run)
        if not are_links or sum(links for _, links in blocks) < _MENU:
            yield from (block for block, _ in blocks)


def _linked_blocks(tree: "LexborHTMLParser") -> Iterator[tuple[Block, int]]:
    """Each block with text. If it has links only, and is no heading: how many."""
    mains = tree.css("main") or tree.css("article")
    root = mains[0] if len(mains) == 1 else tree.body
    nodes = () if root is None else root.traverse(include_text=True)
    texts = ((*_block_of(node), node.text_content or "") for node in nodes if node.is_text_node)
    for _, group in groupby(texts, key=lambda text: text[0].mem_id):
        parts = list(group)
        text = "".join(part for *_, part in parts)
        if text.strip():
            heading = parts[0][0].tag in _HEADINGS
            links = sum(linked for _, linked, part in parts if part.strip())
            apart = "".join(part for _, linked, part in parts if not linked)
            only_links = not heading and not any(map(str.isalnum, apart))
            yield Block(text, heading), links if only_links else 0


def _block_of(node: "LexborNode") -> tuple["LexborNode", bool]:
    """The block in which a text stands, and whether it is a link there."""
    above, linked = node, False
    for _ in range(_DEEP):
        if above.parent is None or _BLOCK.fullmatch(above.tag or ""):
            return above, linked
        linked = linked or (above.tag == "a" and "href" in above.attributes)
        above = above.parent
    return node, linked
