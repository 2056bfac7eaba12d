"""Accessible pages in a real browser: axe-core, words and numbers of charts, saved pictures, dark colours."""

import base64
import re
from itertools import pairwise
from urllib.parse import unquote

import pytest
from comparison_cases import comparison
from report_folders import with_tracks
from result_folders import rewrite
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from sweep_folders import make

from edgefl.reproductions import pages
from edgefl.results.report import write
from edgefl.results.report.shared.style import DARK, INK, RUN_COLOURS

pytestmark = pytest.mark.browser
TWO_KEYS = {"radio.bandwidth_hz": [50e6, 100e6], "server.participants": [5, 10]}
CATCH_DOWNLOADS = """
window.saved = [];
HTMLAnchorElement.prototype.click = function () { saved.push([this.download, this.href]); };
"""


@pytest.fixture
def a_page(result, tmp_path):
    """Makes a page of each kind."""

    def build(kind):
        if kind == "reproduction":
            pages.write(comparison(), tmp_path)
            return tmp_path / "report.html"
        if kind == "sweep":
            return write([make(tmp_path / "s", TWO_KEYS)], tmp_path / "page.html")
        folders = [result("a", rounds=6)]
        if kind == "world":  # with a card for each thing that can happen there
            columns = {"present": 80, "arrivals": 3, "departures": 2, "handovers": 4, "battery": 0.5, "depleted": 1}
            rewrite(folders[0], "rounds.csv", lambda _: columns)
            rewrite(folders[0], "devices.csv", lambda _: {"battery_j": 5, "battery_capacity_j": 10})
            with_tracks(folders[0], [(1, second, 20 * second, 0) for second in range(5)])
        if kind == "runs":
            folders.append(result("b", rounds=6, radio__bandwidth_hz=50e6))
        return write(folders, tmp_path / "page.html")

    return build


@pytest.fixture
def opened(a_page, open_page, chromium):
    """Opens a page of a kind, light; afterwards the console must be empty, and nothing was fetched."""

    def build(kind):
        browser = open_page(a_page(kind))
        use_theme(browser, "light")
        return browser

    chromium.get_log("browser")
    yield build
    assert chromium.get_log("browser") == []
    assert chromium.execute_script("return performance.getEntriesByType('resource').length") == 0


def use_theme(browser, theme):
    if browser.execute_script("return document.documentElement.dataset.theme") != theme:
        browser.find_element(By.ID, "theme").click()


@pytest.mark.parametrize("kind", ["world", "runs", "sweep", "reproduction"])
def test_light_and_dark_pages_are_accessible(opened, violations, kind):
    """Charts have words, sections have links, and axe-core finds nothing serious."""
    browser = opened(kind)
    charts = browser.find_elements(By.CSS_SELECTOR, ".js-plotly-plot")
    assert charts
    labels = set()
    for chart in charts:
        label = chart.get_attribute("aria-label")
        assert chart.get_attribute("role") == "img"
        assert re.search(r"\d", label), label
        assert not re.search(r"undefined|NaN|null|&\w+;|<", label), label
        labels.add(label)
    assert len(labels) == len(charts)
    links = browser.find_elements(By.CSS_SELECTOR, ".topbar a")
    targets = [link.get_attribute("href").partition("#")[2] for link in links]
    shown = [
        section.get_attribute("id")
        for section in browser.find_elements(By.CSS_SELECTOR, "main section:has(h2)")
        if section.is_displayed()
    ]
    assert targets == shown
    assert len(set(targets)) == len(targets) > 2
    page = browser.find_element(By.TAG_NAME, "main").get_attribute("innerHTML")
    levels = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true })")
    browser.find_element(By.CSS_SELECTOR, ".tools button[aria-expanded]").click()
    assert violations() == []
    use_theme(browser, "dark")
    assert violations() == []


