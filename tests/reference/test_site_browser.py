"""The site in a real browser, opened from files: search, colours, narrow windows, and nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.browser]

PAGES = ("index.html", "reference/scenario/radio.html", "reference/python/edgefl.html", "glossary.html")
FETCHED = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=\"([^\"]+)\"|<link[^>]*rel=\"(?:stylesheet|icon)\"[^>]*>")


FETCHED_NOW = """
const fetched = document.querySelectorAll("script[src], img[src], iframe[src], link[rel=stylesheet], link[rel=icon]");
return Array.from(fetched, element => element.src || element.href);
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


CHECK = """
const done = arguments[0];
axe.run().then(found => done(found.violations.filter(one => ["serious", "critical"].includes(one.impact)).map(
  one => one.id + ": " + one.nodes.map(node => node.html.slice(0, 200)).join(" "))));
"""


@pytest.fixture
def browser(chromium):
    yield chromium
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_no_page_needs_anything_from_elsewhere(site):
    for page in site.rglob("*.html"):
        for match in FETCHED.finditer(page.read_text(encoding="utf-8")):
            assert "//" not in match[0], page


def test_pages_write_nothing_to_the_console_and_fetch_files_only(site, browser):
    for page in PAGES:
        browser.get((site / page).as_uri())
        names = browser.execute_script(FETCHED_NOW)
        assert names
        assert all(name.startswith("file:") for name in names)
        assert browser.get_log("browser") == []


def test_search_finds_a_key_from_a_file(site, browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get((site / "index.html").as_uri())
    browser.find_element(By.CSS_SELECTOR, "input.md-search__input").send_keys("bandwidth_hz")
    results = ".md-search-result__link"
    WebDriverWait(browser, 30).until(lambda found: found.find_elements(By.CSS_SELECTOR, results))
    links = [link.get_attribute("href") for link in browser.find_elements(By.CSS_SELECTOR, results)]
    assert any("reference/scenario/radio.html" in link for link in links)


@pytest.mark.parametrize(("wanted", "scheme"), [("dark", "slate"), ("light", "default")])
def test_colours_follow_the_system(site, browser, wanted, scheme):
    features = [{"name": "prefers-color-scheme", "value": wanted}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get((site / "glossary.html").as_uri())
    assert browser.execute_script("return document.body.dataset.mdColorScheme") == scheme


def test_a_narrow_window_scrolls_tables_and_not_the_page(site, browser):
    sizes = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", sizes)
    for page in PAGES:
        browser.get((site / page).as_uri())
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= 390, page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(site, browser, scheme):
    package = pytest.importorskip("axe_core_python")
    axe = next(Path(package.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.set_script_timeout(120)
    for page in PAGES:
        browser.get((site / page).as_uri())
        browser.execute_script(axe)
        assert browser.execute_async_script(CHECK) == [], page
