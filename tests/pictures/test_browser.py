"""Pictures in a real browser: no errors, no requests, no overflow, and outputs that leave each other alone.

They need Playwright and a Chromium of the system, and are skipped where there is none.
"""

import contextlib
import shutil

import pytest

from tests.pictures.test_show import every_picture

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
VIEWS = [(390, 844, "light"), (390, 844, "dark"), (1280, 800, "light"), (1280, 800, "dark")]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@contextlib.contextmanager
def opened(browser, path, width, height, scheme):
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.seen = []
    page.on("console", lambda message: page.seen.append(message.text))
    page.on("pageerror", lambda error: page.seen.append(str(error)))
    page.on("request", lambda request: page.seen.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    yield page
    page.close()


def test_every_page_fits_its_window_in_both_schemes_without_errors_or_requests(browser, tmp_path):
    for name, picture in every_picture().items():
        path = tmp_path / f"{name}.html"
        picture.save(path)
        for width, height, scheme in VIEWS:
            with opened(browser, path, width, height, scheme) as page:
                wide, visible = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
                assert wide <= visible, (name, width)
                assert [each for each in page.seen if each != "data:,"] == [], name
                page.screenshot(path=tmp_path / f"{name}-{width}-{scheme}.png")


def test_the_page_follows_the_scheme_and_is_searched_with_a_key(browser, tmp_path):
    path = tmp_path / "tape.html"
    every_picture()["tape"].save(path)
    colors = {}
    for scheme in ("light", "dark"):
        with opened(browser, path, 1280, 800, scheme) as page:
            colors[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
            page.keyboard.press("/")
            page.keyboard.type("tanh")
            assert page.evaluate("document.querySelectorAll('.pb-hit').length") == 2
            before = page.evaluate("document.querySelector('svg').getBoundingClientRect().width")
            page.keyboard.press("Escape")
            page.keyboard.press("+")
            assert page.evaluate("document.querySelector('svg').getBoundingClientRect().width") > before
    assert colors == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 25, 28)"}


FOREIGN = '<table id="foreign"><tr><th>a</th><td>b</td></tr></table><h3 id="heading">a</h3>'
FOREIGN += '<svg id="art"><text>t</text></svg>'
STYLES = """['foreign', 'heading', 'art'].flatMap(id => [document.getElementById(id),
    ...document.getElementById(id).querySelectorAll('*')]).map(e => {
    const s = getComputedStyle(e);
    return [s.padding, s.color, s.backgroundColor, s.borderTopWidth, s.fontSize, s.fill, s.textAlign, s.maxWidth];})"""


def test_outputs_in_one_notebook_change_neither_each_other_nor_what_is_foreign(browser, tmp_path):
    pictures = every_picture()
    outputs = [picture._repr_mimebundle_()["text/html"] for picture in pictures.values()]
    found = []
    for number, body in enumerate(["", "".join(outputs)]):
        path = tmp_path / f"{number}.html"
        path.write_text(f'<!doctype html><meta charset="utf-8">{body}{FOREIGN}', encoding="utf-8")
        with opened(browser, path, 1280, 800, "light") as page:
            found.append(page.evaluate(STYLES))
    assert found[0] == found[1]
    inside = """number => [...document.querySelectorAll('.pb-out')[number].querySelectorAll('*')].map(e => {
        const s = getComputedStyle(e); return [s.color, s.fill, s.stroke, s.padding, s.fontSize]; })"""
    for number, output in enumerate(outputs):
        alone = tmp_path / "alone.html"
        alone.write_text(f'<!doctype html><meta charset="utf-8">{output}', encoding="utf-8")
        with opened(browser, alone, 1280, 800, "light") as page:
            expected = page.evaluate(inside, 0)
        with opened(browser, tmp_path / "1.html", 1280, 800, "light") as page:
            assert page.evaluate(inside, number) == expected


def test_a_dark_notebook_has_light_text_whatever_the_system_prefers(browser, tmp_path):
    output = every_picture()["explanation"]._repr_mimebundle_()["text/html"]
    color = "getComputedStyle(document.querySelector('.pb-out td')).color"
    found = {}
    for place in ('data-theme="dark"', 'data-jp-theme-light="false"', 'class="vscode-dark"', 'data-theme="light"'):
        path = tmp_path / "notebook.html"
        path.write_text(f'<!doctype html><meta charset="utf-8"><body {place}>{output}', encoding="utf-8")
        for scheme in ("light", "dark"):
            with opened(browser, path, 1280, 800, scheme) as page:
                found[place, scheme] = page.evaluate(color)
    assert {value for (place, _), value in found.items() if "light\"" not in place} == {"rgb(230, 234, 237)"}
    assert {value for (place, _), value in found.items() if place == 'data-theme="light"'} == {"rgb(28, 42, 51)"}
