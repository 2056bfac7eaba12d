"""The card "What if?" in a real browser: sliders move the numbers to those of a run with the chosen value."""

import json
import shutil

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import edgefl
from edgefl.core.units import ENERGY, TIME, quantity
from edgefl.results.what_if_table import ratio

pytestmark = pytest.mark.browser
SCENARIO = {
    "name": "small",
    "rounds": 4,
    "targets": [0.3],
    "data": {"dataset": "digits"},
    "model": {"kind": "logistic", "cost": {"parameters": 200_000, "flops_per_parameter": 6}},
    "training": {"local_steps": 3, "lr": 0.3},
    "devices": {"count": 8, "cpu_hz": {"uniform": [1e9, 2e9]}},
    "server": {"participants": 3},
    "radio": {"bandwidth_hz": 20e6},
}
OVER = {"radio.bandwidth_hz": [5e6, 10e6, 50e6], "devices.cpu_hz": [5e8, 1e9], "radio.allocation": ["proportional"]}


@pytest.fixture(scope="module")
def priced(tmp_path_factory):
    """The folder of a run with a card."""
    folder = tmp_path_factory.mktemp("priced") / "run"
    edgefl.run(SCENARIO, out=folder, device="cpu")
    edgefl.what_if(folder, OVER)
    return folder


@pytest.fixture
def card(chromium, open_page, priced):
    """The page of the run; afterwards the console must be without errors."""
    chromium.get_log("browser")
    yield open_page(priced / "report.html").find_element(By.CLASS_NAME, "what-if")
    assert [entry for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"] == []


def sliders(card):
    return {one.get_attribute("id"): one for one in card.find_elements(By.CSS_SELECTOR, "input[type=range]")}


def shown(card):
    """The texts of all costs, by the name of their place."""
    places = card.find_elements(By.CSS_SELECTOR, "[data-cost]")
    return {place.get_attribute("data-cost"): place.text for place in places}


def wanted(summary, own):
    """The texts that a run's summary asks for."""
    texts = {}
    for number, (costs, own_costs) in enumerate([(summary, own), (summary["targets"][0], own["targets"][0])]):
        for kind, column, units in (("time", "time_s", TIME), ("energy", "energy_j", ENERGY)):
            texts[f"{number}-{kind}"] = quantity(costs[column], units)
            texts[f"{number}-{kind}-ratio"] = ratio(costs[column], own_costs[column])
    return texts


def marked(browser):
    """The horizontal places of the marks of the chosen value in the chart, and its line."""
    return browser.execute_script(
        "const div = document.querySelector('.what-if .plot');"
        "return [div.data.filter(one => one.mode === 'markers').map(one => one.x[0]), div.layout.shapes[0].x0]"
    )


def test_sliders_move_the_numbers_to_those_of_a_run_with_the_value(card, priced, chromium):
    own = json.loads((priced / "summary.json").read_text())
    assert shown(card) == wanted(own, own)
    bandwidth = sliders(card)["what-if-0-0"]
    assert bandwidth.get_attribute("aria-valuetext") == "20 MHz"  # the run's own value has its place among the others
    for key, value_hz, text in ((Keys.ARROW_LEFT, 10e6, "10 MHz"), (Keys.ARROW_LEFT, 5e6, "5 MHz")):
        bandwidth.send_keys(key)
        assert bandwidth.get_attribute("aria-valuetext") == text
        other = edgefl.run(SCENARIO, overrides=[f"radio.bandwidth_hz={value_hz}"], device="cpu")
        assert shown(card) == wanted(other.summary, own)
        places, line = marked(chromium)
        assert set(places) == {value_hz / 1e6}
        assert line == value_hz / 1e6
    assert other.summary["time_s"] > own["time_s"]
    labels = [label.text for label in card.find_elements(By.TAG_NAME, "label")]
    assert labels == [
        "Bandwidth radio.bandwidth_hz",
        "Clock of devices devices.cpu_hz",
        "Allocation of the band radio.allocation",
    ]
    titles = "return [...document.querySelectorAll('.what-if .xtitle, .what-if .x2title')].map(one => one.textContent)"
    assert chromium.execute_script(titles) == ["bandwidth [MHz]", "bandwidth [MHz]"]
    sentence = card.find_element(By.CLASS_NAME, "what-if-sentence").text
    assert sentence.startswith("With bandwidth 5 MHz the whole run takes ")


def test_a_key_with_one_value_is_a_sentence(open_page, priced, tmp_path):
    one = shutil.copytree(priced, tmp_path / "one")
    (one / "what_if.csv").unlink()
    edgefl.what_if(one, {"radio.bandwidth_hz": [20e6]})
    card = open_page(one / "report.html").find_element(By.CSS_SELECTOR, "#what-if .card")
    assert card.find_elements(By.TAG_NAME, "input") == []
    sentence = "Bandwidth (radio.bandwidth_hz) has been priced only at 20 MHz, as in the run."
    assert card.find_element(By.CLASS_NAME, "note").text == sentence
    edgefl.what_if(one, {"devices.rx_power_w": [0.1, 0.2]})
    card = open_page(one / "report.html").find_element(By.CLASS_NAME, "what-if")
    assert len(sliders(card)) == 1
    assert sentence in card.text


def test_one_key_varies_at_a_time(card, priced, chromium, violations):
    """A page with moved sliders has no serious violations."""
    own = json.loads((priced / "summary.json").read_text())
    bandwidth, clock, allocation = sliders(card).values()
    bandwidth.send_keys(Keys.ARROW_RIGHT)
    assert bandwidth.get_attribute("aria-valuetext") == "50 MHz"
    assert clock.get_attribute("aria-valuetext") == "as in the run"  # a distribution has no place among numbers
    clock.send_keys(Keys.ARROW_RIGHT)
    assert (bandwidth.get_attribute("aria-valuetext"), clock.get_attribute("aria-valuetext")) == ("20 MHz", "500 MHz")
    allocation.send_keys(Keys.ARROW_RIGHT)
    assert allocation.get_attribute("aria-valuetext") == "proportional"
    card.find_element(By.CLASS_NAME, "what-if-own").click()
    assert shown(card) == wanted(own, own)
    assert next(one.get_attribute("aria-valuetext") for one in sliders(card).values()) == "20 MHz"
    bandwidth.send_keys(Keys.ARROW_LEFT)
    assert bandwidth.get_attribute("aria-valuetext") == "10 MHz"
    for theme in ("light", "dark"):
        chromium.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
        assert violations() == []


def test_several_runs_have_a_card_each(open_page, priced, tmp_path):
    plain = shutil.copytree(priced, tmp_path / "plain")
    (plain / "what_if.csv").unlink()
    page = edgefl.report([plain, priced, priced], tmp_path / "page.html")
    cards = open_page(page).find_elements(By.CLASS_NAME, "what-if")
    assert len(cards) == 2
    second = next(iter(sliders(cards[1]).values()))
    second.send_keys(Keys.ARROW_LEFT)
    assert second.get_attribute("aria-valuetext") == "10 MHz"
    assert next(iter(sliders(cards[0]).values())).get_attribute("aria-valuetext") == "20 MHz"
