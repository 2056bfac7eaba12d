"""The devices' transmit power: one function of the world, which gives rate and energy of an upload."""

import numpy as np
import pytest
from radio_cases import DEVICE_W, SLOT_S, STILL

import edgefl
from edgefl.world.world import World

LOWER = 0.25  # of the power
CAPACITY_J = 1e4


def run(**changes):
    scenario = {
        "rounds": 1,
        "model": {"kind": "logistic", "cost": {"parameters": 100_000, "flops_per_parameter": 1.0}},
        "devices": {"count": 4, "rx_power_w": 0.3},
        "radio": {"bandwidth_hz": 1e6, **STILL},
        **changes,
    }
    return edgefl.run(scenario, train=False).devices


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"radio": {"bandwidth_hz": 1e6, "sharing": "processor", **STILL}},
        {"devices": {"count": 4, "rx_power_w": 0.3, "battery": {"capacity_j": CAPACITY_J}}},
    ],
    ids=["fixed", "processor", "batteries"],
)
def test_a_power_control_changes_rate_and_energy_together(monkeypatch, changes):
    """Uploads get slower, downloads do not; an upload draws the new power for the new time."""
    full = run(**changes)
    monkeypatch.setattr(World, "tx_power_w", lambda _world, ids: np.full(len(ids), LOWER * DEVICE_W))
    lower = run(**changes)
    for devices, power_w in ((full, DEVICE_W), (lower, LOWER * DEVICE_W)):
        air_s = devices["upload_s"].to_numpy()  # without a frame the radio is on for all of an upload
        begins_s = SLOT_S  # but before the slot boundary at which a shared one begins
        assert devices["tx_energy_j"].to_numpy() == pytest.approx(power_w * air_s, abs=power_w * begins_s)
    assert (lower["upload_s"] > full["upload_s"]).all()
    assert lower["download_s"].equals(full["download_s"])
    if "battery_j" in full:
        spent_j = [CAPACITY_J - devices["battery_j"] for devices in (full, lower)]
        energy_j = [devices.filter(like="energy_j").sum(axis=1) for devices in (full, lower)]
        assert spent_j[0].to_numpy() == pytest.approx(energy_j[0].to_numpy(), rel=1e-6)
        assert spent_j[1].to_numpy() == pytest.approx(energy_j[1].to_numpy(), rel=1e-6)
