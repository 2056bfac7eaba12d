"""The page of a sweep in a real browser, from a file, without any network."""

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from sweep_folders import FAILED, NEVER, make

pytestmark = pytest.mark.browser
TWO = {"radio.bandwidth_hz": [50e6, 100e6, 200e6], "server.participants": [5, 10]}
TRACES = "return document.getElementById(arguments[0]).data.map(one => [one.mode ?? one.type, one.x.length])"


def lines(browser, chart):
    """Return the number of marks of each line of a chart."""
    return [count for mode, count in browser.execute_script(TRACES, chart) if mode == "lines+markers"]


def choose(browser, name, text):
    Select(browser.find_element(By.ID, name)).select_by_visible_text(text)


def rows(browser):
    return [row.text for row in browser.find_elements(By.CSS_SELECTOR, ".points tbody tr") if row.is_displayed()]


def shown(browser):
    """Return the answer that is visible."""
    return "".join(one.text for one in browser.find_elements(By.CSS_SELECTOR, ".story") if one.is_displayed())


def test_every_chart_has_its_lines(opened, tmp_path):
    browser = opened(make(tmp_path / "s", TWO))
    assert lines(browser, "time") == lines(browser, "energy") == lines(browser, "accuracy") == [3, 3]
    assert len(browser.execute_script(TRACES, "curves")) == 4 * 6  # three seeds and their mean for each point
    assert browser.execute_script("return document.getElementById('heat-time').data[0].z.map(row => row.length)") == [
        3,
        3,
    ]
    assert [count for _, count in browser.execute_script(TRACES, "front")] == [6, 2]  # both equal points of 200 MHz
    assert browser.find_element(By.ID, "count").text == "6 of 6 points"
    assert "time to 90 % is multiplied by" in shown(browser).replace("\N{NO-BREAK SPACE}", " ")


def test_filters_and_order(opened, tmp_path):
    browser = opened(make(tmp_path / "s", TWO))
    order = "return [...document.querySelectorAll('.plot, .story, .note')].map(one => one.className)"
    assert browser.execute_script(order)[1].startswith("plot")  # the count of points stands among the choices
    visible = "'#time, .story:not([hidden])'"
    tops = f"return [...document.querySelectorAll({visible})].map(one => one.getBoundingClientRect().top)"
    chart, text = browser.execute_script(tops)
    assert chart < text  # the first chart comes before the explanations
    assert browser.find_element(By.CSS_SELECTOR, "#table .wide").is_displayed()  # the table is too wide, and says so
    assert "wider" in browser.find_element(By.CSS_SELECTOR, "#table .scroll").get_attribute("class")
    values = [[row.split()[0], row.split()[2]] for row in rows(browser)]
    assert values == [[width, part] for width in ("50", "100", "200") for part in ("5", "10")]
    head = browser.find_element(By.XPATH, "//table[@class='points']//button[text()='time']")
    for direction, widths in (("ascending", "200 200 100 100 50 50"), ("descending", "50 50 100 100 200 200")):
        head.click()
        assert [row.split()[0] for row in rows(browser)] == widths.split()
        assert head.find_element(By.XPATH, "..").get_attribute("aria-sort") == direction
    choose(browser, "only-1", "10")
    assert lines(browser, "time") == [3]
    assert len(rows(browser)) == 3
    choose(browser, "only-0", "100 MHz")
    assert lines(browser, "time") == [1]
    assert [row.splitlines()[0].split()[:3] for row in rows(browser)] == [["100", "MHz", "10"]]
    assert [count for _, count in browser.execute_script(TRACES, "front")] == [1, 1]
    choose(browser, "only-0", "all")
    choose(browser, "only-1", "all")
    assert len(rows(browser)) == 6


def test_choices_change_axis_goal_and_view(opened, tmp_path):
    browser = opened(make(tmp_path / "s", TWO | {"algorithm": ["fedavg", "scaffold"]}))
    choose(browser, "axis", "participants")
    assert lines(browser, "energy") == [2] * 6
    choose(browser, "axis", "algorithm")
    marks = [count for mode, count in browser.execute_script(TRACES, "time") if mode == "markers"]
    assert marks == [2, 0, 2 * 3] * 6  # means, missed targets, seeds
    title = "return document.querySelector('#{} .{}title').textContent"
    assert browser.execute_script(title.format("time", "y")).startswith("time to 90 % [")
    browser.find_element(By.XPATH, "//button[text()='the whole run']").click()
    assert browser.execute_script(title.format("time", "y")).startswith("time of the whole run [")
    assert "time of the whole run" in shown(browser).replace("\N{NO-BREAK SPACE}", " ")
    browser.find_element(By.XPATH, "//button[text()='Rounds']").click()
    assert browser.execute_script(title.format("curves", "x")) == "round"
    panels = "return document.getElementById('curves').layout.annotations.length"
    assert browser.execute_script(panels) == 4  # participants and algorithms, with a line for each bandwidth


