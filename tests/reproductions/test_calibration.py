"""3GPP's calibration: recorded percentiles within the companies' range, and the picture drawn from them."""

import re
from pathlib import Path

import numpy as np
import pytest
from site_pages import calibration_picture as calibration
from site_pages.reproduction_pages import recorded

import edgefl
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan
from edgefl.reproductions.published import read_table
from edgefl.reproductions.readings.base import numbers_of
from edgefl.reproductions.scenarios import scenario_of
from edgefl.reproductions.study_folder import recorded_rows

LIBRARY = Library()
ENTRY = LIBRARY.load("third-party/3gpp-calibration")
PLANS = {scale: plan(LIBRARY, ENTRY, scale) for scale in ENTRY.recipe.scale_names}
MEASURED = {
    scale: {row.point["scenario"]: row.measures for row in recorded_rows(LIBRARY, planned).values()}
    for scale, planned in PLANS.items()
}
COMPANIES = read_table(LIBRARY.published(calibration.COMPANIES)).rows
MEDIANS = {row["scenario"]: row for row in read_table(LIBRARY.published("3gpp-calibration.csv")).rows}
PERCENTILES = (5, 25, 50, 75, 95)
# The standard deviations of a percentile over eight seeds, by scale; those of 100,000 devices are a third.
SCATTER_DB = {"full": {}, "small": {"coupling_loss": 0.33, "geometry": 0.26, "sir": 0.11}}
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "calibration.svg"


def of_companies(scenario, quantity, percentile):
    found = [row for row in COMPANIES if (row["scenario"], row["quantity"]) == (scenario, quantity)]
    assert len(found) == 20  # 21 companies without the one whose coupling loss is another quantity
    return np.array([float(row[f"p{percentile}"]) for row in found])


@pytest.mark.parametrize("scale", ["full", "small"])
@pytest.mark.parametrize("scenario", ["UMi-6", "UMi-30", "UMi-70", "UMa-6", "UMa-30", "UMa-70"])
@pytest.mark.parametrize("quantity", calibration.QUANTITIES)
def test_every_percentile_is_within_the_companies_range(scale, scenario, quantity):
    """At small scale up to its scatter; with 100,000 devices it is also within 1 dB of the companies' median."""
    scatter_db = 3 * SCATTER_DB[scale].get(quantity, 0.0)
    for percentile in PERCENTILES:
        companies = of_companies(scenario, quantity, percentile)
        median = np.median(companies)
        measured = float(MEASURED[scale][scenario][f"{quantity}_{percentile}"])
        assert companies.min() - scatter_db <= measured <= companies.max() + scatter_db
        assert float(MEDIANS[scenario][f"{quantity}_{percentile}"]) == pytest.approx(median, abs=0.06)
        if scale == "full":
            assert measured == pytest.approx(median, abs=1.0)


def test_coupling_losses_of_all_companies_are_losses():
    """One company's row held another quantity: it must not come back."""
    assert all(float(row["p99"]) < -40 for row in COMPANIES if row["quantity"] == "coupling_loss")


@pytest.mark.oracle
def test_recorded_percentiles_are_those_of_a_run_today(tmp_path):
    run = next(one for one in PLANS["small"].runs if one.point["scenario"] == "UMa-30")
    edgefl.run(scenario_of(PLANS["small"], run), out=tmp_path / "run", train=False)
    finished = FinishedRun(tmp_path / "run")
    for name, reading in ENTRY.recipe.measures.items():
        text = MEASURED["small"]["UMa-30"][name]
        assert numbers_of(str(reading.read(finished)[""])) == pytest.approx(numbers_of(text), rel=1e-6, abs=1e-6)


@pytest.mark.oracle
def test_the_picture_is_the_one_that_the_command_draws(tmp_path):
    """Its curves, drawn again from the recorded rows, are those of the file in docs."""
    pytest.importorskip("matplotlib", minversion="3.11")  # earlier versions leave other margins
    calibration.draw(recorded(LIBRARY, ENTRY), tmp_path / "calibration.svg")
    drawn = lines_of((tmp_path / "calibration.svg").read_text(encoding="utf-8"))
    kept = lines_of(PICTURE.read_text(encoding="utf-8"))
    assert len(drawn) == len(kept) >= 360 + 18
    for one, other in zip(drawn, kept, strict=True):
        assert one == pytest.approx(other, abs=0.5)


def lines_of(svg):
    """The points of all lines of a picture with many of them, in the order in which they are drawn."""
    paths = [re.findall(r"-?\d+\.?\d*", path) for path in re.findall(r'<path d="([^"]*)"', svg)]
    return [[float(number) for number in numbers] for numbers in paths if len(numbers) >= 2 * len(calibration.DRAWN)]
