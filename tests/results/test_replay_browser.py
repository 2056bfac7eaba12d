"""The replay in a real browser: it moves, and draws the state of the world."""

import numpy as np
import pytest
from replay_tapes import MOVING
from report_folders import with_rounds
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import edgefl
from edgefl.results.report.shared.read import load
from edgefl.runs.assembly import build
from edgefl.runs.emulation import silent
from edgefl.scenario import load as load_scenario

pytestmark = pytest.mark.browser
# The colour of the canvas at a place of the map [m], as red, green, blue and opacity.
PIXEL = """
const [plot, x, y] = arguments;
const { xaxis, yaxis } = plot._fullLayout;
const canvas = plot.querySelector("canvas.stage");
const scale = canvas.width / canvas.clientWidth;
const left = Math.round((xaxis._offset + xaxis.l2p(x)) * scale);
const top = Math.round((yaxis._offset + yaxis.l2p(y)) * scale);
const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
copy.drawImage(canvas, -left, -top);
return [...copy.getImageData(0, 0, 1, 1).data];
"""


class Player:
    """A player of the page, by its number."""

    def __init__(self, browser, index=0):
        self.browser = browser
        self.element = browser.find_elements(By.CSS_SELECTOR, ".player")[index]
        self.plot = browser.find_element(By.CSS_SELECTOR, f"[data-figure=map-{index}]")
        WebDriverWait(browser, 20, 0.05).until(lambda _: self.element.is_displayed())

    def seek(self, time_s):
        self.browser.execute_script("arguments[0].replay.seek(arguments[1])", self.element, time_s)

    def devices(self):
        """Device -> where it is drawn [m], and its phase."""
        rows = self.browser.execute_script("return arguments[0].replay.devices()", self.element)
        return {device: (x_m, y_m, phase) for device, x_m, y_m, phase in rows}

    def text(self, part):
        return self.element.find_element(By.CSS_SELECTOR, part).text

    def button(self, part):
        return self.element.find_element(By.CSS_SELECTOR, part)

    def colour(self, name):
        style = "return getComputedStyle(arguments[0]).backgroundColor"
        dot = self.button(f"[data-count={name}] .dot")
        return [int(part) for part in self.browser.execute_script(style, dot).strip("rgb()").split(",")]

    def pixel(self, x_m, y_m):
        return self.browser.execute_script(PIXEL, self.plot, x_m, y_m)

    @property
    def tick(self):
        return int(self.button("input").get_attribute("value"))


@pytest.fixture(scope="module")
def moving(tmp_path_factory):
    """The folder of a run in which devices walk."""
    folder = tmp_path_factory.mktemp("moving") / "run"
    edgefl.run(MOVING, train=False, out=folder)
    return folder


@pytest.fixture
def player(opened, moving):
    return Player(opened(moving))


def test_devices_are_drawn_where_the_world_has_them(player, moving):
    """In the colours of their phases."""
    devices = load(moving).devices
    first = int(np.argmin(devices["start_s"]))
    device = int(devices["device"][first])
    begins_s = float(devices["start_s"][first])
    for column, name in (("download_s", "download"), ("compute_s", "compute"), ("upload_s", "upload")):
        player.seek(begins_s + devices[column][first] / 2)
        x_m, y_m, phase = player.devices()[device]
        assert phase == name
        assert player.pixel(x_m, y_m)[:3] == pytest.approx(player.colour(name), abs=3)
        begins_s += devices[column][first]
    counts = [int(player.text(f"[data-count={name}] b")) for name in ("download", "compute", "upload", "wait")]
    phases = [phase for _, _, phase in player.devices().values() if phase]
    assert sum(counts) == len(phases)
    assert counts[2] == phases.count("upload")
    world = build(load_scenario(MOVING), "cpu", train=False, progress=silent).world
    times_s = np.unique(load(moving).tracks["time_s"])
    places = []
    for time_s in times_s[[60, 140]]:
        player.seek(time_s)
        drawn = player.devices()
        ids = np.array(sorted(drawn))
        expected_m = world.positions_m(ids, time_s)
        assert len(ids) == MOVING["devices"]["count"]
        assert [drawn[device][:2] for device in ids] == [pytest.approx(tuple(place), abs=0.1) for place in expected_m]
        places.append(expected_m)
    assert np.hypot(*(places[1] - places[0]).T).min() > 1  # they walk between both times


