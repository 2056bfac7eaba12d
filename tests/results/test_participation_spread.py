"""The spread of participations over devices: closed forms of Jain's index and of the age of update."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import edgefl
from edgefl.core.arrays import Ints
from edgefl.results.participation import jain_index, participation
from edgefl.results.report.run import cell_map, device_energy, phase_bars, timeline, times_chosen
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import TIME_PHASES


def spread(chosen: list[list[int]], devices: int) -> tuple[Ints, Ints]:
    """Return rounds and devices [n] of participations, given the devices of each round."""
    rounds = np.repeat(np.arange(len(chosen)) + 1, [len(ids) for ids in chosen])
    return rounds, np.array([device for ids in chosen for device in ids], dtype=np.int64)


def of(chosen: list[list[int]], devices: int):  # type: ignore[no-untyped-def]
    """Return the participation of rounds in which all updates arrived."""
    rounds, ids = spread(chosen, devices)
    return participation(rounds, ids, np.full(len(ids), "received"), devices, len(chosen))


def test_jain_index_has_its_limits() -> None:
    assert jain_index([3, 3, 3, 3]) == 1.0
    assert jain_index([5, 0, 0, 0]) == 0.25
    # k of n with equal amounts: k / n
    assert jain_index([2, 2, 0, 0, 0]) == pytest.approx(0.4)
    assert np.isnan(jain_index([0, 0]))


def test_ages_agree_with_counting() -> None:
    generator = np.random.default_rng(3)
    chosen = [np.flatnonzero(generator.random(7) < 0.3).tolist() for _ in range(40)]
    age = np.zeros(7)
    total = np.zeros(7)
    for ids in chosen:
        age += 1
        age[ids] = 0
        total += age
    found = of(chosen, 7)
    np.testing.assert_allclose(found.ages, total / 40)
    np.testing.assert_array_equal(found.times, np.bincount(spread(chosen, 7)[1], minlength=7))


def test_round_robin_has_the_closed_form() -> None:
    # 12 devices, 3 a round: ages 0, 1, 2, 3 in turn once all have been chosen, 1.5 on average.
    chosen = [[(3 * number + k) % 12 for k in range(3)] for number in range(400)]
    found = of(chosen, 12)
    assert found.jain_index == 1.0
    assert found.mean_age == pytest.approx(1.5, abs=0.01)


def test_uniform_choice_has_geometric_ages() -> None:
    # Chosen with probability p a round, ages have mean (1 - p) / p = 4; over 20,000 device-rounds its standard error is
    # about sqrt((1 - p) / p^2 * (2 - p) / p / 20000) = 0.095.
    generator = np.random.default_rng(5)
    chosen = [generator.choice(50, 10, replace=False).tolist() for _ in range(400)]
    assert of(chosen, 50).mean_age == pytest.approx(4.0, abs=0.4)


def test_lost_updates_and_polls_do_not_count() -> None:
    rounds = np.array([1, 2, 2])
    device = np.array([0, 0, 1])
    status = np.array(["received", "late", "polled"])
    found = participation(rounds, device, status, 2, 3)
    np.testing.assert_array_equal(found.times, [2, 0])
    np.testing.assert_allclose(found.ages, [(0 + 1 + 2) / 3, (1 + 2 + 3) / 3])


@pytest.mark.process
@pytest.mark.usefixtures("forked_sweeps")
def test_summary_index_and_page_say_the_same(tmp_path: Path) -> None:
    world = {"rounds": 8, "devices": {"count": 9}, "server": {"participants": 3}}
    result = edgefl.run({**world, "name": "spread"}, out=tmp_path / "run", train=False)
    devices = result.devices
    times = np.bincount(devices["device"], minlength=9)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["jain_index"] == pytest.approx(jain_index(times))
    (tmp_path / "world.yaml").write_text(json.dumps(world))
    sweep = {"base": "world.yaml", "grid": {"server.selection": ["uniform", "round_robin"]}, "train": False}
    (tmp_path / "sweep.yaml").write_text(json.dumps(sweep))
    index = edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "sweep", workers=1)
    assert index["jain_index"].iloc[0] == pytest.approx(jain_index(times))
    assert index["jain_index"].iloc[1] > index["jain_index"].iloc[0]
    edgefl.report([tmp_path / "sweep"])
    page = (tmp_path / "sweep" / "report.html").read_text()
    assert "Jain" in page
    edgefl.report([tmp_path / "run"], out=tmp_path / "page.html")
    assert "How often devices took part" in (tmp_path / "page.html").read_text()


def test_many_times_share_bars() -> None:
    chart = times_chosen.figure(np.arange(500))
    bars = chart["data"][0]
    assert sum(bars["y"]) == 500
    assert len(bars["y"]) <= times_chosen.MOST_BARS


@pytest.mark.oracle
def test_reports_on_channels_do_not_count_on_the_page(tmp_path: Path) -> None:
    world = {"rounds": 4, "devices": {"count": 8}, "server": {"participants": 2, "selection": "uniform"}}
    runs = {}
    for csi in ("none", "perfect"):
        scenario = {**world, "name": csi, "server": {**world["server"], "csi": csi}}  # type: ignore[dict-item]
        edgefl.run(scenario, out=tmp_path / csi, train=False)
        runs[csi] = load(tmp_path / csi)
    plain = runs["none"]
    asked = runs["perfect"]
    # Uniform draws choose the same devices whatever the server knows; all eight report in each of four rounds.
    assert len(asked.devices["row"]) == len(plain.devices["row"]) + 4 * 8
    np.testing.assert_array_equal(asked.participations["device"], plain.participations["device"])
    assert cell_map.caption(asked) == cell_map.caption(plain)
    assert len(timeline.chosen(asked)) == len(timeline.chosen(plain))
    assert (asked.devices["status"][timeline.chosen(asked)] == "received").all()
    means_s = [phase_bars.per_round(run, TIME_PHASES)[1] for run in (asked, plain)]
    np.testing.assert_allclose(means_s[0], means_s[1], rtol=1e-9)
    assert device_energy.caption(asked).split(";")[0] == device_energy.caption(plain).split(";")[0]
