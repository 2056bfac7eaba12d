"""Fixtures that every test of the report starts from."""

from pathlib import Path

import pytest
from result_folders import make

from edgefl.results.report import write


@pytest.fixture
def result(tmp_path):
    """Makes result folders below the test's own folder."""

    def build(folder="run", /, **options):
        return make(tmp_path / folder, **options)

    return build


@pytest.fixture
def opened(chromium, open_page, tmp_path):
    """Makes the page of some folders and opens it; afterwards the console is empty, and nothing was fetched."""

    def build(*folders):
        page = write(folders, tmp_path / "page.html")
        browser = open_page(page)
        # Pages share what the browser stores, and another test's page may have been left dark.
        if browser.execute_script("return localStorage.length"):
            browser.execute_script("localStorage.clear()")
            browser = open_page(page)
        return browser

    chromium.get_log("browser")
    yield build
    assert chromium.get_log("browser") == []
    assert chromium.execute_script("return performance.getEntriesByType('resource').length") == 0


# Charts are judged by their labels: what is inside them is hidden behind these.
CHECK = """
const done = arguments[0];
axe.run({exclude: [['.svg-container']]}, {resultTypes: ['violations']}).then(found => done(found.violations));
"""


@pytest.fixture
def violations(chromium):
    """Returns what axe-core finds serious on the page that is open, with the elements."""
    package = pytest.importorskip("axe_core_python")
    script = next(Path(package.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")

    def found():
        chromium.set_script_timeout(120)
        chromium.execute_script(script)
        return [
            (one["id"], [node["html"][:200] for node in one["nodes"]])
            for one in chromium.execute_async_script(CHECK)
            if one["impact"] in {"serious", "critical"}
        ]

    return found
