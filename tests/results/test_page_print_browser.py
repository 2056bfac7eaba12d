"""Pages on paper, in a real browser: light, as wide as A4, unfolded."""

import base64
import re

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from edgefl.results.report import write
from edgefl.results.report.shared.style import DARK, RUN_COLOURS

pytestmark = pytest.mark.browser
A4 = (595, 842)  # points
STATE = """
const line = document.querySelector('[data-figure=accuracy] .js-line');
return {
  colour: getComputedStyle(line).stroke,
  width: document.querySelector('[data-figure=accuracy] .main-svg').width.baseVal.value,
  open: document.querySelectorAll('details.run[open]').length,
  drawn: document.querySelectorAll('details.run .js-plotly-plot').length,
};
"""


def rgb(colour):
    return f"rgb({int(colour[1:3], 16)}, {int(colour[3:5], 16)}, {int(colour[5:7], 16)})"


def dispatch(browser, event):
    browser.execute_script(f"window.dispatchEvent(new Event('{event}'))")
    return browser.execute_script(STATE)


def test_dark_page_prints_light_and_unfolded_then_reverts(open_page, result, tmp_path):
    folders = [result(f"run-{seed}", seed=seed, rounds=2) for seed in range(5)]
    browser = open_page(write(folders, tmp_path / "page.html"))
    if browser.execute_script("return document.documentElement.dataset.theme") == "light":
        browser.find_element(By.ID, "theme").click()
    before = browser.execute_script(STATE)
    printed = dispatch(browser, "beforeprint")
    after = dispatch(browser, "afterprint")
    # Plotly measures the window a moment later.
    WebDriverWait(browser, 20, 0.05).until(lambda one: one.execute_script(STATE)["width"] == before["width"])
    browser.find_element(By.ID, "theme").click()
    assert before["colour"] == after["colour"] == rgb(DARK[RUN_COLOURS[0]])
    assert printed["colour"] == rgb(RUN_COLOURS[0])
    assert before["open"] == after["open"] == before["drawn"] == 0
    assert printed["open"] == 5
    assert printed["drawn"] > 0
    assert printed["drawn"] % 5 == 0


def test_the_paper_is_a4_and_a_run_fits_a_few_sheets(open_page, result, tmp_path):
    browser = open_page(write([result(rounds=4)], tmp_path / "page.html"))
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
    document = base64.b64decode(printed["data"])
    boxes = [[float(number) for number in box.split()] for box in re.findall(rb"/MediaBox ?\[([^\]]*)\]", document)]
    assert 3 <= len(boxes) <= 8
    assert all(box[2:] == pytest.approx(A4, abs=1) for box in boxes)
