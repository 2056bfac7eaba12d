"""Uplink power control: the law of TS 38.213, its parameters by device, and returns of a control from outside."""

import math

import numpy as np
import pytest
from plugin_cases import fault_of, written

from edgefl.core.errors import InputError
from edgefl.core.returns import WrongReturn
from edgefl.core.streams import Streams
from edgefl.scenario import load
from edgefl.world.power_control import PowerControl
from edgefl.world.uplink_power_control import ALWAYS_FULL, UplinkPowerControl

FULL_DBM = 23.0


def controls(**devices):
    section = load({"devices": {"count": 4, **devices}}).devices
    return UplinkPowerControl.of_devices(section, np.full(section.count, FULL_DBM), Streams(1))


def power_dbm(control, bandwidth_hz, path_loss_db, ids=(0,)):
    ids = np.array(ids)
    width_hz = np.full(len(ids), bandwidth_hz)
    gain = np.full(len(ids), 10 ** (-path_loss_db / 10))
    with np.errstate(divide="ignore"):
        return FULL_DBM + 10 * np.log10(control.power_share(ids, width_hz, gain))


@pytest.mark.parametrize("mu", [0, 1, 2, 3])
@pytest.mark.parametrize("blocks", [1, 7, 273])
@pytest.mark.parametrize(("alpha", "loss_db"), [(0.0, 120.0), (0.4, 100.0), (0.8, 95.0), (1.0, 60.0), (1.0, 140.0)])
def test_power_follows_ts_38_213(mu, blocks, alpha, loss_db):
    """min(P_max, P0 + 10 log10(2^mu M_RB) + alpha PL), blocks being 12 subcarriers of 2^mu 15 kHz."""
    p0_dbm = -70.0
    control = controls(power_control={"kind": "open_loop", "p0_dbm": p0_dbm, "alpha": alpha})
    expected_dbm = min(FULL_DBM, p0_dbm + 10 * math.log10(2**mu * blocks) + alpha * loss_db)
    bandwidth_hz = blocks * 12 * 2**mu * 15e3
    assert power_dbm(control, bandwidth_hz, loss_db).item() == pytest.approx(expected_dbm, abs=1e-9)


def test_alpha_of_one_is_received_at_p0_in_every_180_khz():
    control = controls(power_control={"kind": "open_loop", "p0_dbm": -100.0})
    for loss_db in (70.0, 90.0, 110.0):
        received_dbm = power_dbm(control, 180e3, loss_db) - loss_db
        assert received_dbm.item() == pytest.approx(-100.0)


def test_without_bandwidth_nothing_is_sent_and_without_a_path_full_power():
    control = controls(power_control={"kind": "open_loop", "p0_dbm": -100.0})
    ids = np.array([0, 1])
    share = control.power_share(ids, np.array([0.0, 1e6]), np.array([1e-9, 0.0]))
    assert share.tolist() == [0.0, 1.0]


def test_full_power_is_exactly_full():
    assert ALWAYS_FULL.always_full
    assert controls().always_full
    assert controls().power_share(np.arange(4), np.full(4, 1e6), np.full(4, 1e-9)).tolist() == [1.0] * 4


def test_groups_have_controls_and_devices_their_numbers():
    half = {"kind": "open_loop", "p0_dbm": {"choice": [-90.0]}, "alpha": 0.5}
    groups = [
        {"name": "phones", "count": 2, "power_control": half},
        {"name": "sensors", "count": 1, "power_control": "full"},
        {"name": "others", "count": 1},
    ]  # fmt: skip
    inherited = {"kind": "open_loop", "p0_dbm": {"uniform": [-100.0, -90.0]}, "alpha": 1.0}
    control = controls(groups=groups, power_control=inherited)
    dbm = power_dbm(control, 180e3, 80.0, ids=(3, 0, 2, 1))
    assert dbm[1:].tolist() == pytest.approx([-50.0, FULL_DBM, -50.0])
    assert -20.0 <= dbm[0] <= -10.0
    # The draw is the device's: it does not change with its place in the question.
    assert power_dbm(control, 180e3, 80.0, ids=(3,))[0] == dbm[0]


def test_devices_draw_their_own_numbers():
    inherited = {"kind": "open_loop", "p0_dbm": {"uniform": [-100.0, -90.0]}, "alpha": {"uniform": [0.8, 1.0]}}
    control = controls(power_control=inherited)
    assert len(set(power_dbm(control, 180e3, 80.0, ids=range(4)).tolist())) == 4


class TooStrong(PowerControl):
    """Sends at twice the full power."""

    def transmit_w(self, uplinks):
        return 2 * uplinks.full_w


class Half(PowerControl):
    """Sends at half the full power."""

    def transmit_w(self, uplinks):
        return 0.5 * uplinks.full_w


def test_control_from_outside_sets_the_power():
    here = f"{__name__}:"
    control = controls(power_control=here + "Half")
    assert control.power_share(np.arange(2), np.full(2, 1e6), np.full(2, 1e-9)).tolist() == [0.5, 0.5]
    with pytest.raises(WrongReturn, match=r"TooStrong.transmit_w returned 0.39.*from 0 to `uplinks.full_w`"):
        controls(power_control=here + "TooStrong").power_share(np.arange(2), np.full(2, 1e6), np.full(2, 1e-9))


@pytest.mark.parametrize(
    ("keys", "match"),
    [
        ({"alpha": 1.2}, "devices.power_control.alpha: must be from 0 to 1, got 1.2"),
        ({"alpha": {"uniform": [0.5, 1.5]}}, "devices.power_control.alpha: must be from 0 to 1, got 1.5"),
    ],
)
def test_bad_numbers_name_file_line_and_key(tmp_path, keys, match):
    file = written(tmp_path, {"devices": {"power_control": {"kind": "open_loop", "p0_dbm": -90.0, **keys}}})
    text = fault_of(file)
    assert match in text
    assert str(file) in text


@pytest.mark.parametrize("allocation", ["min_makespan", "proportional_fair", "max_rate"])
def test_allocations_by_snr_are_refused(allocation):
    scenario = {
        "radio": {"allocation": allocation},
        "devices": {"power_control": {"kind": "open_loop", "p0_dbm": -90.0}},
    }
    with pytest.raises(InputError, match=r"radio.allocation: .* assumes full power"):
        load(scenario)
    load({"radio": {"allocation": allocation}})
