"""Updates over the air: their times, powers and fates have closed forms, and their error enters the model."""

import numpy as np
import pytest
from radio_cases import DEVICE_W, NOISE_W_HZ, STILL
from scipy.stats import binom
from server_cases import interrupted

import channel
import edgefl
from edgefl.core.errors import InputError
from edgefl.runs.assembly import build
from edgefl.runs.emulation import silent
from edgefl.scenario import load

PARAMETERS = 50_001
BAND_HZ = 10e6
SLOT_S = 0.0005
AIR = {**STILL, "bandwidth_hz": BAND_HZ, "uplink": "aircomp"}
KEYS = {
    "seed": 4,
    "rounds": 2,
    "data": {"dataset": "digits", "partition": "iid"},
    "model": {"kind": "mlp", "cost": {"parameters": PARAMETERS, "flops_per_parameter": 5.0}},
    "training": {"local_steps": 1, "batch_size": 1, "engine": "serial"},
    "devices": {"count": 12},
    "algorithm": {"kind": "fedavg", "weighting": "uniform"},
}
SITES = {"layout": "hexagonal", "sites": 7, "radius_m": 100}


def priced(radio=None, **changes):
    return edgefl.run({**KEYS, "radio": {**AIR, **(radio or {})}, **changes}, train=False)


def aircomp(**keys):
    return {"uplink": {"kind": "aircomp", **keys}}


def gains(devices):
    return 10 ** (-(devices["pathloss_db"] + devices["shadowing_db"]) / 10)


