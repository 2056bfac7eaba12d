"""The catalogues of allocations and of rate models against `channel`."""

from typing import Annotated

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

import channel.allocation
import channel.mcs
import channel.rate
import channel.sum_rate
from edgefl.radio.allocation import ALLOCATIONS, Allocation
from edgefl.radio.rates import RATES, Rate

BAND_HZ = 100e6
PAYLOAD_BITS = np.array([1e6, 4e6, 2e6])
SNR_HZ = np.array([1e9, 1e11, 1e10])


def allocation(value):
    if value == "hungarian":
        value = {"kind": "hungarian", "interference_w": [0.0, 0.0, 0.0]}
    return TypeAdapter(Annotated[Allocation, ALLOCATIONS]).validate_python(value)


def rate(value):
    return TypeAdapter(Annotated[Rate, RATES]).validate_python(value)


@pytest.mark.parametrize("name", ALLOCATIONS.members)
@pytest.mark.parametrize("rate_name", RATES.members)
@pytest.mark.parametrize("spread", [False, True])
def test_every_allocation_divides_the_band(name, rate_name, spread):
    efficiency = rate(rate_name).efficiency()
    shares = allocation(name).shares(BAND_HZ, PAYLOAD_BITS, SNR_HZ, efficiency, spread=spread)
    assert (shares.bandwidth_hz * shares.duty).sum() == pytest.approx(BAND_HZ, rel=1e-12)
    assert np.all(shares.bandwidth_hz > 0)


def test_allocations_match_their_names():
    efficiency = channel.rate.TRUNCATED
    physics = channel.allocation
    expected = {
        "equal": lambda **_: physics.equal(BAND_HZ, 3),
        "proportional": lambda **_: physics.proportional(BAND_HZ, PAYLOAD_BITS),
        "min_makespan": lambda **how: physics.min_makespan(BAND_HZ, PAYLOAD_BITS, SNR_HZ, efficiency, **how),
        "proportional_fair": lambda **how: physics.proportional_fair(BAND_HZ, SNR_HZ, efficiency, **how),
        "max_rate": lambda **how: channel.sum_rate.max_rate(BAND_HZ, SNR_HZ, least_share=0.1, **how),
        "round_robin": lambda **_: physics.round_robin(BAND_HZ, 3),
    }
    # Those by forecasts are tested in tests/server, as there are none here; those by draws in test_unequal_shares.py;
    # those in time in test_turns_in_time.py.
    rules = {name: ALLOCATIONS.load(name) for name in ALLOCATIONS.members}
    apart = {name for name, rule in rules.items() if rule.by_forecast or rule.by_draws or rule.in_time}
    assert set(expected) == set(rules) - apart
    seen = []
    for name, call in expected.items():
        for spread in (False, True):
            shares = allocation(name).shares(BAND_HZ, PAYLOAD_BITS, SNR_HZ, efficiency, spread=spread)
            np.testing.assert_array_equal(shares.bandwidth_hz, call(spread=spread).bandwidth_hz)
            np.testing.assert_array_equal(shares.duty, call(spread=spread).duty)
        seen.append(allocation(name).shares(BAND_HZ, PAYLOAD_BITS, SNR_HZ, efficiency, spread=False).bandwidth_hz)
    assert len({tuple(share_hz.round(3)) for share_hz in seen}) == len(expected)  # no two are the same


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("shannon", channel.rate.SHANNON),
        ("truncated_shannon", channel.rate.TRUNCATED),
        (
            {"kind": "truncated_shannon", "attenuation": 0.4, "max_bps_hz": 2.0, "min_snr_db": 0.0},
            channel.rate.Shannon(0.4, 1.0, 2.0),
        ),
        ("mcs", channel.mcs.Mcs()),
        ({"kind": "mcs", "snr_gap_db": 4.8, "table": "64qam"}, channel.mcs.Mcs(4.8, "64qam")),
    ],
)
def test_rate_models(value, expected):
    assert rate(value).efficiency() == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "truncated_shannon", "attenuation": 0.0}, "must be > 0, got 0.0"),
        ({"kind": "truncated_shannon", "snr_gap_db": 3.0}, "unknown key"),
        ("shanon", 'unknown rate model "shanon" .did you mean "shannon"'),
    ],
)
def test_rate_models_refuse(value, message):
    with pytest.raises(ValidationError, match=message):
        rate(value)
