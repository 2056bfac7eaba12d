"""The page of a study in a real browser, from a file, without any network."""

import pytest
from comparison_cases import comparison, curves
from selenium.webdriver.common.by import By

from edgefl.reproductions import pages

pytestmark = pytest.mark.browser
COUNT = """
const drawn = div => [...div.querySelectorAll('.scatterlayer .point, .scatterlayer .js-line')].length;
const plots = [...document.querySelectorAll('.js-plotly-plot')];
return Object.fromEntries(plots.map(div => [div.dataset.figure, drawn(div)]));
"""


@pytest.mark.parametrize(
    ("made", "counts"),
    [(comparison, {"cells-0": 4 + 12 + 4}), (curves, {})],
)
def test_every_mark_is_drawn_and_nothing_is_fetched(made, counts, chromium, open_page, tmp_path):
    pages.write(made(), tmp_path)
    chromium.get_log("browser")
    open_page(tmp_path / "report.html")
    assert chromium.execute_script(COUNT) == counts
    assert chromium.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert [entry for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert chromium.find_element(By.TAG_NAME, "h1").text == "textbook/table-1: Rounds to a target"