def update_s(capacity_hz, per_symbol=2):
    """Time of an update on a band [s]: whole symbols, in whole slots."""
    symbols = -(-PARAMETERS // per_symbol)
    return np.ceil(symbols / (capacity_hz * SLOT_S)) * SLOT_S


# Times


@pytest.mark.parametrize(
    ("radio", "capacity_hz", "per_symbol"),
    [
        ({}, BAND_HZ, 2),
        (aircomp(coefficients_per_symbol=1), BAND_HZ, 1),
        ({"tdd": {"downlink": 0.7, "uplink": 0.3}}, 0.3 * BAND_HZ, 2),
        ({"overhead": {"uplink": 0.08}}, 0.92 * BAND_HZ, 2),
        ({"bandwidth_hz": 20e6, "subcarrier_spacing_hz": 30e3}, 51 * 12 * 30e3, 2),
    ],
)
def test_an_update_takes_its_symbols_over_the_band(radio, capacity_hz, per_symbol):
    """The statistics take one more slot, as they fit into one."""
    devices = priced(radio).devices
    np.testing.assert_allclose(devices["upload_s"], SLOT_S + update_s(capacity_hz, per_symbol))
    assert (devices["status"] == "received").all()


def test_a_sum_crosses_the_backhaul_once():
    """After one model for each of the twelve devices; their statistics take about a millisecond."""
    message_s = 32 * PARAMETERS / 1e6
    plain_s = priced().rounds["duration_s"]
    wired_s = priced(backhaul={"kind": "star", "rate_bps": 1e6}).rounds["duration_s"]
    np.testing.assert_allclose(wired_s - plain_s, (12 + 1) * message_s, atol=0.002)


def test_analog_uploads_take_the_same_time_for_any_number_of_devices():
    def upload_s(count, uplink):
        keys = {"devices": {"count": count}, "rounds": 1}
        return priced({"uplink": uplink}, **keys).devices["upload_s"].max()

    over_the_air = {upload_s(count, "aircomp") for count in (2, 8, 32)}
    assert len(over_the_air) == 1
    orthogonal = [upload_s(count, "orthogonal") for count in (2, 8, 32)]
    assert orthogonal[1] > 3 * orthogonal[0]
    assert orthogonal[2] > 3 * orthogonal[1]


def test_all_wait_for_the_slowest_and_end_at_once():
    result = priced(devices={"count": 12, "cpu_hz": {"lognormal": [15, 1.0]}}, radio=aircomp(truncation="device"))
    devices = result.devices[result.devices["round"] == 1]
    assert devices["compute_s"].max() > 2 * devices["compute_s"].min()
    active_s = devices[["download_s", "compute_s", "upload_s"]].sum(axis=1)
    np.testing.assert_allclose(active_s + devices["wait_s"], result.rounds["duration_s"][0])
    # Statistics are ready with the slowest one; then they come down, and the updates go up.
    slowest = active_s.max()
    assert result.rounds["duration_s"][0] == pytest.approx(slowest)
    ends = result.events[(result.events["kind"] == "upload_end") & (result.events["time_s"] <= slowest + 1e-9)]
    assert len(ends) == 12
    assert ends["time_s"].nunique() == 1


def test_departed_devices_are_not_waited_for():
    """One device is taken out while it computes, one while it waits, and one that sends; no other is held up."""
    keys = {"radio": AIR, "algorithm": KEYS["algorithm"], "devices": {"count": 6, "cpu_hz": {"lognormal": [15, 1.0]}}}
    _, rounds, devices, _ = interrupted([np.inf] * 6, **keys)
    whole_s = rounds["duration_s"][0]
    slowest = int(devices["compute_s"].argmax())
    ready_s = devices["download_s"][slowest] + devices["compute_s"][slowest]
    cuts_s = [1e9] * 6
    cuts_s[slowest] = 0.5 * ready_s
    _, rounds, devices, _ = interrupted(cuts_s, **keys)
    assert devices["status"].tolist().count("received") == 5
    assert devices["status"][slowest] == "late"
    assert devices["tx_energy_j"][slowest] == 0
    assert rounds["duration_s"][0] < whole_s
    cuts_s = [1e9] * 6
    fastest = int(devices["compute_s"].argmin())
    cuts_s[fastest] = 0.9 * ready_s  # it has sent its statistics, and waits for the others
    _, rounds, devices, _ = interrupted(cuts_s, **keys)
    assert rounds["duration_s"][0] == pytest.approx(whole_s)
    assert devices["bytes_up"][fastest] == 8
    cuts_s[fastest] = whole_s - 1e-4  # while all send
    _, rounds, devices, _ = interrupted(cuts_s, **keys)
    assert devices["status"][fastest] == "late"
    assert 8 < devices["bytes_up"][fastest] < devices["bytes_up"].max()
    assert rounds["received"][0] == 5


# Powers


def test_the_weakest_sends_all_it_can_and_the_others_what_aligns_them():
    """Without fading each power is `rho w^2 / psi`; the statistics go at full power, for a slot."""
    result = priced()
    for _, devices in result.devices.groupby("round"):
        gain = gains(devices)
        share = gain.min() / gain
        assert share.min() < 0.5
        expected_j = DEVICE_W * (SLOT_S + share * update_s(BAND_HZ))
        np.testing.assert_allclose(devices["tx_energy_j"], expected_j)
    first = result.devices[result.devices["round"] == 1]
    snr = DEVICE_W * gains(first).min() / (NOISE_W_HZ * BAND_HZ)
    assert result.rounds["receive_snr_db"][0] == pytest.approx(10 * np.log10(snr))


def test_weights_by_samples_are_amplitudes():
    keys = {"data": {"dataset": "digits", "partition": {"kind": "quantity_skew", "alpha": 0.5}}, "algorithm": "fedavg"}
    result = priced(**keys)
    scenario = load({**KEYS, **keys})
    samples = build(scenario, "cpu", train=False, progress=silent).payload.samples
    devices = result.devices[result.devices["round"] == 1]
    weight = samples[devices["device"]]
    assert weight.max() > 2 * weight.min()
    needed = weight**2 / gains(devices)
    expected_j = DEVICE_W * (SLOT_S + needed / needed.max() * update_s(BAND_HZ))
    np.testing.assert_allclose(devices["tx_energy_j"], expected_j)


def test_over_rayleigh_fading_powers_are_inverted_means():
    """With a gain for each coefficient a device sends `rho E1(g) / psi` throughout, the weakest one all it has."""
    result = priced({"fading": "rayleigh", **aircomp(threshold=0.2)}, rounds=1)
    devices = result.devices
    share = gains(devices).min() / gains(devices)
    update_j = devices["tx_energy_j"] - DEVICE_W * SLOT_S
    np.testing.assert_allclose(update_j, DEVICE_W * share * update_s(BAND_HZ), rtol=1e-9)
    assert (devices["status"] == "received").all()
    inverse = float(channel.aircomp.mean_inverse_gain(0.2))
    snr = DEVICE_W * gains(devices).min() / inverse / (NOISE_W_HZ * BAND_HZ)
    assert result.rounds["receive_snr_db"][0] == pytest.approx(10 * np.log10(snr))


RICEAN = {"kind": "ricean", "k_mean_db": 3, "k_std_db": 0}


@pytest.mark.oracle
@pytest.mark.parametrize("fading", ["rayleigh", {"kind": "block", "block_s": 0.01}, "jakes", RICEAN])
def test_with_one_gain_a_round_devices_are_silent_as_often_as_they_fade(fading):
    """A two-sided binomial test at 1 in 10,000, and the mean of the powers to five standard errors.

    Of 1,200 draws a rate of 0.26 instead of 0.33 would be found with a power of 94 %.
    """
    threshold = 0.4
    radio = {"fading": fading, **aircomp(threshold=threshold, truncation="device")}
    result = priced(radio, rounds=12, devices={"count": 100}, mobility={"kind": "static", "speed_mps": 30.0})
    devices = result.devices
    k = 10**0.3 if fading == RICEAN else 0.0
    silence = 1 - float(channel.aircomp.sending_probability(threshold, k))
    failed = int((devices["status"] == "upload_failed").sum())
    assert binom.ppf(0.5e-4, len(devices), silence) <= failed <= binom.isf(0.5e-4, len(devices), silence)
    # Who is silent sends its statistics, and nothing else.
    assert (devices["bytes_up"][devices["status"] == "upload_failed"] == 8).all()
    # Powers are `rho / (psi |h|^2)`: on average over the fading the weakest device sends all it has.
    power = devices["tx_energy_j"] / DEVICE_W - (devices["upload_s"] - update_s(BAND_HZ))
    weakest = gains(devices).groupby(devices["round"]).transform("min")
    share = power / update_s(BAND_HZ) * gains(devices) / weakest
    assert abs(share.mean() - 1) < 5 * share.std() / np.sqrt(len(share))


def test_batteries_lose_the_recorded_energy():
    battery = {"capacity_j": 5.0}
    radio = {"fading": "rayleigh", **aircomp(truncation="device")}
    result = priced(radio, devices={"count": 12, "battery": battery, "idle_power_w": 0.01, "rx_power_w": 0.3})
    devices = result.devices
    spent = devices[["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]].sum(axis=1)
    last = devices.groupby("device")["battery_j"].last()
    left = 5.0 - spent.groupby(devices["device"]).sum()
    # The level is that of the end of a participation; it then waits for the end of the round at 0.01 W.
    np.testing.assert_allclose(last, left, atol=0.01 * result.rounds["duration_s"].max(), rtol=0)


# The error, and the model


def trained(uplink, **changes):
    radio = {**AIR, "uplink": uplink, **changes.pop("radio", {})}
    keys = {**KEYS, "rounds": 1, "training": {"local_steps": 5, "batch_size": 20}, **changes, "radio": radio}
    return edgefl.run(keys, device="cpu")


@pytest.mark.oracle
def test_without_noise_and_truncation_it_is_the_orthogonal_result():
    quiet = {"noise_dbm_hz": -300}
    exact = trained("orthogonal", rounds=4, radio=quiet)
    for keys in ({"threshold": 1e-6}, {"threshold": 1e-6, "truncation": "device"}):
        received = trained({"kind": "aircomp", **keys}, rounds=4, radio=quiet)
        np.testing.assert_allclose(received.parameters, exact.parameters, rtol=0, atol=1e-6)
        assert received.rounds["test_accuracy"].equals(exact.rounds["test_accuracy"])


@pytest.mark.oracle
def test_error_of_the_model_is_recorded():
    """After one round the model is off by the error: its mean square stands in rounds.csv, and goes with the noise."""
    exact = trained("orthogonal").parameters.astype(float)
    errors = {}
    for figure_db in (0, 10):
        result = trained("aircomp", radio={"noise_figure_db": figure_db, "noise_dbm_hz": -150})
        errors[figure_db] = ((result.parameters - exact) ** 2).mean()
        assert result.rounds["aggregation_mse"][0] == pytest.approx(errors[figure_db], rel=1e-4)
    assert errors[10] == pytest.approx(10 * errors[0], rel=1e-3)


@pytest.mark.parametrize("per_symbol", [1, 2])
def test_the_error_of_a_single_device_is_noise_over_signal(per_symbol):
    """Its weight is its samples, which cancel: what remains is the variance of its update over the receive SNR.

    To four standard errors of the variance of so many parameters.
    """
    noise_dbm_hz = -140.0
    keys = {"devices": {"count": 1}, "algorithm": "fedavg", "radio": {"noise_dbm_hz": noise_dbm_hz}}
    start = trained("orthogonal", **{**keys, "training": {"local_steps": 1, "lr": 0.0}}).parameters.astype(float)
    update = trained("orthogonal", **keys).parameters - start
    result = trained({"kind": "aircomp", "coefficients_per_symbol": per_symbol}, **keys)
    snr = DEVICE_W * gains(result.devices)[0] / (10 ** (noise_dbm_hz / 10 - 3) * BAND_HZ)
    expected = per_symbol / 2 * update.var() / snr
    error = result.rounds["aggregation_mse"][0]
    assert abs(error / expected - 1) < 4 * np.sqrt(2 / len(update))


@pytest.mark.oracle
def test_noise_above_all_signals_destroys_the_model():
    good = trained("aircomp", rounds=5)
    bad = trained("aircomp", rounds=5, radio={"noise_dbm_hz": -80})
    assert bad.rounds["receive_snr_db"][0] < -40
    assert good.rounds["test_accuracy"].iloc[-1] > 0.4
    assert bad.rounds["test_accuracy"].iloc[-1] < 0.25


@pytest.mark.oracle
def test_several_cells_add_up_their_errors():
    """Each base station receives a sum of its own; the mean has the noise of all of them, over all weights.

    Devices learn the same in one cell as in seven, and the noise has the same draws: only its variance differs.
    """
    clamped = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}, "noise_dbm_hz": -140}

    def error_of(result):
        by_cell = [gains(devices).min() for _, devices in result.devices.groupby("cell")]
        return sum(1 / gain for gain in by_cell), len(by_cell)

    several = trained("aircomp", radio=clamped, cells=SITES)
    one = trained("aircomp", radio=clamped)
    error_of_several, cells = error_of(several)
    error_of_one, _ = error_of(one)
    assert cells > 3
    ratio = several.rounds["aggregation_mse"][0] / one.rounds["aggregation_mse"][0]
    assert ratio == pytest.approx(error_of_several / error_of_one, rel=1e-3)


@pytest.mark.parametrize(
    ("fading", "truncation"), [("rayleigh", "device"), ("none", "device"), ("none", "coefficient")]
)
def test_rounds_in_which_all_are_silent_leave_the_model(fading, truncation):
    """No gain of Rayleigh fading reaches a threshold of 60 in these rounds, and none reaches it without fading."""
    uplink = {"kind": "aircomp", "threshold": 60.0, "truncation": truncation}
    result = trained(uplink, rounds=2, radio={"fading": fading})
    assert result.rounds["received"].tolist() == [0, 0]
    assert result.rounds["test_loss"].nunique() == 1
    assert (result.devices["status"] == "upload_failed").all()
    assert (result.devices["bytes_up"] == 8).all()


# What goes with it, and what does not


REFUSED = {
    "server.policy: under the policy asynchronous": {"server": {"policy": "asynchronous"}},
    "server.policy: under the policy deadline": {"server": {"policy": "deadline", "deadline_s": 1}},
    "server.selection: needs a report": {"server": {"selection": "oort"}},
    "server.csi: forecasts": {"server": {"csi": "perfect"}},
    "algorithm: scaffold needs more": {"algorithm": "scaffold"},
    "training.codec: ": {"training": {"codec": "float16"}},
    "training.stragglers.keep: ": {"training": {"stragglers": {"share": 0.5, "keep": False}}},
    "report.contributions: needs each update": {"report": {"contributions": {}}},
    "radio.sharing: ": {"radio": {"sharing": "processor"}},
    "radio.faults: is not modelled": {"radio": {"faults": {"attempts": 2}}},
    "radio.errors: is not modelled": {"radio": {"errors": "outage"}},
    "radio.interference: is not modelled": {"radio": {"interference": {"load": 0.5}}},
    "radio.background: is not modelled": {"radio": {"background": {"kind": "constant", "load": 0.2}}},
    "radio.large_scale: is not modelled": {"radio": {"large_scale": "time", "spatial_consistency": True}},
    "radio.tdd: ": {"radio": {"tdd": {"pattern": "DDDSU"}}},
    "devices.power_control: ": {"devices": {"power_control": {"kind": "open_loop", "p0_dbm": -76, "alpha": 0.8}}},
    "cells.handover: is not modelled": {
        "cells": {**SITES, "handover": {}},
        "radio": {"spatial_consistency": True, "propagation": {"kind": "umi", "out_of_range": "clamp"}},
    },
}


@pytest.mark.parametrize("start", REFUSED)
def test_keys_that_contradict_sums_are_refused(start):
    changes = REFUSED[start]
    try:
        load({**changes, "radio": changes.get("radio", {})})  # it is valid by itself
    except InputError as error:
        pytest.fail(f"refused without aircomp, too: {error}")
    with pytest.raises(InputError) as refused:
        load({**changes, "radio": {"uplink": "aircomp", **changes.get("radio", {})}})
    message = str(refused.value)
    assert message.startswith(f"scenario: {start}")
    assert "\n" not in message
    assert "aircomp" in message
