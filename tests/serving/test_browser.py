"""The page in a real browser shows the keyphrases of the library, and runs nothing of a text."""

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

import pytest
from playwright.sync_api import Browser, Error, FilePayload, Page, Route, expect, sync_playwright

from one2set.data.document import Document
from one2set.data.reading.documents import read_document
from one2set.data.reading.records import document_from_text
from one2set.keyphrases.exploration import DIAL
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.serving.app import create_app
from one2set.serving.limits import Access, Limits
from tests.data import document_samples as samples
from tests.serving.running import served

pytestmark = pytest.mark.browser
_FLAGS = [
    "--no-sandbox",  # which containers do not allow
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_PATIENCE = 30_000  # milliseconds: the machine may be busy
expect.set_options(timeout=_PATIENCE)
# Characters with one code point and two UTF-16 units precede the words.
ODD = '\U0001d50a\U0001f469\u200d\U0001f52c <b>Words</b> & "words"\r\n'
# The text that is marked, of each phrase.
MARKED = """() => {
    const found = {};
    for (const mark of document.querySelectorAll("#marked mark"))
        for (const stems of mark.dataset.stems.split("|"))
            found[stems] = (found[stems] ?? "") + mark.textContent;
    return found;
}"""
INJECTION = "<img src=x onerror='window.hurt = 1'><script>window.hurt = 1</script> "


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium to test the page with; apt-get install chromium")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=chromium, args=_FLAGS)


@pytest.fixture(scope="module")
def url(generator: KeyphraseGenerator) -> Iterator[str]:
    with served(create_app(generator)) as url:
        yield url


@contextmanager
def opened(
    browser: Browser, url: str, *, expected: Sequence[str] = (), **options: object
) -> Iterator[Page]:
    """The page, of which no script fails, and which asks no other server. Browsers complain of
    refusals; those that are expected are named."""
    context = browser.new_context(reduced_motion="reduce", **options)  # type: ignore[arg-type]
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda message: wrong.append(message.text) if message.type == "error" else None
    )
    page.on("request", lambda event: None if event.url.startswith(url) else wrong.append(event.url))
    page.goto(url)
    yield page
    context.close()
    assert [event for event in wrong if not any(part in event for part in expected)] == []


def find(page: Page, text: str) -> None:
    page.fill("#text", text)
    with page.expect_response("**/v1/explore"):
        page.press("#text", "Control+Enter")
    expect(page.locator("#found")).to_be_visible()


def move_slider(page: Page, position: int) -> None:
    page.evaluate("n => { dial.value = n; dial.dispatchEvent(new Event('input')) }", position)


def listed(page: Page, kind: str) -> list[str]:
    return page.locator(f"#{kind} .phrase").all_text_contents()


