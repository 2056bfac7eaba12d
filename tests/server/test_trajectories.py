"""The paths of devices: rows against made-up worlds and real ones."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import edgefl
from edgefl.server.trajectories import INSTANTS, MOST_TRACKED, trajectories

WALK = {
    "rounds": 3,
    "data": {"dataset": "digits"},
    "devices": {"count": 40},
    "server": {"participants": 5},
    "mobility": {"kind": "constant_velocity", "speed_mps": 12},
}


def world(count, there=lambda ids, _: np.ones(len(ids), dtype=bool)):
    """Device i walks along y = i at i metres a second."""
    return SimpleNamespace(
        count=count,
        positions_m=lambda ids, time_s: np.stack([ids * time_s, ids.astype(float)], axis=-1),
        on_map=there,
    )


def table(*args):
    return pd.DataFrame(trajectories(*args))


def test_trajectories_have_the_positions_of_the_world():
    found = table(world(7), np.array([2, 5]), 40.0)
    assert sorted(found["device"].unique()) == list(range(7))
    assert len(found) == 7 * INSTANTS
    assert found["x_m"].to_numpy() == pytest.approx((found["device"] * found["time_s"]).to_numpy())
    assert (found["y_m"] == found["device"]).all()
    assert (found["time_s"].min(), found["time_s"].max()) == (0.0, 40.0)


@pytest.mark.parametrize("part", [0, 1, 12, 30, 31, 400])
def test_participants_come_first_and_ids_are_spread(part):
    took_part = np.arange(part) * 2 + 100
    ids = table(world(1000), took_part, 1.0)["device"].unique()
    assert len(ids) == MOST_TRACKED
    among = np.isin(ids, took_part)
    assert among.sum() == min(part, MOST_TRACKED)
    if part > 1:
        assert {100, took_part[-1]} <= set(ids[among])
    rest = ids[~among]
    assert len(rest) < 3 or rest.max() - rest.min() > 500


def test_devices_off_the_map_have_no_rows():
    found = table(world(3, lambda ids, time_s: time_s >= 10 * ids), np.array([0]), 100.0)
    assert found.groupby("device")["time_s"].min().to_numpy() == pytest.approx([0, 10, 20], abs=100 / INSTANTS)


@pytest.mark.oracle
def test_runs_with_movement_write_trajectories(tmp_path):
    edgefl.run(WALK, train=False, out=tmp_path / "walk")
    edgefl.run({**WALK, "mobility": "static"}, train=False, out=tmp_path / "still")
    assert not (tmp_path / "still" / "tracks.csv").exists()
    found = pd.read_csv(tmp_path / "walk" / "tracks.csv")
    rounds = pd.read_csv(tmp_path / "walk" / "rounds.csv")
    devices = pd.read_csv(tmp_path / "walk" / "devices.csv")
    assert found["time_s"].max() == pytest.approx(rounds["time_s"].iloc[-1])
    assert set(devices["device"]) <= set(found["device"])
    first = devices[devices["round"] == 1].set_index("device")
    begin = found[found["time_s"] == 0].set_index("device").loc[first.index]
    assert begin["x_m"].to_numpy() == pytest.approx(first["x_m"].to_numpy())
