"""The site in a real browser, opened from files: search, colours, narrow windows, and nothing from elsewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import search_words
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = ("reference/", "reproductions/")
pytestmark = [pytest.mark.slow, pytest.mark.browser]

PAGES = (
    "index.html",
    "gallery.html",
    "tasks/compare-methods.html",
    "reference/scenario/radio.html",
    "reference/python/edgefl.html",
    "glossary.html",
)
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
            assert 'src="data:' in match[0] or "//" not in match[0], page


def test_pages_write_nothing_to_the_console_and_fetch_files_only(site, browser):
    for page in PAGES:
        browser.get((site / page).as_uri())
        names = browser.execute_script(FETCHED_NOW)
        assert names
        assert all(name.startswith("file:") for name in names)
        assert browser.get_log("browser") == []


QUERIES = yaml.safe_load(Path(__file__).with_name("search_queries.yaml").read_text(encoding="utf-8"))

UNKNOWN = "zzzzzz"
FOUND = """
const links = document.querySelectorAll(".md-search-result__item > a, .md-search-result__item article a");
const pages = Array.from(links, link => link.href.replace(/[?#].*/, ""));
return [...new Set(pages)].slice(0, 3);
"""


def test_search_finds_what_newcomers_type_from_a_file(site, browser):
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get((site / "index.html").as_uri())
    box = browser.find_element(By.CSS_SELECTOR, "input.md-search__input")
    missed = {}
    not_first = []
    for query, wanted in (QUERIES["first"] | QUERIES["among the first three"]).items():
        box.clear()
        box.send_keys(UNKNOWN)  # empties the list of the query before
        WebDriverWait(browser, 5, poll_frequency=0.05).until(lambda _: not found_now(browser))
        box.clear()
        box.send_keys(query)
        page = (site / f"{wanted}.html").as_uri()
        try:
            WebDriverWait(browser, 5, poll_frequency=0.05).until(lambda _, page=page: page in found_now(browser))
        except TimeoutException:
            missed[query] = found_now(browser)
        if query in QUERIES["first"] and found_now(browser)[:1] != [page]:
            not_first.append(query)
    assert missed == {}
    assert len(QUERIES["first"]) >= 30
    assert len(not_first) <= 3, not_first


def found_now(browser):
    return browser.execute_script(FOUND)


def test_search_leaves_out_copied_files(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    pages = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {name for name in pages if name.startswith("repository/")} == {
        "repository/CHANGELOG.html",
        "repository/CONTRIBUTING.html",
        "repository/SECURITY.html",
    }


def test_words_of_the_search_belong_to_pages():
    assert [name for name in search_words.WORDS if not name.startswith(GENERATED) and not (DOCS / name).is_file()] == []


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
