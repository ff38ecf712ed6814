"""Make the pictures in docs/images: of the page of a running server, and of the terminal.

one2set serve &
python benchmarks/page_pictures.py [--url http://127.0.0.1:8000] [--output docs/images]
"""

import io
import re
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.text import Text

_COLOURS = 128  # of a picture: enough for a page, and a third of the bytes
_DESK: dict[str, Any] = {"viewport": {"width": 1240, "height": 800}}
_PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 760},
    "device_scale_factor": 1.5,
    "is_mobile": True,
    "has_touch": True,
}


def select_phrase(page: Page) -> None:
    """Point at a phrase."""
    page.locator("#marked h1 mark").last.hover()


def open_codes(page: Page) -> None:
    """Show the control codes."""
    page.click("#tab-codes")


def leave_page(page: Page) -> None:
    """Point at nothing."""
    page.mouse.move(5, 5)


def take_picture(
    browser: Browser, url: str, example: str, look: Any, **options: Any
) -> Image.Image:
    context = browser.new_context(reduced_motion="reduce", **options)
    page = context.new_page()
    page.goto(url)
    page.get_by_role("button", name=example).click()
    page.locator("#found").wait_for(timeout=60_000)
    look(page)
    page.wait_for_timeout(500)
    picture = Image.open(io.BytesIO(page.screenshot()))
    context.close()
    return picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)


def draw_terminal(path: Path) -> None:
    """Draw the output of `generate` for the example."""
    command = ["one2set", "generate", "examples/abstract.txt"]
    shown = subprocess.run(
        [sys.executable, "-m", *command, "--color", "always"], stdout=subprocess.PIPE, check=True
    )
    console = Console(record=True, width=92, file=io.StringIO())
    console.print(f"[bold]$ {' '.join(command)}[/bold]", highlight=False)
    console.print(Text.from_ansi(shown.stdout.decode()))
    picture = console.export_svg(title="one2set")
    # A picture must not load fonts.
    path.write_text(re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL), encoding="utf-8")


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--output", type=Path, default=Path("docs/images"))
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    draw_terminal(options.output / "terminal.svg")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=options.chromium, args=["--no-sandbox"]
        )
        pictures = {
            "light": take_picture(
                browser, options.url, "Traffic", select_phrase, color_scheme="light", **_DESK
            ),
            "dark": take_picture(
                browser, options.url, "Sensor networks", open_codes, color_scheme="dark", **_DESK
            ),
            "phone": take_picture(browser, options.url, "Traffic", leave_page, **_PHONE),
        }
    for name, picture in pictures.items():
        picture.save(options.output / f"page-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
