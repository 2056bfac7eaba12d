"""Energy of participations whose update was not used."""

import numpy as np
import pytest
from report_folders import with_rounds
from result_folders import rewrite

from edgefl.results.report.page import render
from edgefl.results.report.run import narrative, wasted_energy
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import ENERGY_PHASES


def test_empty_battery_is_not_a_departure(result):
    """Without churn an empty battery is the only reason to leave; with churn the level must be at the reserve."""
    ends = {"3": 50.0, "4": 20.0}  # J of 100; the reserve is a fifth
    devices = {"count": 100, "battery": {"capacity_j": 100.0, "reserve": 0.2, "resume": 0.5}}

    def low(folder, **more):
        columns = {"battery": lambda _: 0.5, "depleted": lambda n: n // 4, "departed": lambda n: 10 * (n in {3, 4})}
        return rewrite(with_rounds(folder, **columns, **more), "devices.csv", lambda row: {
            "status": "departed" if row["round"] in ends else "received",
            "battery_j": ends.get(row["round"], 90.0), "battery_capacity_j": 100.0})  # fmt: skip

    stay = load(low(result("stay", rounds=6, devices=devices)))
    assert set(wasted_energy.energy_by_outcome(stay)) == {"battery_empty"}
    assert "not used: 20 battery empty" in " ".join(narrative.sentences(stay))
    page = render([stay])
    assert '<th scope="row">battery empty</th><td>20</td>' in page
    assert '<th scope="row">departed</th><td>0</td>' in page
    leave = load(low(result("leave", rounds=6, devices=devices, churn={"kind": "poisson"})))
    lost = wasted_energy.energy_by_outcome(leave)
    assert [np.flatnonzero(lost[end]).tolist() for end in ("departed", "battery_empty")] == [[2], [3]]
    # Movement leads out of cells, and traces have gaps, without churn, too.
    beyond = load(low(result("beyond", rounds=6, devices=devices), departures=lambda n: 10 * (n in {3, 4})))
    assert set(wasted_energy.energy_by_outcome(beyond)) == {"departed", "battery_empty"}
    mains = rewrite(result("mains", rounds=6), "devices.csv", lambda _: {"status": "departed"})
    assert set(wasted_energy.energy_by_outcome(load(mains))) == {"departed"}


def test_wasted_energy_is_split_by_outcome(result):
    ends = {"3": "late", "4": "departed", "5": "upload_failed"}
    folder = rewrite(result(rounds=8), "devices.csv", lambda row: {"status": ends.get(row["round"], "received")})
    run = load(folder)
    spent = sum(run.devices[phase.column] for phase in ENERGY_PHASES)
    lost = wasted_energy.energy_by_outcome(run)
    assert set(lost) == set(ends.values())
    for number, end in ends.items():
        assert np.flatnonzero(lost[end]).tolist() == [int(number) - 1]
        assert lost[end].sum() == pytest.approx(spent[run.devices["round"] == int(number)].sum())
    slices, sums = wasted_energy.shares_by_outcome(run)
    assert sums.sum() == pytest.approx(spent.sum())
    assert slices[0].name == "used"
    drawn = sum(sum(trace["y"]) for trace in wasted_energy.figure(run)["data"])
    assert drawn == pytest.approx(sums[1:].sum(), rel=1e-2)


def test_run_without_wasted_energy_has_no_figure(result):
    assert wasted_energy.figure(load(result())) is None
