"""Logs that were made by a law give the law back."""

import numpy as np
import pytest
from calibration_cases import LAW, counts_text, downloads, log_text, networks, step_s, training

from edgefl.calibration.calibration import calibrate
from edgefl.calibration.fitting import relative_fit
from edgefl.calibration.shipped_law import DEVIATION, MISS, near_preset, preset_seconds


@pytest.fixture
def calibrated(tmp_path):
    """Calibrates by rows and counts."""

    def from_rows(rows, counts=None, hold_out=None):
        log = tmp_path / "log.csv"
        log.write_text(log_text(rows))
        table = None
        if counts is not None:
            table = tmp_path / "counts.csv"
            table.write_text(counts_text(counts))
        return calibrate(log, table, hold_out)

    return from_rows


def only(calibration):
    """The fit of the only type of device."""
    (device,) = calibration.fitted.types.values()
    return device


@pytest.mark.parametrize("count", [1, 9])
def test_a_law_with_the_ratios_of_the_preset_comes_back(calibrated, count):
    """One number a board: whatever is asked of another network, the ratios are those of the preset."""
    counts = networks(count)
    law = only(calibrated(training(LAW, counts), counts)).law
    assert law.seconds == pytest.approx(LAW, rel=1e-5)


def test_two_kinds_of_layers_have_the_law_of_the_closed_form():
    """Steps of convolutions alone and of products alone are a and b times as long, in logarithms, as the preset's."""
    kinds = ("convolution_flops_per_s", "matmul_flops_per_s", "group_s")
    a, b = 1.1, 0.5
    measured_s = preset_seconds(kinds[:2]) * np.exp([a, b])
    amounts = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    factors = np.log(near_preset(kinds, amounts, measured_s) / preset_seconds(kinds))
    believed = DEVIATION**2 / (DEVIATION**2 + MISS**2)
    middle = (a + b) / 2  # also of what no step has
    apart = (a - b) / 2 * believed
    assert factors == pytest.approx([middle + apart, middle - apart, middle], abs=1e-6)


def test_steps_of_one_kind_of_layer_have_their_geometric_mean():
    (seconds,) = near_preset(("group_s",), np.ones((2, 1)), np.array([2.0, 8.0]))
    assert seconds == pytest.approx(4)


@pytest.mark.oracle
def test_a_law_with_noise_comes_back_within_its_statistics(calibrated):
    counts = networks(24)
    factors = (1, 1.3, 0.8, 1.2, 1, 1, 1)
    law = {key: seconds * factor for (key, seconds), factor in zip(LAW.items(), factors, strict=True)}
    noise = np.random.default_rng(3).normal(0, 0.02, 1000)
    draws = iter(noise)
    found = calibrated(training(law, counts, rounds="12345", factor=lambda *_: 1 + next(draws)), counts)
    device = only(found)
    told = {key: seconds for key, seconds in device.law.seconds.items() if key != "step_s"}
    assert told == pytest.approx({key: law[key] for key in told}, rel=0.05)
    # 24 networks of 5 rounds have 96 degrees of freedom: the estimate's standard deviation is 7 %.
    assert device.jitter == pytest.approx(0.02, rel=0.2)
    assert found.errors[0].mean == pytest.approx(0.02 * np.sqrt(2 / np.pi), rel=0.3)


@pytest.mark.oracle
def test_few_networks_give_a_law_near_the_shipped_one(calibrated):
    """Five networks of ten boards: 25 others are predicted within 25 % on average; by multiply-accumulates worse."""
    errors = []
    by_speed_alone = []
    for seed in range(10):
        generator = np.random.default_rng(seed)
        scale = 10.0 ** generator.uniform(-1, 1)
        truth = {key: seconds * scale * np.exp(generator.normal(0, 0.3)) for key, seconds in LAW.items()}
        counts = networks(5, seed)
        law = only(calibrated(training(truth, counts), counts)).law
        for other in networks(25, 100 + seed).values():
            measured_s = step_s(truth, other, 16)
            errors.append(abs(law.step_s(other, 16) / measured_s - 1))
            macs = other.forward.convolution_macs + other.forward.matmul_macs + other.forward.grouped_macs
            by_speed_alone.append(abs(96 * macs * law.seconds["convolution_flops_per_s"] / measured_s - 1))
    assert np.mean(errors) < 0.25 < np.mean(by_speed_alone)


