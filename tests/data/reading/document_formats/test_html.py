"""HTML: titles, blocks, hostile pages."""

import pytest

from one2set.data.reading.document_formats.html import read_html
from one2set.errors import DataError


def texts(body: str) -> list[str]:
    result = [" ".join(block.text.split()) for block in read_html(body.encode()).blocks]
    return [text for text in result if text]


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        ('<meta name="DC.Title" content="Wool"><title>x</title>', "<h1>y</h1>", "Wool"),
        ('<meta property="og:title" content="Wool"><title>x</title>', "<h1>y</h1>", "Wool"),
        ("<title>x</title>", "<h1>W<wbr>ool</h1>", "Wool"),
        ("<title>Wool</title>", "<h1>a</h1><h1>b</h1>", "Wool"),
        ("<title>Wool</title>", "<p>a", "Wool"),
        ("", "<p>a", ""),
    ],
)
def test_the_title(head: str, body: str, expected: str) -> None:
    assert read_html(f"<html><head>{head}</head><body>{body}".encode()).title == expected


def test_the_abstract_of_libraries() -> None:
    page = b'<html><head><meta name="citation_abstract" content="We count."></head><p>a'
    assert read_html(page).abstract == "We count."


def test_blocks() -> None:
    page = "<div>a <b>b</b><p>c<br>d</p>e</div><ul><li>f<li>g</ul><table><tr><td>h<td>i</table>"
    assert texts(page) == ["a b", "c d", "e", "f", "g", "h", "i"]
    assert texts("<p>un<i>broken</i>") == ["unbroken"]


def test_words_around_what_is_not_read() -> None:
    page = '<div>one<nav>menu</nav>two sheep<sup class="reference">[1]</sup>.</div>'
    assert texts(page) == ["one two sheep."]


def test_the_main_part_is_read_where_there_is_one() -> None:
    assert texts("<p>menu</p><main><p>a</p></main><p>end</p>") == ["a"]
    assert texts("<p>b</p><article>c</article><article>d</article>") == ["b", "c", "d"]


def test_what_is_not_read() -> None:
    hidden = "<p hidden>x</p><aside>x</aside><template>x</template><svg><text>x</text></svg>"
    assert texts(f"<p>a</p>{hidden}<p>b <code>c</code></p><pre>x</pre>") == ["a", "b c"]


@pytest.mark.parametrize("inside", ["<h1>a</h1>", "<main>a</main>", "<p>a</p>"])
def test_a_form_around_a_page_is_read(inside: str) -> None:
    form = f"<form><label>x</label><input value=x><textarea>x</textarea>{inside}</form>"
    assert texts(form) == ["a"]
    assert texts(f"<div>{form}</div>") == ["a"]
    page = f"<div><p>menu</p>{form.replace('a<', 'most of the page<')}</div>"
    assert texts(page)[-1] == "most of the page"


@pytest.mark.parametrize("place", ["<div>{}</div>", "<p>b<div>{}</div>", "<table><td>{}</table>"])
def test_a_form_of_a_page_is_not_read(place: str) -> None:
    form = "<form><p>Search</p><label>For a long term</label><select><option>x</select></form>"
    page = place.format(form)
    assert "Search" not in texts(f"<p>We count sheep.</p>{page}<p>At night.</p>")
    assert "Search" not in texts(f"<p>We count sheep.</p>{page * 3}<p>At night.</p>")


def test_a_deep_page() -> None:
    assert texts(f"<p>{'<i>' * 2_900}a") == ["a"]
    for element in ("<div>", "<b><font size=1>"):
        with pytest.raises(DataError, match="is nested too deeply"):
            texts(element * 4_000)


def test_ends_may_be_left_out() -> None:
    assert len(texts("<li>a<p>b<br><img src=x>" * 4_000)) == 8_000
    assert len(texts("<svg:path />a<div>b</div>" * 4_000)) == 8_000


@pytest.mark.parametrize("declared", ['<?xml version="1.0"?><html>', "<html xmlns='{}'>"])
@pytest.mark.parametrize(
    "empty",
    ["<title/>", '<script src="a.js"/>', "<script\n/>", "<textarea title='a/>b' />", "<svg:g />"],
)
def test_elements_of_xhtml_may_be_closed_at_once(declared: str, empty: str) -> None:
    declared = declared.format("http://www.w3.org/1999/xhtml")
    page = f"{declared}<head>{empty}</head><body><p>{empty}a<br/>b</p><p>c</p>"
    assert texts(page) == ["a b", "c"]


def test_anchors_are_no_links() -> None:
    xhtml = "<html xmlns='http://www.w3.org/1999/xhtml'>"
    pages = ("<p><a id='x'/>a", "<p><a id='x'>a</a>", "<p><a name='x'>a")
    for page in pages:
        assert texts(xhtml + page * 5) == ["a"] * 5


def test_many_elements_that_never_end_do_not_take_forever() -> None:
    xhtml = "<html xmlns='http://www.w3.org/1999/xhtml'>"
    for unclosed in ("<a ", "<a x='", '<a "" ', "<a / "):
        texts(xhtml + unclosed * 100_000)
        texts(xhtml + unclosed + unclosed[2:] * 100_000)


_LINK = "<a href=x>Home</a>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"<div>{_LINK} | {_LINK} | {_LINK}</div><p>Wool", ["Wool"]),
        (f"<ul>{f'<li>{_LINK}' * 3}</ul><p>Wool", ["Wool"]),
        (f"<p>See {_LINK}, {_LINK}, {_LINK}", ["See Home, Home, Home"]),  # a sentence
        (f"<p>{_LINK}<p>{_LINK}<p>Wool", ["Home", "Home", "Wool"]),  # too few
        (f"{f'<h2>{_LINK}</h2>' * 3}<p>Wool", ["Home", "Home", "Home", "Wool"]),  # headings
        ("<div id=footer>All rights reserved</div><p>Wool", ["Wool"]),
    ],
)
def test_menus_are_not_read(body: str, expected: list[str]) -> None:
    assert texts(body) == expected
