"""Carbon of devices and base stations, summed by hand."""

import numpy as np
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.world.carbon import J_A_KWH, CarbonIntensity

GRID = "time_s,g_kwh,g_kwh_north\n0,500,40\n1.5,100,20\n4,0,10\n"
ENERGIES = ("rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j")
LASTS = ("download_s", "compute_s", "upload_s", "wait_s")


def world(**sections):
    return {
        "rounds": 4,
        "devices": {"count": 12, "idle_power_w": 0.3},
        "server": {"participants": 5},
        "model": {"cost": {"parameters": 667178, "flops_per_parameter": 91.04}},
        "radio": {"bandwidth_hz": 20e6},
        **sections,
    }


@pytest.fixture
def grid(tmp_path):
    (tmp_path / "grid.csv").write_text(GRID)
    return str(tmp_path / "grid.csv")


def by_hand(row, values):
    """Return the grams of a row of devices.csv: the energy by the mean over many moments of the participation."""
    moments_s = row["start_s"] + sum(row[name] for name in LASTS) * (np.arange(200_000) + 0.5) / 200_000
    g_kwh = np.where(moments_s < 1.5, values[0], np.where(moments_s < 4, values[1], values[2]))
    return sum(row[name] for name in ENERGIES) / J_A_KWH * g_kwh.mean()


def test_grams_of_each_group_are_joules_by_its_own_course(grid):
    groups = [
        {"name": "south", "count": 8},
        {"name": "north", "count": 4, "carbon_g_kwh": {"file": grid, "column": "g_kwh_north"}},
    ]
    devices = {"count": 12, "idle_power_w": 0.3, "carbon_g_kwh": {"file": grid}, "groups": groups}
    result = edgefl.run(world(devices=devices), train=False)
    assert result.summary["time_s"] > 2.0
    assert set(result.devices["device"] >= 8) == {False, True}
    for _, row in result.devices.iterrows():
        values = (40, 20, 10) if row["device"] >= 8 else (500, 100, 0)
        assert row["carbon_g"] == pytest.approx(by_hand(row, values), rel=1e-4)
    by_round = result.devices.groupby("round")["carbon_g"].sum()
    np.testing.assert_allclose(result.rounds["carbon_g"], by_round, rtol=1e-9)
    assert result.summary["carbon_g"] == pytest.approx(by_round.sum(), rel=1e-9)


def test_a_constant_intensity_is_proportional_to_energy():
    result = edgefl.run(world(devices={"count": 12, "carbon_g_kwh": 360}), train=False)
    assert result.summary["carbon_g"] == pytest.approx(result.summary["energy_j"] * 1e-4, rel=1e-9)


def test_base_stations_have_the_intensity_of_their_round(grid):
    cells = {"energy": {"static_w": 100, "slope": 4, "carbon_g_kwh": {"file": grid}}}
    rounds = edgefl.run(world(cells=cells), train=False).rounds
    since_s = np.r_[0.0, rounds["time_s"][:-1]]
    edges_s = np.array([0.0, 1.5, 4.0, np.inf])
    for row, begin_s in zip(rounds.to_dict("records"), since_s, strict=True):
        parts_s = np.clip(edges_s[1:], begin_s, row["time_s"]) - np.clip(edges_s[:-1], begin_s, row["time_s"])
        mean = parts_s @ [500, 100, 0] / row["duration_s"]
        drawn_j = row["bs_static_energy_j"] + row["bs_load_energy_j"]
        assert row["bs_carbon_g"] == pytest.approx(drawn_j / J_A_KWH * mean, rel=1e-6)
    assert "carbon_g" not in rounds


def test_a_series_holds_before_its_first_row_and_after_its_last(grid):
    series = CarbonIntensity(file=grid, time_offset_s=10.0)
    one_kwh = np.full(4, J_A_KWH)
    since_s = np.array([0.0, 11.5, 0.0, 100.0])
    until_s = np.array([10.0, 11.5, 20.0, 100.0])
    mean = (10 * 500 + 1.5 * 500 + 2.5 * 100) / 20
    np.testing.assert_allclose(series.grams(one_kwh, since_s, until_s), [500, 100, mean, 0], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time_s,g_kwh\n0,500\n1,-3\n", r"devices.carbon_g_kwh: .*grid.csv:3: g_kwh: must be from 0 to 100000"),
        ("time_s,g_kwh\n0,500\n0,3\n", r"grid.csv:3: time_s: must be later than the row above, got 0"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, said):
    (tmp_path / "grid.csv").write_text(text)
    devices = {"count": 12, "carbon_g_kwh": {"file": str(tmp_path / "grid.csv")}}
    with pytest.raises(InputError, match=said):
        edgefl.run(world(devices=devices), train=False)


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ({"carbon_g_kwh": -1}, r"devices.carbon_g_kwh"),
        ({"carbon_g_kwh": {}}, r"must be given without g_kwh, or write a number"),
        (
            {"groups": [{"name": "a", "share": 0.5, "carbon_g_kwh": 5}, {"name": "b", "share": 0.5}]},
            r"devices.groups.*has no carbon_g_kwh, as other groups have",
        ),
    ],
)
def test_wrong_intensities_are_refused(devices, said):
    with pytest.raises(InputError, match=said):
        edgefl.run(world(devices={"count": 12, **devices}), train=False)