def test_numbers_with_small_parts_of_all_steps_are_named(calibrated):
    counts = {
        name: one._replace(forward=one.forward._replace(grouped_macs=0.0, groups=0.0))
        for name, one in networks(4).items()
    }
    found = calibrated(training(LAW, counts), counts)
    assert only(found).law.untold == ["grouped_flops_per_s", "group_s", "step_s"]
    told = "grouped_flops_per_s, group_s, step_s: under 5 % of every step, so near the ratio of raspberry_pi_4"
    assert f"pi: {told}" in found.remarks
    assert found.scenario.count("not told: near the ratio of raspberry_pi_4") == 3


def test_rounding_beside_a_coefficient_of_0_is_0(monkeypatch):
    """On some processors the solver returns 1e-17 where it returns 0 on others."""
    monkeypatch.setattr("scipy.optimize.nnls", lambda _features, _ones: (np.array([0.5, 1e-17]), 0.0))
    assert relative_fit(np.eye(2), np.ones(2)).tolist() == [0.5, 0.0]


def test_one_network_and_two_batch_sizes_tell_a_step_from_its_samples(calibrated):
    counts = networks(1)
    law = {**LAW, "step_s": 3.0}
    rows = training(law, counts, batch_sizes=(4, 32))
    assert only(calibrated(rows, counts)).law.step_s(counts["net0"], 8) == pytest.approx(
        step_s(law, counts["net0"], 8), rel=0.05
    )
    measured = only(calibrated(rows)).measured
    assert measured.line("net0")[0] == pytest.approx(3 + counts["net0"].forward.layers * LAW["layer_s"])
    assert measured.step_s("net0", 8) == pytest.approx(step_s(law, counts["net0"], 8))


def test_smaller_last_batch_counts_with_its_samples(calibrated):
    counts = networks(4)
    rows = training(LAW, counts)
    for row in rows:  # ten steps, the last of them with one sample
        row["samples"] = 9 * 16 + 1
        row["seconds"] = 10 * step_s(LAW, counts[row["network"]], 14.5)
    assert only(calibrated(rows, counts)).law.seconds == pytest.approx(LAW, rel=1e-5)


def test_lower_clocks_take_longer_and_draw_less(calibrated):
    counts = networks(4)
    rows = []
    for clock_hz in (0.6e9, 1.2e9):
        for row in training(LAW, counts, factor=lambda *_, clock_hz=clock_hz: 1.2e9 / clock_hz):
            power_w = 1.5 + 1e-27 * clock_hz**3
            rows.append({**row, "clock_hz": clock_hz, "joules": power_w * row["seconds"]})
    found = calibrated(rows, counts)
    assert max(abs(number.error) for number in found.compared) < 1e-5
    device = only(found)
    assert device.highest_hz == 1.2e9
    assert device.law.seconds == pytest.approx(LAW, rel=1e-5)
    assert device.energy.cpu == pytest.approx((1.5, 1e-27))
    one_clock = only(calibrated(rows[4:], counts))
    assert one_clock.energy.cpu == pytest.approx((1.5 + 1e-27 * 1.2e9**3, 0.0))


@pytest.mark.oracle
def test_units_of_a_type_differ_by_their_speeds(calibrated):
    counts = networks(9)
    speeds = {"pi/a": 0.8, "pi/b": 1.0, "pi/c": 1.25}
    rows = [row for name in speeds for row in training(LAW, counts, name, factor=lambda name, _: 1 / speeds[name])]
    device = only(calibrated(rows, counts))
    assert device.units == 3
    assert device.spread == pytest.approx(np.std(np.log(list(speeds.values())), ddof=1))
    # What `speed` has a median of 1 about is the geometric mean of the units.
    assert device.law.seconds == pytest.approx(LAW, rel=1e-5)
    assert only(calibrated(rows)).measured.step_s("net0", 16) == pytest.approx(step_s(LAW, counts["net0"], 16))
    assert only(calibrated(rows[:9], counts)).spread is None


@pytest.mark.parametrize("with_counts", [True, False])
def test_evaluation_takes_a_third_of_training_in_batches_of_that_size(calibrated, with_counts):
    counts = networks(5)
    rows = training(LAW, counts)
    seconds = 100 / 16 * step_s(LAW, counts["net0"], 16) / 3
    rows.append({"device": "pi", "network": "net0", "phase": "evaluate", "seconds": seconds, "samples": 100})
    found = calibrated(rows, counts if with_counts else None)
    (evaluated,) = [number for number in found.compared if number.row.phase == "evaluate"]
    assert evaluated.error == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("access_s", [0.0, 0.25])