def test_every_position_shows_what_the_library_finds(
    browser: Browser, url: str, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    text = ODD.replace("\r", "") + documents[2].abstract
    asked: list[str] = []
    (explored,) = generator.explore([document_from_text(text)])
    with opened(browser, url) as page:
        find(page, text)
        page.on("request", lambda request: asked.append(request.url))
        shown = set()
        for position, more in enumerate(DIAL):
            move_slider(page, position)
            keyphrases = generator.generate(text, more=more)
            assert listed(page, "present") == [
                keyphrase.text for keyphrase in keyphrases if keyphrase.present
            ]
            assert listed(page, "absent") == [
                keyphrase.text for keyphrase in keyphrases if not keyphrase.present
            ]
            whole = page.locator("#marked").text_content() or ""
            assert whole == text.replace("\n", "", 1), "the title has an element of its own"
            marked = page.evaluate(MARKED)
            for keyphrase in keyphrases:
                if keyphrase.present:
                    places = "".join(text[start:end] for start, end in keyphrase.spans)
                    assert marked[explored.stems(keyphrase.text)] == places
            shown.add(len(keyphrases))
        assert len(shown) > 2
    assert asked == [], "the slider needs no server"


# The phrases of each segment, by testing every span.
PIECES = """([text, phrases]) => import('/page/text.js').then(({ segments }) => {
    const spans = phrases.flatMap(({ stems, spans }) => spans.map((span) => ({ stems, span })));
    return segments(text, phrases).map(({ start, end, spans: found }) => {
        const expected = spans.filter(({ span }) => span[0] <= start && end <= span[1]);
        const lengths = found.map((one) => one.end - one.start);
        return {
            text: text.slice(start, end),
            expected: expected.map(({ stems }) => stems).sort(),
            found: found.map((one) => one.phrase.stems).sort(),
            sorted: lengths.every((one, n) => n === 0 || lengths[n - 1] >= one),
        };
    });
})"""
# How many elements of arrays are looked at while a text is marked.
WORK = """([text, phrases]) => import('/page/text.js').then(({ segments }) => {
    let looked = 0;
    const methods = ["filter", "sort", "map", "flatMap", "find", "some", "every"];
    const before = methods.map((name) => Array.prototype[name]);
    methods.forEach((name, number) => {
        Array.prototype[name] = function (...given) {
            looked += this.length;
            return before[number].apply(this, given);
        };
    });
    try { segments(text, phrases); } finally {
        methods.forEach((name, number) => { Array.prototype[name] = before[number]; });
    }
    return looked;
})"""


def test_segments_equal_those_of_a_slow_search(browser: Browser, url: str) -> None:
    chance = Random(7)
    with opened(browser, url) as page:
        for _ in range(30):
            text = "".join(chance.choices("ab \n", k=chance.randrange(40)))
            phrases = [
                {
                    "stems": f"phrase {number}",
                    "spans": sorted(
                        sorted(chance.sample(range(len(text) + 1), 2))
                        for _ in range(chance.randrange(6) if text else 0)
                    ),
                }
                for number in range(chance.randrange(6))
            ]
            pieces = page.evaluate(PIECES, [text, phrases])
            assert "".join(piece["text"] for piece in pieces) == text
            for piece in pieces:
                assert piece["found"] == piece["expected"]
                assert piece["sorted"]


def test_segmentation_is_linear(browser: Browser, url: str) -> None:
    """Also for one repeated word, where every phrase occurs everywhere."""
    looked = []
    with opened(browser, url) as page:
        for words in (500, 1_000, 2_000):
            phrases = [
                {
                    "stems": " ".join("x" * n),
                    "spans": [[2 * k, 2 * (k + n) - 1] for k in range(words - n + 1)],
                }
                for n in range(1, 6)
            ]
            looked.append(page.evaluate(WORK, ["x " * words, phrases]))
    assert looked[1] < 2.1 * looked[0]
    assert looked[2] < 2.1 * looked[1]


def test_html_in_a_text_is_not_interpreted(
    browser: Browser, url: str, documents: list[Document]
) -> None:
    with opened(browser, url) as page:
        find(page, INJECTION + documents[0].abstract)
        move_slider(page, len(DIAL) - 1)
        assert page.locator("#marked").text_content() == INJECTION + documents[0].abstract
        assert page.locator("#marked img, #marked script").count() == 0
        page.click("#tab-codes")
        assert page.evaluate("window.hurt") is None


def test_the_page_shows_the_control_codes(
    browser: Browser, url: str, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    (explored,) = generator.explore([Document("", "", documents[1].abstract)])
    (outputs,) = explored.passages
    with opened(browser, url) as page:
        find(page, documents[1].abstract)
        page.click("#tab-codes")
        speaking = [output for output in outputs if output.slot.text and output.generates]
        filled = []
        for position in (0, 6, 12):
            move_slider(page, position)
            expect(page.locator(".code")).to_have_count(len(outputs))
            assert page.locator(".code.silent").count() == len(outputs) - len(speaking)
            tiles = page.locator(".code:not(.silent)").evaluate_all(
                "all => all.map(tile => tile.dataset.stems)"
            )
            assert tiles == [output.stems for output in speaking]
            shown = {explored.stems(keyphrase.text) for keyphrase in explored.dial[position][1]}
            filled.append(page.locator(".code.present, .code.absent").count())
            assert filled[-1] == sum(output.stems in shown for output in speaking)
        assert filled == sorted(filled)
        assert 0 < len(speaking) < len(outputs)


def test_phrases_are_highlighted_by_pointer_and_keyboard(
    browser: Browser, url: str, documents: list[Document]
) -> None:
    with opened(browser, url) as page:
        page.keyboard.type("Words ")  # the text has the focus
        find(page, documents[2].text)
        move_slider(page, len(DIAL) - 1)
        first = page.locator("#present button").first
        first.hover()
        stems = first.get_attribute("data-stems")
        expect(page.locator("mark.seen").first).to_be_visible()
        for mark in page.locator("mark.seen").all():
            assert stems in (mark.get_attribute("data-stems") or "").split("|")
        page.locator("mark").first.hover()
        expect(page.locator("#tip")).to_be_visible()
        first.focus()
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.stems") != stems
        page.keyboard.press("Escape")
        assert page.locator(".seen").count() == 0
        page.keyboard.press("[")
        assert page.input_value("#dial") == str(len(DIAL) - 2)
        page.keyboard.press("v")
        expect(page.locator("#codes")).to_be_visible()
        page.focus("#tab-codes")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#phrases")).to_be_visible()
        page.keyboard.press("e")
        expect(page.locator("#text")).to_be_focused()
        assert page.input_value("#text") == documents[2].text


# The tooltips of the occurrences of a phrase, visited one after the other, and the first one again.
VISITED = """async ([text, phrases, stems]) => {
    const { showText } = await import('/page/text.js');
    const { goToNext } = await import('/page/highlight.js');
    const [place, tip] = ['marked', 'tip'].map((id) => document.getElementById(id));
    const found = phrases.find((phrase) => phrase.stems === stems);
    const button = document.createElement('button');
    button.dataset.stems = stems;
    showText(place, text, 0, phrases, false);
    return [...found.spans, found.spans[0]].map(() => {
        goToNext(button, () => found);
        return tip.textContent;
    });
}"""


def test_occurrences_of_nested_phrases_are_counted_once(browser: Browser, url: str) -> None:
    text = "large red sets, sets, red sets"
    spans = {"large red sets": [(0, 14)], "red sets": [(6, 14), (22, 30)]}
    spans["sets"] = [(10, 14), (16, 20), (26, 30)]
    phrases = [
        {"text": phrase, "stems": phrase, "score": 0.5, "spans": places}
        for phrase, places in spans.items()
    ]
    with opened(browser, url) as page:
        find(page, text)
        for phrase, places in spans.items():
            tips = page.evaluate(VISITED, [text, phrases, phrase])
            count = len(places)
            numbers = [f" · {n + 1} of {count}" for n in range(count)] if count > 1 else [""]
            assert tips == [f"{phrase} · 50 %{number}" for number in [*numbers, numbers[0]]]


def test_results_can_be_copied_and_downloaded(
    browser: Browser, url: str, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    text = documents[2].text
    keyphrases = generator.generate(text)
    clipboard = "navigator.clipboard.readText()"
    with opened(browser, url, permissions=["clipboard-read", "clipboard-write"]) as page:
        find(page, text)
        copied = {}
        for name in ("list", "json", "bibtex"):
            page.click(f"[data-copy={name}]")
            expect(page.locator(f"[data-copy={name}]")).to_have_text("Copied")
            copied[name] = page.evaluate(clipboard)
        assert copied["list"].splitlines() == [keyphrase.text for keyphrase in keyphrases]
        expected = [
            {"text": o.text, "present": o.present, "spans": [list(s) for s in o.spans]}
            for o in keyphrases
        ]
        given = json.loads(copied["json"])
        assert [{k: v for k, v in entry.items() if k != "score"} for entry in given] == expected
        assert (
            copied["bibtex"]
            == f"keywords = {{{', '.join(keyphrase.text for keyphrase in keyphrases)}}},\n"
        )
        odd = page.evaluate(
            "import('/page/formats.js').then(m => m.copies.bibtex([{text: 'a_b & 50% {c} \\\\'}]))"
        )
        assert odd == "keywords = {a\\_b \\& 50\\% \\{c\\} \\textbackslash{}},\n"


def test_unlikely_keyphrases_follow_the_keywords(browser: Browser, url: str) -> None:
    phrases = [
        {"text": "guess", "stems": "guess", "present": False, "score": 0.02},
        {"text": "absent", "stems": "absent", "present": False, "score": 0.4},
        {"text": "present", "stems": "present", "present": True, "score": 0.03},
    ]
    script = """phrases => import('/page/lists.js').then(({ showKeywords }) => {
        const place = document.createElement('p');
        showKeywords(place, phrases);
        return place.textContent;
    })"""
    with opened(browser, url) as page:
        told = "present\u00a0· absent perhaps guess"
        assert page.evaluate(script, phrases) == told
        assert page.evaluate(script, phrases[:1]) == "perhaps guess"
        assert page.evaluate(script, []) == "–"


def test_a_file_can_be_dropped_on_a_phone_in_dark_mode(
    browser: Browser, url: str, documents: list[Document]
) -> None:
    phone = {"width": 360, "height": 700}
    with opened(browser, url, viewport=phone, color_scheme="dark", has_touch=True) as page:
        light = "getComputedStyle(document.body).backgroundColor"
        night = page.evaluate(light)
        drop = """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], 'paper.txt', {type: 'text/plain'}));
            document.body.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}));
        }"""
        page.evaluate(drop, documents[0].text)
        expect(page.locator("#found")).to_be_visible()
        for view in ("#tab-codes", "#tab-phrases"):
            page.click(view)
            assert page.evaluate("document.documentElement.scrollWidth") <= phone["width"]
        places = [page.locator(selector).bounding_box() for selector in ("#present", "#marked")]
        heights = [place["y"] for place in places if place]
        assert heights[0] < heights[1], "phrases come first"
        page.evaluate(drop, "a\0b")
        expect(page.locator("#message")).to_contain_text("paper.txt: This is not a text")
        page.click("#theme")
        assert page.evaluate(light) != night


def choose(page: Page, **files: bytes) -> None:
    """Files by name, where __ stands for a dot."""
    page.set_input_files(
        "#files",
        [
            FilePayload(name=name.replace("__", "."), mimeType="", buffer=content)
            for name, content in files.items()
        ],
    )


def saved(page: Page, button: str) -> str:
    with page.expect_download() as download:
        page.click(button)
    return download.value.path().read_text(encoding="utf-8")


def test_several_files_make_a_table(
    browser: Browser, url: str, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    texts = {
        "a.txt": documents[2].text,
        "b.txt": "Caf\u00e9s of words, and sets of cafés.\r\nMore.",
    }
    with opened(browser, url) as page:
        choose(page, a__txt=texts["a.txt"].encode("utf-16"), b__txt=texts["b.txt"].encode("cp1252"))
        expect(page.locator("#message")).to_contain_text("2 texts were read")
        rows = page.locator("#documents tr")
        assert [row.locator("th").text_content() for row in rows.all()] == ["b.txt", "a.txt"]
        assert listed(page, "present") == [
            keyphrase.text for keyphrase in generator.generate(texts["a.txt"]) if keyphrase.present
        ]
        page.click("#documents button >> text=b.txt")
        expect(page.locator("#marked")).to_contain_text("sets of cafés.\nMore.")
        expect(page.locator("#documents [aria-current] th")).to_have_text("b.txt")

        actual = {
            name: generator.generate(text.replace("\r\n", "\n")) for name, text in texts.items()
        }
        table = saved(page, "[data-download-all=csv]").removeprefix("\ufeff")
        rows_of = list(csv.DictReader(io.StringIO(table)))
        expected = [
            (name, keyphrase.text, keyphrase.present)
            for name, some in actual.items()
            for keyphrase in some
        ]
        assert [
            (row["document"], row["keyphrase"], row["present"] == "yes") for row in rows_of
        ] == expected
        first = next(keyphrase for keyphrase in actual["a.txt"] if keyphrase.present)
        row = next(row for row in rows_of if row["keyphrase"] == first.text)
        spans = [tuple(map(int, span.split("-"))) for span in row["spans"].split()]
        assert spans == list(first.spans)
        given = json.loads(saved(page, "[data-download-all=json]"))
        assert [entry["id"] for entry in given] == ["a.txt", "b.txt"]
        assert [keyphrase["text"] for keyphrase in given[0]["keyphrases"]] == [
            o.text for o in actual["a.txt"]
        ]
        entries = saved(page, "[data-download-all=bib]")
        assert entries.count("@misc{") == 2
        assert f"title = {{{documents[2].title}}}" in entries
        lines = saved(page, "[data-download-all=txt]")
        assert lines.startswith(f"a.txt\n{actual['a.txt'][0].text}\n")
        move_slider(page, len(DIAL) - 1)
        shown = listed(page, "present") + listed(page, "absent")
        alone = saved(page, "[data-download=txt]").splitlines()
        assert shown
        assert sorted(alone) == sorted(shown), "what is shown now, of the text that is shown"


def test_more_files_than_a_session_keeps(
    browser: Browser, url: str, generator: KeyphraseGenerator
) -> None:
    """The first is shown and can be saved, though the table has it no longer. A session of this
    page keeps two texts, not two hundred."""
    texts = {name: f"Words of the set {name}, and sets of words." for name in "abc"}

    def shorten(route: Route) -> None:
        script = route.fetch()
        assert script.text().count("MAX_DOCUMENTS = 200") == 1
        short = script.text().replace("MAX_DOCUMENTS = 200", "MAX_DOCUMENTS = 2")
        route.fulfill(response=script, body=short)

    with opened(browser, url) as page:
        page.route("**/storage.js", shorten)
        page.reload()
        choose(page, **{f"{name}__txt": text.encode() for name, text in texts.items()})
        expect(page.locator("#message")).to_have_text(
            "3 texts were read. The table below has the last 2 of them."
        )
        rows = page.locator("#documents tr")
        assert [row.locator("th").text_content() for row in rows.all()] == ["c.txt", "b.txt"]
        expect(page.locator("#marked")).to_have_text(texts["a"])
        given = json.loads(saved(page, "[data-download=json]"))
        assert [entry["id"] for entry in given] == ["a.txt"]
        keyphrases = [keyphrase.text for keyphrase in generator.generate(texts["a"])]
        assert [keyphrase["text"] for keyphrase in given[0]["keyphrases"]] == keyphrases
        choose(page, b__txt=texts["b"].encode(), again__txt=texts["b"].encode())
        expect(page.locator("#message")).to_have_text(
            "2 texts were read. The table below has all of them."
        )


def test_files_that_fail_are_reported_together(
    browser: Browser, url: str, documents: list[Document]
) -> None:
    with opened(browser, url) as page:
        choose(page, bad__txt=b"a\0b", good__txt=documents[0].text.encode())
        expect(page.locator("#message")).to_contain_text("bad.txt: This is not a text")
        expect(page.locator("#message")).to_have_attribute("role", "alert")
        expect(page.locator("#documents tr")).to_have_count(1)
        expect(page.locator("#marked h1")).to_have_text(documents[0].title)


def test_the_server_reads_other_formats(browser: Browser, url: str) -> None:
    html = b"<!doctype html><html><title>Sets</title><body><p>Words &amp; <b>sets</b> of words."
    with opened(browser, url, expected=["422"]) as page:
        choose(page, a__pdf=samples.pdf(), b__html=html, c__docx=b"PK\x03\x04 and no more")
        expect(page.locator("#message")).to_contain_text("2 texts were read")
        expect(page.locator("#message")).to_contain_text("c.docx: The file ")
        document = read_document(samples.pdf(), "a.pdf")
        assert page.input_value("#text") == document.text
        page.click("#documents button >> text=b.html")
        expect(page.locator("#marked")).to_have_text("SetsWords & sets of words.")


def test_an_empty_text_is_reported(browser: Browser, url: str) -> None:
    with opened(browser, url) as page:
        for text in ("", "  \n "):
            page.fill("#text", text)
            page.click("#find")
            expect(page.locator("#message")).to_contain_text("There is no text yet. Type or paste")
            expect(page.locator("#text")).to_be_focused()


def test_texts_are_stored_until_they_are_deleted(
    browser: Browser, url: str, documents: list[Document]
) -> None:
    with opened(browser, url) as page:
        find(page, documents[0].text)
        page.click("#anew")
        page.keyboard.type("Words of a set")
        page.reload()
        assert page.input_value("#text") == "Words of a set"
        expect(page.locator("#documents tr")).to_have_count(1)
        with page.expect_response("**/v1/explore"):
            page.click("#documents button")
        expect(page.locator("#marked h1")).to_have_text(documents[0].title)
        expect(page.locator("#documents tr")).to_have_count(1)
        page.click("#forget")
        expect(page.locator("#message")).to_contain_text("are deleted from this browser")
        for _ in range(2):
            assert page.input_value("#text") == ""
            expect(page.locator("#session")).to_be_hidden()
            expect(page.locator("#found")).to_be_hidden()
            page.reload()
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0


def test_without_storage_it_works_until_a_reload(
    browser: Browser, url: str, documents: list[Document]
) -> None:
    with opened(browser, url) as page:
        page.add_init_script(
            "for (const name of ['localStorage', 'sessionStorage'])"
            "Object.defineProperty(window, name, { get() { throw new Error('forbidden') } })"
        )
        page.reload()
        find(page, documents[0].text)
        page.click("#theme")
        expect(page.locator("#documents tr")).to_have_count(1)
        page.reload()
        assert page.input_value("#text") == ""


def test_a_link_contains_the_text(browser: Browser, url: str, documents: list[Document]) -> None:
    text = ODD.replace("\r", "") + "100 % of #words & sets\n" + documents[1].abstract
    sent: list[str] = []
    with opened(browser, url, permissions=["clipboard-read", "clipboard-write"]) as page:
        find(page, text)
        page.click("#link")
        expect(page.locator("#link")).to_have_text("Copied")
        link = page.evaluate("navigator.clipboard.readText()")
        long = "import('/page/storage.js').then(m => m.makeLink('x'.repeat(30_000)))"
        with pytest.raises(Error, match="too long for a link"):
            page.evaluate(long)
    with opened(browser, url) as page:
        page.fill("#text", "My own draft")
        page.on("request", lambda request: sent.append(request.url))
        page.goto(link)
        expect(page.locator("#found")).to_be_visible()
        assert page.input_value("#text") == text
        assert page.url.rstrip("/") == url
        page.reload()
        assert page.input_value("#text") == "My own draft", "a link does not replace it"
        page.goto(f"{url}#text=%E0%A4%A")
        expect(page.locator("#message")).to_contain_text("The link is damaged")
    assert not any("set" in request for request in sent), "no server sees what stands behind the #"


def test_the_docs_page_lists_all_paths(browser: Browser, url: str) -> None:
    with opened(browser, url) as page:
        page.click("footer a")
        expect(page.locator("#paths h2").first).to_have_text("POST /v1/keyphrases")
        expect(page.locator("#example")).to_contain_text(f"curl {url}/v1/keyphrases")
        described = page.locator("#paths").text_content() or ""
        for word in ("min_score", "list of string or TitledText", "429", "KeyphraseAnswer"):
            assert word in described


def test_the_page_has_no_internal_terms(
    browser: Browser, url: str, documents: list[Document]
) -> None:
    with opened(browser, url) as page:
        find(page, documents[0].text)
        for position in range(len(DIAL)):
            move_slider(page, position)
            assert "dial" not in page.locator("body").inner_text().lower()
        assert "more than usual" in (page.locator("#count").text_content() or "")


def test_errors_are_shown_and_a_token_is_requested(
    browser: Browser, generator: KeyphraseGenerator
) -> None:
    app = create_app(generator, Limits(characters=1_000), Access("geheim"))
    with served(app) as url:
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        page.fill("#text", "Words of a set.")
        page.click("#find")
        page.fill("#token", "wrong")
        with page.expect_response("**/v1/explore"):
            page.press("#token", "Enter")
        expect(page.locator("#asking[open]")).to_be_visible()
        page.press("#token", "Escape")
        expect(page.locator("#message")).to_contain_text("A token is needed")
        page.click("#find")
        page.fill("#token", "geheim")
        page.press("#token", "Enter")
        expect(page.locator("#found")).to_be_visible()
        page.click("#edit")
        page.fill("#text", "Words of a set. " * 100)
        page.click("#find")
        expect(page.locator("#message")).to_contain_text("at most 1,000 are read")
        context.close()


def test_examples_can_be_tried(browser: Browser, url: str) -> None:
    with opened(browser, url) as page:
        buttons = page.locator("#examples button")
        assert buttons.count() >= 3
        buttons.last.click()
        expect(page.locator("#marked h1")).not_to_be_empty()


STORED = "localStorage.getItem('text')"


def test_what_is_written_during_a_search_is_kept(
    browser: Browser, url: str, documents: list[Document]
) -> None:
    """The answer goes into the table. A text of the session that is opened meanwhile stays open."""
    held: list[Route] = []
    with opened(browser, url) as page:
        page.route("**/v1/explore", lambda route: held.append(route))

        def answer() -> None:
            held.pop().continue_()
            expect(page.locator("#message")).to_contain_text("are in the table below")

        def check_draft(draft: str, rows: int) -> None:
            expect(page.locator("#documents tr")).to_have_count(rows)
            expect(page.locator("#writing")).to_be_visible()
            assert page.input_value("#text") == page.evaluate(STORED) == draft

        with page.expect_request("**/v1/explore"):
            page.fill("#text", documents[0].text)
            page.press("#text", "Control+Enter")
        page.fill("#text", "My new draft")
        answer()
        check_draft("My new draft", rows=1)
        with page.expect_request("**/v1/explore"):
            choose(page, a__txt=b"Words of a set.")
        page.fill("#text", "My next draft")
        answer()
        check_draft("My next draft", rows=2)
        for rows in (3, 4):  # the second time, the text that is open already
            with page.expect_request("**/v1/explore"):
                choose(page, b__txt=f"Sets of {rows} words.".encode())
            page.locator("#documents button", has_text=documents[0].title).click()
            answer()
            expect(page.locator("#marked h1")).to_have_text(documents[0].title)
            expect(page.locator("#documents tr")).to_have_count(rows)
            assert page.input_value("#text") == page.evaluate(STORED) == documents[0].text


def test_the_focus_is_not_lost(browser: Browser, url: str, documents: list[Document]) -> None:
    long = "\n\n".join(document.abstract for document in documents[:8])
    with opened(browser, url) as page:
        find(page, documents[2].text)
        expect(page.locator("#results")).to_be_focused()
        page.click("#edit")
        find(page, long)
        expect(page.locator("#results")).to_be_focused()
        page.locator("#documents button").last.press("Enter")
        expect(page.locator("#marked h1")).to_have_text(documents[2].title)
        expect(page.locator("#documents button").last).to_be_focused()
        page.locator("#documents button").first.press("Enter")
        page.click("#tab-codes")
        back, on = page.locator(".passage button").all()
        on.press("Enter")
        expect(page.locator(".passage")).to_contain_text("Passage 2 of")
        expect(on).to_be_focused()
        back.press("Enter")
        expect(page.locator(".passage")).to_contain_text("Passage 1 of")
        expect(on).to_be_focused()  # nothing precedes the first passage


def test_phrases_can_be_clicked_in_another_text_and_while_it_is_edited(
    browser: Browser, url: str, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    text = f"{documents[2].text}\n{documents[2].abstract}"
    repeated = next(phrase for phrase in generator.generate(text) if len(phrase.spans) > 2)
    tip = f"{repeated.text} · .* · %d of {len(repeated.spans)}"
    with opened(browser, url) as page:

        def click_and_expect(number: int) -> None:
            shown = page.locator("#present .phrase").get_by_text(repeated.text, exact=True)
            shown.click()
            expect(page.locator("#tip")).to_have_text(re.compile(tip % number))

        find(page, text)
        click_and_expect(1)
        click_and_expect(2)
        move_slider(page, len(DIAL) - 1)
        click_and_expect(3)
        page.click("#edit")
        page.locator("#present button").first.click()
        expect(page.locator("#tip")).to_be_hidden()
        find(page, f"{text}\nMore.")
        click_and_expect(1)


# Drags a word onto an element; returns whether the browser may insert it.
DRAG = """place => {
    const data = new DataTransfer();
    data.setData('text/plain', 'word');
    return ['dragenter', 'dragover', 'drop'].map((kind) =>
        document.querySelector(place).dispatchEvent(
            new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true })));
}"""


def test_a_word_can_be_moved_within_the_text(browser: Browser, url: str) -> None:
    with opened(browser, url) as page:
        page.fill("#text", "Some words of mine")
        assert page.evaluate(DRAG, "#text") == [True] * 3
        assert page.input_value("#text") == "Some words of mine"
        expect(page.locator("#drop")).to_be_hidden()
        assert page.evaluate(DRAG, "footer") == [False] * 3
        expect(page.locator("#marked")).to_have_text("word")


def test_the_text_of_a_link_is_kept_if_the_server_fails(browser: Browser, url: str) -> None:
    with opened(browser, url, expected=["ERR_FAILED"]) as page:
        page.fill("#text", "My own draft")
        page.route("**/v1/explore", lambda route: route.abort())
        page.goto(f"{url}#text=Words%20of%20a%20set")
        expect(page.locator("#message")).to_contain_text("The server cannot be reached")
        assert page.input_value("#text") == "Words of a set"
        assert page.evaluate(STORED) == "My own draft"
        page.unroute("**/v1/explore")
        page.click("#find")
        expect(page.locator("#marked")).to_have_text("Words of a set")
