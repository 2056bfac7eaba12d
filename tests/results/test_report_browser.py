"""The page in a real browser, from a file, without any network."""

import pytest
from result_folders import rewrite, write_csv
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from edgefl.results.report.shared.style import INK

pytestmark = pytest.mark.browser
COUNT = """
const marks = '.scatterlayer .trace path, .barlayer .point path';
return [...document.querySelectorAll('.js-plotly-plot')].map(div => {
  const paths = [...div.querySelectorAll(marks)].filter(path => path.getAttribute('d'));
  return [div.dataset.figure, paths.length, div.querySelectorAll('svg.main-svg').length];
});
"""


def drawn(browser):
    """Chart -> the number of paths that its traces drew."""
    charts = browser.execute_script(COUNT)
    assert all(layers > 0 for _, _, layers in charts)
    return {name: paths for name, paths, _ in charts}


def axis_titles(browser):
    found = browser.find_elements(By.CSS_SELECTOR, "#learning .xtitle")
    return [element.get_attribute("textContent") for element in found]


def test_every_chart_is_drawn_in_the_same_look(opened, result):
    browser = opened(result())
    charts = drawn(browser)
    assert charts["accuracy"] >= 3  # the curve and two crossings
    assert charts["loss"] == 2
    assert charts["time-0"] == 4 * 60
    assert charts["energy-0"] == 3 * 60
    assert charts["map-0"] > 90
    assert charts["timeline-0"] >= 3 * 30
    world = {"population", "handovers", "battery", "wasted"}  # nothing changes in this one
    assert not {name.rpartition("-")[0] for name in charts} & world
    colours = browser.execute_script(
        "return [...document.querySelectorAll('.plot')].map(d => d._fullLayout.font.color)"
    )
    assert set(colours) == {INK}


def test_changing_population_batteries_and_trajectories_are_drawn(opened, result):
    folder = result(churn={"kind": "poisson"}, cells={"layout": "hexagonal", "radius_m": 120}, rounds=12)
    columns = {"present": 80, "arrivals": 3, "departures": 2, "handovers": 4, "battery": 0.5, "depleted": 1}
    rewrite(folder, "rounds.csv", lambda _: columns)
    ended = {"2": "late", "3": "departed"}
    charge = {"battery_j": 5, "battery_capacity_j": 10}
    rewrite(folder, "devices.csv", lambda row: charge | {"status": ended.get(row["round"], "received")})
    tracks = [{"device": d, "time_s": t, "x_m": 10 * t, "y_m": 30 * d} for d in range(3) for t in range(20)]
    write_csv(folder / "tracks.csv", list(tracks[0]), tracks)
    browser = opened(folder)
    charts = drawn(browser)
    assert charts["population-0"] == 2 * 12 + 1
    assert charts["handovers-0"] == 12
    assert charts["battery-0"] > 3
    assert charts["wasted-0"] == 2 * 12
    assert charts["each-0"] >= 3 * 30
    ways = "return document.querySelectorAll('[data-figure=map-0] .scatterlayer .js-line').length"
    assert browser.execute_script(ways) == 0  # until the reader asks for them
    words = "return document.querySelector('[data-figure=map-0]').getAttribute('aria-label')"
    assert "trajectories" not in browser.execute_script(words)
    browser.find_element(By.ID, "map-0-extra").click()
    assert browser.execute_script(ways) == 3
    assert "trajectories" in browser.execute_script(words)
    assert len(browser.find_elements(By.CSS_SELECTOR, "[data-figure=map-0] .contourlayer .contour")) == 1


@pytest.mark.parametrize("rounds", [3, 40])
def test_counts_have_ticks_at_whole_numbers(opened, result, rounds):
    folder = result(rounds=rounds, devices__count=7, server__participants=3)
    rewrite(folder, "rounds.csv", lambda _: {"present": 7, "arrivals": 2, "departures": 1, "handovers": 1})
    browser = opened(folder)
    ticks = "return [...document.querySelectorAll(arguments[0])].map(one => one.textContent)"
    for chart in ("chosen-0] .xtick", "chosen-0] .ytick", "population-0] .y2tick", "handovers-0] .ytick"):
        found = [tick.replace("−", "-") for tick in browser.execute_script(ticks, f"[data-figure={chart} text")]
        numbers = [int(tick) for tick in found]
        assert len(set(numbers)) == len(numbers) > 1, chart