def test_capacity_and_access_of_a_shared_link_come_back(calibrated, access_s):
    rows = downloads(16e6, access_s, {"a": 1e6, "b": 4e6, "c": 9e6}, 3, "12")
    # Devices that upload in one round are alone on the air, unless `clients` says otherwise.
    uploads = {"phase": "upload", "round": "1", "seconds": 1.5, "bytes": 1e6}
    rows += [{"device": f"pi/{unit}", **uploads} for unit in range(3)]
    found = calibrated(rows)
    down = found.fitted.down
    assert (down.capacity_bps, down.access_s) == pytest.approx((16e6, access_s))
    assert down.exchanges == 6
    assert (found.fitted.up.exchanges, found.fitted.up.capacity_bps) == (3, pytest.approx(8e6 / 1.5))
    downloaded = [number for number in found.compared if number.row.phase == "download"]
    assert {number.row.device for number in downloaded} == {"pi/2"}  # the last of each exchange
    assert [number.error for number in downloaded] == pytest.approx([0] * 6)


def test_messages_of_one_size_do_not_tell_the_access_and_stalls_do_not_count(calibrated):
    rows = downloads(16e6, 0.0, {"a": 1e6}, 3, "12345")
    rows[-1]["seconds"] *= 10
    found = calibrated(rows)
    assert found.fitted.down.capacity_bps == pytest.approx(16e6)
    assert "radio: messages of download are of one size: the time before the first bit" in found.remarks


def test_uploads_that_overlap_share_the_link(calibrated):
    rows = [{**row, "phase": "upload"} for row in downloads(16e6, 0.0, {"a": 1e6}, 3, "12")]
    up = calibrated(rows).fitted.up
    assert (up.exchanges, up.capacity_bps) == (2, pytest.approx(16e6))


def test_rows_without_a_round_are_separate_exchanges(calibrated):
    summary = {"phase": "download", "seconds": 2.5, "bytes": 1e6, "clients": 5}
    rows = [{**summary, "device": device} for device in ("pi4", "pi5")]
    down = calibrated(rows).fitted.down
    assert (down.exchanges, down.capacity_bps) == (2, pytest.approx(16e6))


def test_clients_left_empty_are_the_devices_of_the_round(calibrated):
    rows = downloads(16e6, 0.0, {"a": 1e6}, 3, "12")
    for row in rows:
        del row["clients"]
    assert calibrated(rows).fitted.down.capacity_bps == pytest.approx(16e6)


def test_powers_of_radios_follow_their_rates(calibrated):
    def rows(phase, base_w, j_per_mbit, rates):
        return [
            {"device": "phone", "phase": phase, "seconds": 2, "bytes": rate * 2e6 / 8, "joules": power * 2}
            for rate, power in ((rate, base_w + j_per_mbit * rate) for rate in rates)
        ]

    found = calibrated([*rows("download", 2.8, 0.012, (1, 10, 40)), *rows("upload", 2.7, 0.085, (20, 20))])
    energy = only(found).energy
    assert energy.rx == pytest.approx((2.8, 0.012, True))
    assert energy.tx == pytest.approx((2.7 + 0.085 * 20, 0.0, False))


def test_setup_and_waiting(calibrated):
    rows = [
        {"device": "pi", "phase": "setup", "seconds": 6, "joules": 30},
        {"device": "pi", "phase": "setup", "seconds": 8},
        {"device": "pi", "phase": "idle", "seconds": 100, "joules": 300},
        {"device": "pi", "phase": "idle", "seconds": 300, "joules": 500},
    ]
    energy = only(calibrated(rows)).energy
    assert (energy.setup_s, energy.setup_j, energy.idle_w) == (7, 30, 2)


def test_unknowns_of_a_log_are_named_once(calibrated):
    counts = networks(2)
    rows = [*training(LAW, counts, "pi4"), *training(LAW, counts, "pi5")]
    told = calibrated(rows, counts).remarks
    one_batch_size = [text for text in told if "one batch size" in text]
    assert one_batch_size == [
        "pi4, pi5: one batch size (16): the time of a step apart from a time of each sample, such as for loading it"
    ]
    assert not [
        text for text in calibrated(training(LAW, counts, batch_sizes=(8, 16)), counts).remarks if "batch" in text
    ]