def test_a_link_leads_to_the_base_station_that_serves(opened, result):
    folder = result(rounds=2, server__participants=1)
    browser = opened(folder)
    player = Player(browser)
    devices = load(folder).devices
    player.seek(float(devices["start_s"][0] + devices["download_s"][0] / 2))
    ((x_m, y_m, phase),) = [state for state in player.devices().values() if state[2]]
    assert phase == "download"
    # Links of a few devices are dashed: some of the places along the way are painted.
    painted = [player.pixel(x_m * part, y_m * part)[3] for part in np.linspace(0.3, 0.8, 40)]
    assert max(painted) == 255
    beside = [player.pixel(-y_m * part, x_m * part)[3] for part in np.linspace(0.3, 0.8, 40)]
    assert min(beside) == 0
    hidden = "return getComputedStyle(arguments[0].querySelector('.scatterlayer')).visibility"
    assert browser.execute_script(hidden, player.plot) == "hidden"  # the marks of where devices were last seen


def test_player_plays_pauses_and_returns_to_whole_run_and_keys_move_in_time(player):
    browser = player.browser
    assert player.tick == 0  # nothing moves before the reader wants it to
    assert browser.find_elements(By.CSS_SELECTOR, "canvas.stage") == []
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", player.plot)
    player.button(".play").click()
    WebDriverWait(browser, 20, 0.05).until(lambda _: player.tick > 0)
    assert player.text(".play") == "Pause"
    player.button(".play").click()
    tick = player.tick
    assert player.text(".play") == "Play"
    assert "Devices:" in player.button("[aria-live]").get_attribute("textContent")
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert player.tick == tick
    player.button(".whole").click()
    assert browser.find_elements(By.CSS_SELECTOR, "canvas.stage, .moment") == []
    assert not player.button(".whole").is_enabled()
    slider = player.button("input")
    slider.send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert player.tick == 20_000
    slider.send_keys(Keys.ARROW_LEFT)
    assert player.tick == 10_000
    slider.send_keys(Keys.PAGE_UP)
    assert player.tick == 110_000
    slider.send_keys(Keys.END)
    assert player.tick == 1_000_000
    assert "round 4 of 4" in slider.get_attribute("aria-valuetext")
    slider.send_keys(Keys.HOME, " ")
    assert player.text(".play") == "Pause"
    slider.send_keys(" ")
    assert player.text(".play") == "Play"
    player.button(".play").send_keys(Keys.ARROW_RIGHT)  # from any of the player's keys
    assert player.tick >= 10_000


def test_counters_and_marker_follow_the_replay(opened, result):
    folder = with_rounds(result(rounds=5), handovers=lambda _: 1)
    browser = opened(folder)
    player = Player(browser)
    rounds = load(folder).rounds
    player.seek(float(rounds["time_s"][1]) + 1e-3)
    assert player.text(".round") == "round 3 of 5"
    assert player.text(".accuracy") == f"accuracy {100 * rounds['test_accuracy'][1]:.1f} %"
    assert player.text(".received") == "20 updates received"

    def moment(chart):
        """Return the place of the moment's line on a chart's axis."""
        find = f"""
          const plot = document.querySelector('[data-figure={chart}]');
          const line = plot.querySelector('.moment');
          const {{ xaxis, meta }} = plot._fullLayout;
          return line.hidden ? null : xaxis.p2l(line.offsetLeft + 1 - xaxis._offset) * meta.virtual_time_unit_s"""
        return browser.execute_script(find)

    for chart in ("timeline-0", "handovers-0"):
        assert moment(chart) == pytest.approx(rounds["time_s"][1], rel=0.02), chart
    player.seek(float(rounds["time_s"][4]))
    assert moment("handovers-0") == pytest.approx(rounds["time_s"][4], rel=0.02)
    browser.find_element(By.XPATH, "//button[text()='Virtual time']").click()
    player.seek(float(rounds["time_s"][1]))
    assert moment("accuracy") == pytest.approx(rounds["time_s"][1], rel=0.02)


def test_each_run_has_its_own_replay(opened, result):
    browser = opened(result("a", rounds=3), result("b", rounds=3, seed=2))
    one = Player(browser, 0)
    other = Player(browser, 1)
    one.button("input").send_keys(Keys.PAGE_UP)
    assert (one.tick, other.tick) == (100_000, 0)
    assert one.plot.find_elements(By.CSS_SELECTOR, "canvas.stage")
    assert not other.plot.find_elements(By.CSS_SELECTOR, "canvas.stage")