def test_the_horizontal_axis_can_be_chosen(opened, result):
    browser = opened(result())
    curve = "return document.querySelector('[data-figure=accuracy] .scatterlayer .js-line').getAttribute('d')"
    seen = [browser.execute_script(curve)]
    assert axis_titles(browser) == ["virtual time [s]", "virtual time [s]"]
    for name, title in (
        ("Rounds", "round"),
        ("Energy", "energy of all devices [J]"),
        ("Virtual time", "virtual time [s]"),
    ):
        button = browser.find_element(By.XPATH, f"//button[text()='{name}']")
        button.click()
        assert axis_titles(browser) == [title, title]
        assert button.get_attribute("aria-pressed") == "true"
        assert len(browser.find_elements(By.CSS_SELECTOR, '.toggle [aria-pressed="true"]')) == 1
        seen.append(browser.execute_script(curve))
    assert seen[3] == seen[0]
    assert seen[1] != seen[0]


def test_a_hostile_name_stays_text(opened, result):
    evil = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    browser = opened(result(name=evil, status="failed", error=evil, algorithm={"kind": evil}))
    assert browser.find_element(By.TAG_NAME, "h1").text == evil
    assert browser.title.startswith("</script><script>")
    assert len(drawn(browser)) == 8


def test_two_runs(opened, result):
    browser = opened(result("a"), result("b", rounds=40, algorithm={"kind": "fedprox", "mu": 0.01}))
    charts = drawn(browser)
    assert len(charts) == 14
    assert all(charts.values())
    assert axis_titles(browser) == ["virtual time [s]", "virtual time [s]"]
    fits = "return [...document.querySelectorAll('#comparison .scroll')].map(div => div.scrollWidth <= div.clientWidth)"
    assert browser.execute_script(fits) == [True] * 3  # accuracy and two targets


def test_folded_runs_are_drawn_when_unfolded(opened, result):
    browser = opened(*(result(f"run-{seed}", seed=seed, rounds=5) for seed in range(6)))
    assert "map-5" not in drawn(browser)
    browser.find_elements(By.CSS_SELECTOR, "details.run > summary")[5].click()
    WebDriverWait(browser, 10, 0.05).until(lambda browser: drawn(browser).get("map-5", 0) > 10)
    width = browser.execute_script("return document.querySelector('[data-figure=map-5] .main-svg').clientWidth")
    assert width > 400


@pytest.mark.parametrize(
    ("options", "charts"),
    [
        ({"kind": "quadratic"}, 8),
        ({"kind": "none"}, 6),
        ({"rounds": 0, "status": "interrupted"}, 0),
        ({"rounds": 1, "devices__count": 1, "server__participants": 1}, 7),
    ],
    ids=["toy", "priced", "no round", "one round of one device"],
)
def test_unusual_runs_draw_all_charts(opened, result, options, charts):
    found = drawn(opened(result(**options)))
    assert len(found) == charts
    assert all(found.values())


def test_charts_fit_a_narrower_window_and_paper(opened, result):
    browser = opened(result())
    wide = browser.execute_script("return document.querySelector('.main-svg').clientWidth")
    browser.set_window_size(900, 1200)
    try:
        fits = "return document.documentElement.scrollWidth <= window.innerWidth"
        WebDriverWait(browser, 10, 0.05).until(lambda browser: browser.execute_script(fits))
    finally:
        browser.set_window_size(1400, 1200)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.set_window_size(1000, 1200)
    try:
        browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
        widths = browser.execute_script(
            "return [...document.querySelectorAll('.main-svg')].map("
            "svg => [svg.clientWidth, svg.closest('.plot').clientWidth])"
        )
        assert all(0 < drawn <= place < 1000 for drawn, place in widths)
    finally:
        browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.set_window_size(1400, 1200)
    width = "return document.querySelector('.main-svg').clientWidth"
    # Plotly measures it later.
    WebDriverWait(browser, 20, 0.05).until(lambda browser: browser.execute_script(width) == wide)
