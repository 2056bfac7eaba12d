"""The page of predicted against measured numbers says what the recorded rows say."""

import math
import re
import subprocess
import sys
from pathlib import Path

import compute_law
import held_out
import pytest
from site_pages import validation

from edgefl.reproductions.library import Library
from edgefl.scenario import presets
from edgefl.world.compute_section import SPEEDS
from edgefl.world.error_draws import COVERAGE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs" / "images" / "validation.svg"
LIBRARY = Library()
REACHES = {  # mean error, largest error; of what the page promises
    ("e2fl-wifi", "last_download_s"): (0.06, 0.12),
    ("e2fl-wifi", "fit_phase_s"): (0.04, 0.12),
    ("e2fl-wifi-unequal", "mean_download_s"): (0.06, 0.12),
    ("e2fl-wifi-unequal", "last_download_s"): (0.06, 0.12),
    ("fedconiot", "round_s"): (0.08, 0.08),
    ("pi-compute", "pi4b"): (0.10, 0.25),
    ("pi-compute", "pi5"): (0.10, 0.25),
    ("phone-energy", "step_s"): (0.12, 0.12),
    ("e2fl-energy", "start_w"): (0.03, 0.03),
    ("e2fl-energy", "train_w"): (0.03, 0.03),
    ("e2fl-energy", "evaluate_w"): (0.03, 0.03),
}


@pytest.mark.oracle
def test_the_page_has_the_table_that_the_command_prints():
    assert validation.table(LIBRARY).strip() in PAGE


@pytest.mark.process
@pytest.mark.parametrize("benchmark", ["compute_law.py", "held_out.py"])
def test_the_page_has_what_a_benchmark_prints(benchmark):
    command = [sys.executable, str(ROOT / "benchmarks" / benchmark)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.rstrip() in PAGE


def test_presets_have_the_errors_on_numbers_left_out_of_their_fits():
    """A single number tells no spread, so that it gives no error bar."""
    told = {}
    for preset, quantity, kind, errors, numbers, _ in held_out.errors_of_presets():
        if preset.isidentifier() and numbers > 1:
            told.setdefault(preset, {})[quantity, kind] = (held_out.sigma_of(errors), numbers)
    written = {}
    for preset in presets.names("devices"):
        keys = presets.read("devices", preset).get("held_out", {})
        laws = {("compute", kind): error for kind, error in keys.get("compute", {}).items()}
        laws[("power", "")] = keys.get("power")
        known = {law: (error["sigma"], error["numbers"]) for law, error in laws.items() if error}
        if known:
            written[preset] = known
    assert written.keys() == told.keys()
    for preset, laws in written.items():
        assert laws == {law: pytest.approx(error, abs=0.0006) for law, error in told[preset].items()}


def test_as_many_held_out_numbers_lie_in_their_interval_as_it_says():
    found = held_out.inside()
    deviation = (COVERAGE * (1 - COVERAGE) / len(found)) ** 0.5
    assert sum(found) / len(found) == pytest.approx(COVERAGE, abs=2 * deviation)


@pytest.mark.parametrize(("preset", "board"), [(3, "pi3b-b"), (4, "pi4b"), (5, "pi5")])
def test_presets_have_the_numbers_that_the_benchmark_fits(preset, board):
    written = presets.read("devices", f"raspberry_pi_{preset}")["compute"]
    law = compute_law.fitted()
    *speeds, group_s, layer_s = law
    fitted = dict(zip(SPEEDS, (1 / seconds for seconds in speeds), strict=True))
    share = compute_law.share_of_groups(compute_law.passes_without_gradients())
    fitted |= {"group_s": group_s, "group_forward_s": share * group_s, "layer_s": layer_s}
    assert {key: written[key] for key in fitted} == pytest.approx(fitted, rel=0.005)
    slower = compute_law.scale(board, law, compute_law.small_images()[board])
    assert math.exp(-written["speed"]["lognormal"][0]) == pytest.approx(slower, rel=0.005)


@pytest.mark.parametrize(("recipe", "quantity"), REACHES)
def test_errors_stay_within_the_promised_reach(recipe, quantity):
    mean, largest = REACHES[recipe, quantity]
    cells = validation.by_quantity(validation.compared(LIBRARY, recipe))[quantity]
    assert validation.mean_error(cells) <= mean
    assert max(abs(cell.relative) for cell in cells) <= largest


@pytest.mark.parametrize("testbed", [testbed for testbed in validation.TESTBEDS if testbed.counter_example])
def test_a_counter_example_predicts_the_same_numbers_and_says_that_it_is_one(testbed):
    ours = validation.by_quantity(validation.compared(LIBRARY, testbed.recipe))
    other = validation.compared(LIBRARY, testbed.counter_example)
    assert other.gap.startswith("a counter-example:")
    for quantity, cells in validation.by_quantity(other).items():
        assert [cell.published for cell in cells] == [cell.published for cell in ours[quantity]]
    worst = max(validation.mean_error(cells) for cells in validation.by_quantity(other).values())
    assert worst > 1.5 * max(validation.mean_error(cells) for cells in ours.values())


def marks_of(svg):
    """The places of all marks of a picture, in the order in which they are drawn."""
    mark = r'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="fill[^;]*; stroke: #0072b2'  # held out (filled) or fitted
    return [(float(x), float(y)) for x, y in re.findall(mark, svg)]


@pytest.mark.oracle
def test_the_picture_is_the_one_that_the_command_draws(tmp_path):
    pytest.importorskip("matplotlib", minversion="3.11")  # earlier versions leave other margins
    validation.draw(LIBRARY, tmp_path / "validation.svg")
    drawn = marks_of((tmp_path / "validation.svg").read_text(encoding="utf-8"))
    kept = marks_of(PICTURE.read_text(encoding="utf-8"))
    assert len(drawn) == len(kept) >= 100
    for one, other in zip(drawn, kept, strict=True):
        assert one == pytest.approx(other, abs=0.5)