def test_censored_points_are_open_marks(opened, tmp_path):
    missed = {50e6: (1, 2), 100e6: (1,)}
    folder = make(
        tmp_path / "s", TWO, change=lambda at, seed: NEVER if seed in missed.get(at["radio.bandwidth_hz"], ()) else {}
    )
    browser = opened(folder)
    look = (
        "return document.getElementById('time').data.filter(one => one.marker).map(one => [one.marker.symbol, one.y])"
    )
    (symbols, heights), (triangle, top), *_ = browser.execute_script(look)
    assert symbols == ["circle-open", "circle-open", "circle"]
    assert heights[0] is None
    assert triangle == "triangle-up-open"
    assert len(top) == 1
    assert top[0] > max(heights[1:])


@pytest.mark.parametrize(
    ("grid", "options"),
    [
        ({}, {"seeds": (1,), "rounds": 1}),
        ({"algorithm": ["fedavg", "<b>x</b>"]}, {}),
        (TWO, {"change": lambda *_: FAILED}),
    ],
    ids=["one run", "no numbers", "all failed"],
)
def test_unusual_sweeps_draw_all_charts(opened, tmp_path, grid, options):
    browser = opened(make(tmp_path / "s", grid, **options))
    assert len(rows(browser)) == max(1, np.prod([len(values) for values in grid.values()]))
    assert browser.find_elements(By.CSS_SELECTOR, "b + x, td > b > x, .plot b") == []


@pytest.mark.slow  # a second or two; writes 2,000 result folders
def test_a_thousand_points(opened, tmp_path):
    grid = {
        "radio.bandwidth_hz": [1e6 * n for n in range(1, 11)],
        "server.participants": [*range(1, 11)],
        "training.lr": [*range(1, 11)],
    }
    folder = make(tmp_path / "s", grid, seeds=(1, 2), rounds=2, train=False)
    browser = opened(folder)
    assert (tmp_path / "page.html").stat().st_size < 5e6
    assert lines(browser, "time") == [10] * 100  # ten panels of ten lines
    choose(browser, "only-1", "3")
    assert browser.find_element(By.ID, "count").text == "100 of 1000 points"
    choose(browser, "only-2", "7")
    assert lines(browser, "time") == [10]


SPREADS = """
const drawn = document.getElementById('time').data;
const bands = drawn.filter(one => one.fill === 'toself').length;
const bars = drawn.filter(one => one.error_y?.visible).length;
const dots = drawn.filter(one => one.marker?.size === 5).map(one => one.x.length);
return [bands, bars, dots, document.getElementById('curves').data.filter(one => one.fill === 'toself').length];
"""


def test_few_seeds_are_dots_and_more_have_intervals(opened, tmp_path):
    grid = {"radio.bandwidth_hz": [50e6, 100e6]}
    assert opened(make(tmp_path / "few", grid, seeds=(1, 2, 3))).execute_script(SPREADS) == [0, 0, [6], 0]
    assert opened(make(tmp_path / "one", grid, seeds=(1,))).execute_script(SPREADS) == [0, 0, [], 0]
    browser = opened(make(tmp_path / "more", grid, seeds=(1, 2, 3, 4)))
    assert browser.execute_script(SPREADS) == [1, 1, [], 2]
    half = "return document.getElementById('time').data.find(one => one.error_y?.visible).error_y.array[0]"
    confidence = browser.execute_script(half)
    choose(browser, "interval", "standard deviation")
    assert confidence / browser.execute_script(half) == pytest.approx(3.182 / 2, rel=0.01)  # Student's t over root 4


AXES = "const chart = document.getElementById(arguments[0]); return chart._fullLayout[arguments[1]].range"


def test_accuracies_end_at_0_and_100_percent(opened, tmp_path):
    perfect = {"final_accuracy": 1.0, "best_accuracy": 1.0}
    folder = make(tmp_path / "s", {"radio.bandwidth_hz": [50e6, 100e6]}, change=lambda *_: perfect)
    browser = opened(folder)
    low, high = browser.execute_script(AXES, "accuracy", "yaxis")
    assert 0 <= low < high <= 100
    assert browser.execute_script(AXES, "curves", "yaxis") == [0, 100]


