"""The radio as users of other simulators write it: what is refused says what to write instead."""

import pytest

from edgefl.core.errors import InputError
from edgefl.scenario import load

ERRORS = {"kind": "bler"}
SPACINGS = "is not a subcarrier spacing of FR1 (carrier 3.5 GHz): 15000, 30000 or 60000"
HABITS = [
    ({"bandwidth_hz": "20 MHz"}, 'radio.bandwidth_hz: must be a number, got "20 MHz": the key is in Hz: write 20e6'),
    ({"subcarrier_spacing_hz": 30}, f"spacing_hz = 30 {SPACINGS}: 30 kHz are written 30e3"),
    (
        {"subcarrier_spacing_khz": 30},
        "the key is radio.subcarrier_spacing_hz, in Hz: write subcarrier_spacing_hz: 30000",
    ),
    ({"scs_khz": 30}, "the key is radio.subcarrier_spacing_hz, in Hz: write subcarrier_spacing_hz: 30000"),
    ({"numerology": 1}, "unknown key: did you mean radio.subcarrier_spacing_hz?"),
    ({"eirp_dbm": 60}, "unknown key: did you mean radio.server_tx_power_dbm?"),
    (
        {"server_tx_power_w": 20},
        "unknown key: the key is radio.server_tx_power_dbm, in dBm: write server_tx_power_dbm: 43.01",
    ),
    ({"tx_power_dbm": 23}, "unknown key: did you mean devices.tx_power_dbm?"),
    ({"temperature_k": 290}, "unknown key: did you mean radio.noise_dbm_hz?"),
    ({"noise_figure": 7}, "unknown key: did you mean radio.noise_figure_db?"),
    ({"propagation": "uma"}, "from 22.5 m on, this one is at 10 m: set cells.bs_height_m to 22.5"),
    ({"fading": {"kind": "ricean", "k_db": 9}}, "unknown key: write radio.fading: {kind: ricean, k_mean_db: 9.0}"),
    ({"tdd": {"downlink": 70, "uplink": 30}}, "radio.tdd.downlink: must be <= 1, got 70: 70 % are written 0.7"),
    ({"tdd": {"downlink": 0.9}}, "radio.tdd: downlink + uplink must be <= 1, got 1.2 (0.9 + 0.3)"),
    ({"interference": {"load": 50}}, "radio.interference.load: must be <= 1, got 50: 50 % are written 0.5"),
    ({"errors": "bler"}, "radio.rate: block errors belong to schemes: set it to mcs, or leave radio.errors out"),
    ({"rate": "mcs", "errors": {**ERRORS, "target": 10}}, "radio.errors.target: must be < 1, got 10"),
    ({"rate": "mcs", "errors": {**ERRORS, "target_bler": 0.1}}, 'unknown key (did you mean "target"?)'),
    ({"rate": "mcs", "errors": {**ERRORS, "harq": 4}}, "unknown key: did you mean radio.errors.transmissions?"),
    ({"rate": {"kind": "mcs", "table": "qam256"}}, "radio.rate.table: must be '64qam' or '256qam', got \"qam256\""),
]


@pytest.mark.parametrize(("radio", "text"), HABITS)
def test_another_form_of_a_radio_key_gets_a_remedy(radio, text):
    with pytest.raises(InputError) as refused:
        load({"radio": radio})
    assert text in refused.value.faults[0]


def test_a_path_below_the_range_of_a_model_is_refused_with_the_least_distance():
    with pytest.raises(InputError, match=r"umi holds from 10 m .*: set cells\.min_distance_m to 10"):
        load({"radio": {"propagation": "umi"}, "cells": {"min_distance_m": 1}})
