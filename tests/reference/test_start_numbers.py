"""The numbers on docs/start/first-run.md are those that its commands print."""

import re
from pathlib import Path

import pytest

import edgefl

PAGE = Path(__file__).parents[2] / "docs" / "start" / "first-run.md"


def time_and_energy(*overrides):
    totals = edgefl.run("quickstart", overrides=list(overrides), train=False).summary
    return f"{totals['time_s'] / 60:.1f} minutes", f"{totals['energy_j'] / 1000:.2f} kJ"


@pytest.mark.slow
def test_the_first_run_and_that_on_a_quarter_of_the_band_cost_what_the_page_says():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    whole = time_and_energy()
    quarter = time_and_energy("radio.bandwidth_hz=5e6")
    assert f"the run takes {quarter[0]} and {quarter[1]} instead of {whole[0]} and {whole[1]}" in text
    assert re.findall(r"the 60 rounds take ([\d.]+ minutes)", text) == [whole[0]]