def test_long_names_stand_one_below_the_other(opened, tmp_path):
    names = [f"selection_number_{number}" for number in range(8)]
    browser = opened(make(tmp_path / "s", {"server.selection": names}))
    shown = browser.execute_script(
        "return [...document.querySelectorAll('#time .ytick text')].map(text => text.textContent)"
    )
    assert sorted(shown) == [name.replace("_", " ") for name in names]
    tops = "return [...document.querySelectorAll('#time .ytick text')].map(text => text.getBoundingClientRect().top)"
    places = sorted(browser.execute_script(tops))
    assert min(np.diff(places)) > 15  # pixels: no two names overlap


def test_without_learning_two_charts_fill_the_page(opened, tmp_path):
    browser = opened(make(tmp_path / "s", {"radio.bandwidth_hz": [50e6, 100e6]}, targets=(), train=False))
    widths = """
    const chart = document.getElementById('time');
    return [chart.querySelector('.main-svg').getBoundingClientRect().width, chart.getBoundingClientRect().width,
            document.querySelector('#effect .grid').getBoundingClientRect().width]
    """
    drawn, place, grid = browser.execute_script(widths)
    assert drawn == pytest.approx(place, abs=1)
    assert 2 * place > 0.9 * grid
    assert not browser.find_element(By.CSS_SELECTOR, "#table .wide").is_displayed()  # the table fits


METHODS = {"algorithm": ["fedavg", "scaffold", "fedprox", "my_own:Mine"]}
CHURN = {"churn.arrivals_per_s": [0.5, 1.0, 2.0]}
DRAWN = """
const chart = document.getElementById('time');
const lines = chart.data.filter(one => one.mode === 'lines+markers');
return [lines.map(one => one.y.length), [...new Set(lines.map(one => one.xaxis))].sort(),
        chart.layout.annotations.map(one => one.text),
        [...document.querySelectorAll('#effect .key span')].map(one => one.textContent),
        chart.layout.xaxis.tickvals]
"""


def test_every_method_has_a_line_in_every_panel(opened, tmp_path):
    """All 36 points are drawn: 3 bandwidths of 4 methods in 3 panels, with the bandwidths as ticks."""
    browser = opened(make(tmp_path / "s", METHODS | {"radio.bandwidth_hz": [50e6, 100e6, 200e6]} | CHURN, seeds=(1,)))
    marks, axes, headings, names, ticks = browser.execute_script(DRAWN)
    assert marks == [3] * 12
    assert axes == ["x", "x2", "x3"]
    assert headings == ["arrivals 0.5 /s", "arrivals 1 /s", "arrivals 2 /s"]
    assert names == ["FedAvg", "SCAFFOLD", "FedProx", "Mine"]
    assert ticks == [50, 100, 200]
    layout = "document.getElementById('time')._fullLayout"
    left = f"return ['xaxis', 'xaxis2', 'xaxis3'].map(axis => {layout}[axis].domain[0])"
    assert len(set(browser.execute_script(left))) > 1
    browser.set_window_size(500, 900)
    browser.execute_script("window.dispatchEvent(new Event('resize'))")
    assert browser.execute_script(left) == [0, 0, 0]  # one below the other on a narrow screen
    browser.set_window_size(1400, 900)
    choose(browser, "lines", "arrivals")
    marks, _, headings, names, _ = browser.execute_script(DRAWN)
    assert marks == [3] * 12
    assert headings == ["FedAvg", "SCAFFOLD", "FedProx", "Mine"]
    choose(browser, "only-0", "Mine")
    assert lines(browser, "time") == [3, 3, 3]


def test_the_baseline_changes_the_table_of_effects(opened, tmp_path):
    browser = opened(make(tmp_path / "s", METHODS | {"radio.bandwidth_hz": [50e6, 100e6]}))
    table = ".card[data-baseline]:not([hidden]) .effects tbody tr"
    cells_of_row = "row => [...row.cells].slice(0, 3).map(one => one.innerText)"
    texts = f"return [...document.querySelectorAll('{table}')].map({cells_of_row})"
    against_first = [["SCAFFOLD", "FedAvg"], ["FedProx", "FedAvg"], ["Mine", "FedAvg"], ["100 MHz", "50 MHz"]]
    assert [cells[1:] for cells in browser.execute_script(texts)] == against_first
    choose(browser, "baseline", "Mine")
    against_last = [["FedAvg", "Mine"], ["SCAFFOLD", "Mine"], ["FedProx", "Mine"], ["100 MHz", "50 MHz"]]
    assert [cells[1:] for cells in browser.execute_script(texts)] == against_last
