"""Scenarios that `edgefl validate` accepts run to their end, and their results are consistent.

Books balance, prices are the same without learning, and a run that was killed gives the same bytes when it is resumed.
Each scenario combines keys at random, which finds untested pairs.
"""

import numpy as np
import pytest
from kills import Killed, kill_at
from random_scenarios import drawn
from server_cases import ENERGY, TIMES

import edgefl

FEW = range(8)
PAGES = range(8, 58)
MANY = range(100, 400)
PRICES = [*TIMES, *ENERGY, "device", "status", "bytes_up", "bytes_down"]
FILES = ["rounds.csv", "devices.csv", "events.parquet"]
HOPELESS = "no device can"  # how a run says that no transfer would ever end


def _check(seed, folder):
    """Run a scenario in four ways, and compare them."""
    scenario = drawn(seed)
    result = edgefl.run(scenario, out=folder / "whole", device="cpu")
    if result.status == "failed" and HOPELESS in result.error:
        pytest.skip(result.error)
    assert result.status == "finished", (scenario, result.error)
    _check_books(result, scenario)
    _check_prices(result, scenario)
    with pytest.raises(Killed):
        edgefl.run(scenario, out=folder / "resumed", device="cpu", progress=kill_at(2))
    edgefl.run(scenario, out=folder / "resumed", device="cpu", resume=True)
    for name in FILES:
        assert (folder / "resumed" / name).read_bytes() == (folder / "whole" / name).read_bytes(), (scenario, name)


def _check_books(result, scenario):
    """Compare the participants' rows with the sums of rounds and of the run."""
    devices = result.devices
    rounds = result.rounds.set_index(["session", "round"])
    assert (devices[[*TIMES, *ENERGY]].to_numpy(float) >= 0).all(), scenario
    assert result.summary["energy_j"] == pytest.approx(devices[ENERGY].to_numpy().sum()), scenario
    by_round = devices.groupby(["session", "round"])
    energy_j = by_round[ENERGY].sum().sum(axis=1).reindex(rounds.index, fill_value=0.0)
    assert rounds["round_energy_j"].to_numpy() == pytest.approx(energy_j.to_numpy()), scenario
    for direction in ("bytes_up", "bytes_down"):
        sent = by_round[direction].sum().reindex(rounds.index, fill_value=0)
        assert rounds[direction].tolist() == sent.tolist(), scenario
    assert (np.diff(rounds["time_s"]) >= 0).all(), scenario


def _check_prices(result, scenario):
    """Compare a run with learning with the same one without, unless losses choose the participants."""
    if edgefl.load(scenario).server.selection.needs_losses:
        return
    priced = edgefl.run(scenario, train=False, device="cpu")
    assert priced.devices[PRICES].equals(result.devices[PRICES]), scenario
    assert priced.rounds["time_s"].equals(result.rounds["time_s"]), scenario


@pytest.mark.oracle
@pytest.mark.parametrize("seed", FEW)
def test_a_random_scenario_keeps_its_books_prices_and_bytes(seed, tmp_path):
    _check(seed, tmp_path)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", PAGES)
def test_a_random_scenario_has_a_page(seed, tmp_path):
    """Without learning, as the page of prices has fewer cards, and other empty ones."""
    scenario = drawn(seed)
    train = edgefl.load(scenario).server.selection.needs_losses
    result = edgefl.run(scenario, out=tmp_path, device="cpu", train=train)
    assert result.status in {"finished", "failed"}, result.error
    assert result.status == "finished" or HOPELESS in result.error or "no device is served" in result.error
    assert edgefl.report(tmp_path, out=tmp_path / "page.html").stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_many_random_scenarios_keep_their_books_prices_and_bytes(seed, tmp_path):
    _check(seed, tmp_path)
