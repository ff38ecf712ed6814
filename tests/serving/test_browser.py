"""The page in a real browser: what the library finds is shown, and nothing of a text is run."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from one2set.data.document import Document
from one2set.data.reading.records import document_from_text
from one2set.keyphrases.exploration import BIASES
from one2set.keyphrases.generator import KeyphraseGenerator
from one2set.serving.app import create_app
from one2set.serving.limits import Access, Limits
from tests.serving.running import served

_FLAGS = [
    "--no-sandbox",  # which containers do not allow
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_PATIENCE = 30_000  # milliseconds: the machine may be busy
expect.set_options(timeout=_PATIENCE)
# Characters that are one for Python and two for JavaScript stand before the words.
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
def opened(browser: Browser, url: str, **options: object) -> Iterator[Page]:
    """The page, of which no script fails, and which asks no other server."""
    context = browser.new_context(reduced_motion="reduce", **options)  # type: ignore[arg-type]
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("request", lambda one: None if one.url.startswith(url) else wrong.append(one.url))
    page.goto(url)
    yield page
    context.close()
    assert wrong == []


def find(page: Page, text: str) -> None:
    page.fill("#text", text)
    with page.expect_response("**/v1/explore"):
        page.press("#text", "Control+Enter")
    expect(page.locator("#found")).to_be_visible()


def turn(page: Page, position: int) -> None:
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
        for position, more in enumerate(BIASES):
            turn(page, position)
            found = generator.generate(text, more=more)
            assert listed(page, "present") == [one.text for one in found if one.present]
            assert listed(page, "absent") == [one.text for one in found if not one.present]
            whole = page.locator("#marked").text_content() or ""
            assert whole == text.replace("\n", "", 1), "the title has an element of its own"
            marked = page.evaluate(MARKED)
            for one in found:
                if one.present:
                    places = "".join(text[start:end] for start, end in one.spans)
                    assert marked[explored.stems(one.text)] == places
            shown.add(len(found))
        assert len(shown) > 2
    assert asked == [], "the slider needs no server"


# What phrases stand where, by looking at every span for every piece of a text.
PIECES = """([text, phrases]) => import('/page/marking.js').then(({ segments }) => {
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
WORK = """([text, phrases]) => import('/page/marking.js').then(({ segments }) => {
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


def test_pieces_of_a_text_are_those_of_a_slow_search(browser: Browser, url: str) -> None:
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


def test_work_grows_with_the_length_of_a_text(browser: Browser, url: str) -> None:
    """Also of one repeated word, where every phrase stands everywhere."""
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


def test_text_is_text(browser: Browser, url: str, documents: list[Document]) -> None:
    with opened(browser, url) as page:
        find(page, INJECTION + documents[0].abstract)
        turn(page, len(BIASES) - 1)
        assert page.locator("#marked").text_content() == INJECTION + documents[0].abstract
        assert page.locator("#marked img, #marked script").count() == 0
        page.click("#tab-codes")
        assert page.evaluate("window.hurt") is None


def test_the_control_codes(
    browser: Browser, url: str, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    (explored,) = generator.explore([Document("", "", documents[1].abstract)])
    (voices,) = explored.passages
    with opened(browser, url) as page:
        find(page, documents[1].abstract)
        page.click("#tab-codes")
        counts = []
        for position in (0, 6, 12):
            turn(page, position)
            speaking = [one for one in voices if one.slot.text and one.since <= BIASES[position]]
            expect(page.locator(".code")).to_have_count(len(voices))
            assert page.locator(".code.silent").count() == len(voices) - len(speaking)
            tiles = page.locator(".code:not(.silent)").evaluate_all(
                "all => all.map(tile => tile.dataset.stems)"
            )
            assert tiles == [one.stems for one in speaking]
            counts.append(len(tiles))
        assert counts == sorted(counts)
        assert counts[0] < counts[-1]


def test_looking_and_the_keyboard(browser: Browser, url: str, documents: list[Document]) -> None:
    with opened(browser, url) as page:
        page.keyboard.type("Words ")  # the text has the focus
        find(page, documents[2].text)
        turn(page, len(BIASES) - 1)
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
        assert page.input_value("#dial") == str(len(BIASES) - 2)
        page.keyboard.press("v")
        expect(page.locator("#codes")).to_be_visible()
        page.focus("#tab-codes")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#phrases")).to_be_visible()
        page.keyboard.press("e")
        expect(page.locator("#text")).to_be_focused()
        assert page.input_value("#text") == documents[2].text


def test_copying(
    browser: Browser, url: str, generator: KeyphraseGenerator, documents: list[Document]
) -> None:
    text = documents[2].text
    found = generator.generate(text)
    clipboard = "navigator.clipboard.readText()"
    with opened(browser, url, permissions=["clipboard-read", "clipboard-write"]) as page:
        find(page, text)
        copied = {}
        for name in ("list", "json", "bibtex"):
            page.click(f"[data-copy={name}]")
            expect(page.locator(f"[data-copy={name}]")).to_have_text("Copied")
            copied[name] = page.evaluate(clipboard)
        assert copied["list"].splitlines() == [one.text for one in found]
        expected = [
            {"text": o.text, "present": o.present, "spans": [list(s) for s in o.spans]}
            for o in found
        ]
        given = json.loads(copied["json"])
        assert [{k: v for k, v in one.items() if k != "score"} for one in given] == expected
        assert copied["bibtex"] == f"keywords = {{{', '.join(one.text for one in found)}}},\n"
        odd = page.evaluate(
            "import('/page/copying.js').then(m => m.formats.bibtex([{text: 'a_b & 50% {c} \\\\'}]))"
        )
        assert odd == "keywords = {a\\_b \\& 50\\% \\{c\\} \\textbackslash{}},\n"


def test_guesses_stand_behind_the_keywords(browser: Browser, url: str) -> None:
    phrases = [
        {"text": "guess", "stems": "guess", "present": False, "score": 0.02},
        {"text": "absent", "stems": "absent", "present": False, "score": 0.4},
        {"text": "present", "stems": "present", "present": True, "score": 0.03},
    ]
    script = """phrases => import('/page/listing.js').then(({ showKeywords }) => {
        const place = document.createElement('p');
        showKeywords(place, phrases);
        return place.textContent;
    })"""
    with opened(browser, url) as page:
        told = "present\u00a0· absent perhaps guess"
        assert page.evaluate(script, phrases) == told
        assert page.evaluate(script, phrases[:1]) == "perhaps guess"
        assert page.evaluate(script, []) == "–"


def test_a_file_is_dropped_on_a_phone_at_night(
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
        page.evaluate(drop, "a\0b")
        expect(page.locator("#message")).to_have_text("Sorry: that is no text file.")
        page.click("#theme")
        assert page.evaluate(light) != night


def test_refusals_are_told_and_a_token_is_asked_for(
    browser: Browser, generator: KeyphraseGenerator
) -> None:
    app = create_app(generator, Limits(characters=1_000), Access("geheim"))
    with served(app) as url:
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        page.fill("#text", "Words of a set.")
        page.click("#find")
        page.fill("#token", "geheim")
        page.press("#token", "Enter")
        expect(page.locator("#found")).to_be_visible()
        page.click("#edit")
        page.fill("#text", "Words of a set. " * 100)
        page.click("#find")
        expect(page.locator("#message")).to_contain_text("at most 1,000 are read")
        context.close()


def test_examples_are_there_to_try(browser: Browser, url: str) -> None:
    with opened(browser, url) as page:
        buttons = page.locator("#examples button")
        assert buttons.count() >= 3
        buttons.last.click()
        expect(page.locator("#marked h1")).not_to_be_empty()