@pytest.mark.parametrize("kind", ["world", "reproduction"])
def test_pages_in_a_narrow_window_are_accessible_and_no_wider(opened, chromium, violations, kind):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser = opened(kind)
        width = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(width) == 0
        assert violations() == []
    finally:
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_words_follow_the_choice_of_the_axis(opened):
    browser = opened("run")
    chart = browser.find_element(By.CSS_SELECTOR, "[data-figure=accuracy]")
    for button, axis in (("round", "over round"), ("energy", "over energy of all devices in J")):
        browser.find_element(By.CSS_SELECTOR, f"[data-view={button}]").click()
        assert f"test accuracy in % {axis}. " in chart.get_attribute("aria-label")


def test_the_numbers_and_saved_pictures_of_a_chart(opened):
    """The numbers are those that it draws; pictures have a name, a ground, a title and the key."""
    browser = opened("run")
    card = browser.find_element(By.CSS_SELECTOR, ".card:has([data-figure=time-0])")
    card.find_element(By.CSS_SELECTOR, ".tools button").click()
    heads = [cell.text for cell in card.find_elements(By.CSS_SELECTOR, ".numbers thead th")]
    assert [head.partition(" [")[0] for head in heads] == ["round", "download", "compute", "upload", "waiting"]
    drawn = browser.execute_script("return edgefl.chartOf(arguments[0].querySelector('.plot')).traces", card)
    rows = card.find_elements(By.CSS_SELECTOR, ".numbers tbody tr")
    assert len(rows) == len(drawn[0]["x"])
    cells = [float(cell) for cell in rows[2].text.split()]
    assert cells == pytest.approx([drawn[0]["x"][2], *(trace["y"][2] for trace in drawn)], rel=1e-3)
    for theme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(26, 33, 42)")):
        use_theme(browser, theme)
        browser.execute_script(CATCH_DOWNLOADS)
        for button in card.find_elements(By.CSS_SELECTOR, ".tools button")[1:]:
            button.click()
        files = dict(browser.execute_async_script(WAIT_FOR_TWO))
        assert set(files) == {"quickstart-time.svg", "quickstart-time.png"}
        svg = unquote(files["quickstart-time.svg"].partition(",")[2])
        assert f"background: {ground}" in svg or f"fill: {ground}" in svg
        for text in ("Time", "download", "waiting", "round"):
            assert text in svg
        png = base64.b64decode(files["quickstart-time.png"].partition(",")[2])
        assert png.startswith(b"\x89PNG")


WAIT_FOR_TWO = """
const done = arguments[0];
const wait = () => (saved.length < 2 ? setTimeout(wait, 50) : done(saved));
wait();
"""


def curve_colour(browser):
    line = browser.find_element(By.CSS_SELECTOR, "[data-figure=accuracy] .js-line")
    return browser.execute_script("return getComputedStyle(arguments[0]).stroke", line)


def rgb(colour):
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:7], 16)})"


def test_the_reader_s_choice_of_colours_is_kept(opened):
    browser = opened("run")
    body = "return getComputedStyle(document.documentElement).color"
    assert browser.execute_script(body) == rgb(INK)
    assert curve_colour(browser) == rgb(RUN_COLOURS[0])
    use_theme(browser, "dark")
    assert browser.execute_script(body) == rgb(DARK[INK])
    assert curve_colour(browser) == rgb(DARK[RUN_COLOURS[0]])
    browser.refresh()
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    assert browser.find_element(By.ID, "theme").get_attribute("aria-pressed") == "true"
    use_theme(browser, "light")


def test_page_follows_dark_system(a_page, open_page, chromium):
    forget = "try { localStorage.removeItem('edgefl.theme') } catch {}"
    path = a_page("run")
    open_page(path).execute_script(forget)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": dark})
    try:
        WebDriverWait(chromium, 20, 0.05).until(lambda browser: curve_colour(browser) == rgb(DARK[RUN_COLOURS[0]]))
        assert chromium.execute_script("return document.documentElement.dataset.theme") == "dark"
    finally:
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
