"""The first run that a newcomer sees: its comments say what happens, and what happens is worth a look."""

import math

import pytest

import edgefl


@pytest.fixture(scope="module")
def priced():
    return edgefl.run("quickstart", overrides=["rounds=12"], train=False)


def test_price_of_the_fedavg_papers_cnn():
    # McMahan et al. (2017): padded 5x5 convolutions of 32 and 64, each with 2x2 pooling, dense 512, 10 classes.
    parameters = (25 * 32 + 32) + (25 * 32 * 64 + 64) + (7 * 7 * 64 * 512 + 512) + (512 * 10 + 10)
    multiplications = 28 * 28 * 25 * 32 + 14 * 14 * 25 * 32 * 64 + 7 * 7 * 64 * 512 + 512 * 10
    cost = edgefl.load("quickstart").model.cost
    assert cost.parameters == parameters == 1_663_370
    assert cost.flops_per_parameter * parameters == pytest.approx(6 * multiplications, rel=1e-3)


def test_rounds_take_seconds_and_joules(priced):
    assert priced.devices.bytes_up.unique().tolist() == [4 * 1_663_370]
    assert priced.rounds.duration_s.min() > 2
    assert priced.rounds.duration_s.median() < 120
    assert priced.rounds.round_energy_j.min() > 10


def test_clocks_and_radios_draw_what_the_preset_says(priced):
    rows = priced.devices
    # Each trains 14 or 15 samples for 5 epochs, with 3.7 to 22.5 operations in a cycle at 1.71 GHz.
    assert rows.device.nunique() > 50
    operations = 44.3 * 1_663_370 * 5
    assert rows.compute_s.min() > 14 * operations / 22.5 / 1.71e9
    assert rows.compute_s.max() < 15 * operations / 3.7 / 1.71e9
    assert (rows.cpu_energy_j / rows.compute_s).to_numpy() == pytest.approx(0.5 + 2.9e-28 * 1.71e9**3)
    uplink = (14 + 2) / (5 * 14)  # of the time, in the frame DDDSU with two symbols of the slot S
    sending_w = rows.tx_energy_j / (rows.upload_s * uplink)
    assert 0.99 * 2.29 < sending_w.min() < sending_w.max() < 1.01 * (2.29 + 0.2 / 0.117)


def test_numbers_are_within_measured_ranges(priced):
    """Bits a second and hertz, watts of radios, operations a joule, beside published ranges."""
    quantities = priced.plausibility()
    assert len(quantities) >= 6
    assert [each.published.name for each in quantities if not each.within] == []


def test_devices_move(priced):
    longest_m = 0.0
    for _, visits in priced.devices.groupby("device"):
        moved_m = math.hypot(visits.x_m.max() - visits.x_m.min(), visits.y_m.max() - visits.y_m.min())
        longest_m = max(longest_m, moved_m)
    assert longest_m > 50


@pytest.mark.oracle
def test_bandwidth_buys_time_and_energy(priced):
    wide = edgefl.run("quickstart", overrides=["rounds=12", "radio.bandwidth_hz=100e6"], train=False)
    assert wide.summary["time_s"] < 0.8 * priced.summary["time_s"]
    assert wide.summary["energy_j"] < 0.6 * priced.summary["energy_j"]
