"""Numbers as people write them: the message says what to write, and that is what they meant."""

import pytest

from edgefl.core.errors import InputError
from edgefl.scenario import load
from edgefl.scenario.number_forms import remedy

CASES = [
    ("20,000,000", "bandwidth_hz", 20e6),
    ("20 000 000", "bandwidth_hz", 20e6),
    ("20_000_000", "bandwidth_hz", 20e6),
    ("1,234.5", "", 1234.5),
    ("0,1", "", 0.1),
    ("20 MHz", "bandwidth_hz", 20e6),
    ("20MHz", "bandwidth_hz", 20e6),
    ("3.5 GHz", "carrier_hz", 3.5e9),
    ("15 khz", "subcarrier_hz", 15e3),
    ("5 min", "deadline_s", 300.0),
    ("10 ms", "slot_s", 0.01),
    ("36 km/h", "speed_mps", 10.0),
    ("23 dBm", "tx_power_dbm", 23.0),
    ("2.5 kWh", "capacity_j", 9e6),
    ("100 Mbit/s", "rate_bps", 100e6),
    ("10 %", "failure_probability", 0.1),
]


@pytest.mark.parametrize(("text", "key", "meant"), CASES)
def test_suggested_number_has_the_intended_value(text, key, meant):
    written = remedy(text, key).rpartition("write ")[2]
    assert float(written) == pytest.approx(meant, rel=1e-12)


def test_a_comma_that_may_mean_two_numbers_gets_both():
    assert remedy("1,000", "") == "write 1000, or 1.000 if the comma begins the decimals"
    assert remedy("1,000", "", whole=True) == "write 1000"


def test_units_that_differ_by_case_alone_are_not_guessed():
    assert "1e" not in remedy("1 MJ", "capacity_s")
    assert remedy("5 mw", "power_w") == "the key is in W: write the number in that unit, without the unit"
    assert remedy("5 mW", "power_w") == "the key is in W: write 0.005"


@pytest.mark.parametrize("text", ["20e6", "0.2e9", "1e-3", "5", "-76"])
def test_number_in_quotes_is_reported_as_text(text):
    """`yaml.safe_load` makes text of 20e6, and the mapping then comes to `edgefl.run`."""
    with pytest.raises(InputError, match=f"it is text: write {text} without quotes, or convert what yaml.safe_load"):
        load({"radio": {"bandwidth_hz": text}})


@pytest.mark.parametrize("text", ["fast", "", "1/3", "[1, 2]"])
def test_other_texts_have_no_remedy(text):
    assert remedy(text, "bandwidth_hz") is None


@pytest.mark.parametrize(
    ("override", "ending"),
    [
        ("radio.bandwidth_hz=20 MHz", "write 20e6"),
        ("devices.cpu_hz={uniform: [1 GHz, 2 GHz]}", "write 2e9"),  # the unit is that of the key above
        ("server.participants=0.1", "of 100 devices 0.1 are 10"),
        ("server.participants=10 %", "10 % of 100 are 10"),
        (
            "radio={bandwidth_hz: 20,5}",
            "write numbers with a point and no separators, as in 0.1 or 20e6, and a list in brackets",
        ),
        ("radio={bandwidth_hz: 20,000,000}", "write numbers without separators, as in 20e6"),
    ],
)
def test_the_message_of_a_scenario_ends_with_the_remedy(override, ending):
    with pytest.raises(InputError) as error:
        load({}, [override])
    assert error.value.faults[-1].endswith(ending)
