"""The built site in a browser: on a telephone and on a desk, light and dark, by keyboard, by search, for everybody."""

from pathlib import Path

import pytest

PAGES = [
    "index", "start/index", "start/first-gradient", "start/fit-a-model", "guides/index", "transforms", "gallery/index",
    "reference/index", "reference/api/special.gammaln", "errors/VERSION",
]  # fmt: skip
SIZES = {"telephone": (390, 844), "desk": (1280, 800)}
SCREENSHOTS = Path(__file__).parents[2] / "docs" / "_build" / "screenshots"


def opened(browser, size, scheme="light"):
    width, height = SIZES[size]
    return browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()


@pytest.fixture
def desk(browser):
    page = opened(browser, "desk")
    yield page
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_the_screen_and_asks_nobody_else(browser, address, name, size, scheme):
    page = opened(browser, size, scheme)
    requests, complaints = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{address}/{name}.html", wait_until="networkidle")
    assert complaints == []
    assert [url for url in requests if not url.startswith((address, "data:"))] == []
    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] == widths[1]
    assert page.locator("meta[name=viewport]").count() >= 1
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name.replace('/', '-')}-{size}-{scheme}.png")
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_obstacle(browser, address, name, scheme):
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="axe-core-python is not installed").Axe()
    page = opened(browser, "desk", scheme)
    page.goto(f"{address}/{name}.html", wait_until="networkidle")
    found = [each for each in axe.run(page)["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], [node["html"][:150] for node in each["nodes"]][:3]) for each in found] == []
    page.context.close()


SEARCHES = {
    "gammaln": "pullback.special.gammaln",
    "value_and_grad": "pullback.value_and_grad",
    "in_axes": "vmap",
    "einsum": "pullback.einsum",
    "lstsq": "pullback.linalg.lstsq",
    "VERSION": "VERSION",
    "LEAF_INPLACE": "LEAF_INPLACE",
    "requires_grad int": "DTYPE",
    "gradcheck": "pullback.autograd.gradcheck",
    "logsumexp": "pullback.logsumexp",
    "jacrev": "pullback.func.jacrev",
    "hvp_fn": "pullback.func.hvp_fn",
    "overwrite_policy": "pullback.autograd.overwrite_policy",
    "detect_anomaly": "pullback.autograd.detect_anomaly",
    "custom_op": "pullback.library.custom_op",
    "while_loop": "pullback.while_loop",
    "solve_ivp": "pullback.scipy.integrate.solve_ivp",
    "cholesky": "pullback.linalg.cholesky",
    "conv2d": "pullback.nn.conv2d",
    "vmap": "vmap",
    "checkpoint": "checkpoint",
    "softmax": "softmax",
}
"""What people type, and a part of the title that should come among the first three."""


@pytest.mark.parametrize("words", list(SEARCHES))
def test_the_search_finds_what_was_meant_among_the_first_three(desk, address, words):
    desk.goto(f"{address}/search.html?q={words}")
    desk.wait_for_selector("ul.search li a", timeout=20_000)
    desk.wait_for_timeout(300)
    titles = desk.locator("ul.search li > a").all_inner_texts()[:3]
    assert any(SEARCHES[words] in title for title in titles), titles


def test_the_first_tab_skips_to_the_content_and_control_k_opens_the_search(desk, address):
    desk.goto(f"{address}/index.html")
    desk.keyboard.press("Tab")
    assert "Skip to main content" in desk.evaluate("document.activeElement.innerText")
    desk.keyboard.press("Control+k")
    assert desk.evaluate("document.activeElement.type") == "search"


def test_arrow_keys_go_to_the_neighbours(desk, address):
    desk.goto(f"{address}/reference/api/special.gammaln.html")
    following = desk.locator("a.right-next").get_attribute("href")
    desk.keyboard.press("ArrowRight")
    desk.wait_for_url(f"**/{following}")


def test_the_menu_opens_and_closes_by_keyboard_on_a_telephone(browser, address):
    page = opened(browser, "telephone")
    page.goto(f"{address}/start/index.html")
    page.locator("button.primary-toggle").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    page.context.close()


def test_pages_work_without_a_server(desk, address):
    root = Path(__file__).parents[2] / "docs" / "_site"
    desk.goto((root / "index.html").as_uri())
    desk.locator("a", has_text="Reference").first.click()
    desk.wait_for_url("**/reference/index.html")
    desk.goto((root / "search.html").as_uri() + "?q=gammaln")
    desk.wait_for_selector("ul.search li a", timeout=20_000)
    assert "special.gammaln" in desk.locator("ul.search li > a").first.inner_text()
