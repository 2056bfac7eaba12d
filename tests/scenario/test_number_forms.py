"""Numbers as people write them: the message says what to write, and that is what they meant."""

import itertools
import math
import re

import pytest
import yaml

from edgefl.core.errors import InputError
from edgefl.scenario import load
from edgefl.scenario.key_index import keys_of_members, keys_of_sections
from edgefl.scenario.number_forms import remedy, unit_of, with_remedy
from edgefl.scenario.yaml_reader import parse

# What a text means, by the unit of the key: worked out by hand, not by the code that is tested.
MEANT = {
    "Hz": {
        "20 MHz": 20_000_000, "20MHz": 20_000_000, "20 mhz": 20_000_000, "20M": 20_000_000, "3.5 GHz": 3_500_000_000,
        "3,5 GHz": 3_500_000_000, "15 kHz": 15_000, "1000 MHz": 1_000_000_000, "1 000 MHz": 1_000_000_000,
        "2 THz": 2_000_000_000_000, "180 KHz": 180_000, "5 Hz": 5,
    },
    "s": {
        "10 ms": 0.01, "10ms": 0.01, "1e-3s": 0.001, "5 min": 300, "2 h": 7200, "1 day": 86_400, "500 us": 0.0005,
        "500 µs": 0.0005, "66.7 ns": 6.67e-8, "00:01:30": 90, "3 sec": 3, "5m": 300, "1/2 s": 0.5,
        "1h30m": 5400, "1 h 30 min": 5400, "2d 3h": 183_600, "PT1H": 3600, "P1DT2H": 93_600, "pt90s": 90,
    },
    "ms": {"10 ms": 10, "0.5 s": 500, "500 us": 0.5},
    "ns": {"100 ns": 100, "1 us": 1000, "1e-7 s": 100},
    "h": {
        "22 h": 22, "30 min": 0.5, "08:30:00": 8.5, "22:00": 22, "6:30": 6.5, "10pm": 22, "12 a.m.": 0,
        "12:30 PM": 12.5,
    },
    "m": {"500 m": 500, "0.5 km": 500, "1,5 km": 1500, "150 cm": 1.5},
    "m/s": {"36 km/h": 10, "3 m/s": 3, "36 kmh": 10, "100 mph": 44.704},
    "W": {"200 mW": 0.2, "2 W": 2, "1.5 kW": 1500, "30 dBm": 1, "0 dBW": 1, "0 dBm": 0.001},
    "dBm": {"23 dBm": 23, "23dBm": 23, "1 W": 30, "100 mW": 20, "10 dBW": 40, "-10 dBm": -10, "−10 dBm": -10},
    "dB": {"3 dB": 3, "-3 dB": -3, "0.5dB": 0.5},
    "dBi": {"8 dBi": 8, "8dBi": 8},
    "dBm/Hz": {"-174 dBm/Hz": -174, "-174dBm/Hz": -174, "−174 dBm/Hz": -174, "-114 dBm/MHz": -174},
    "J": {"5 kJ": 5000, "2.5 Wh": 9000, "2.5 kWh": 9_000_000, "10 mJ": 0.01, "3 J": 3},
    "mAh": {"4000 mAh": 4000, "4000mah": 4000, "4 Ah": 4000, "2.5Ah": 2500},
    "V": {"3.85 V": 3.85, "3850 mV": 3.85, "3.85 volts": 3.85},
    "J/Mbit": {"2 J/Mbit": 2, "50 nJ/bit": 0.05, "1 µJ/bit": 1},
    "bit": {"1 kbit": 1000, "2 Mbit": 2_000_000, "1 kB": 8000, "1 MB": 8_000_000, "1 KiB": 8192, "4 bytes": 32},
    "bit/s": {"100 Mbit/s": 100_000_000, "100 Mbps": 100_000_000, "1 Gbps": 1_000_000_000, "1 MB/s": 8_000_000},
    "B/s": {"2 GB/s": 2_000_000_000, "8 Mbit/s": 1_000_000},
    "operations/s": {"1 TFLOPS": 1_000_000_000_000, "5 GFLOPS": 5_000_000_000, "5 GFLOP/s": 5_000_000_000},
    "1/s": {"2 1/s": 2, "30 /min": 0.5, "3 Hz": 3},
    "bit/s/Hz": {"5 bit/s/Hz": 5, "5 bps/Hz": 5},
    "degrees": {"65 degrees": 65, "65°": 65, "0 rad": 0},
    "pixels": {"32 px": 32, "32 pixels": 32},
    "": {"10 %": 0.1, "10%": 0.1, "１０％": 0.1, "20M": 20_000_000, "10K": 10_000},
}  # fmt: skip

# Texts that stand for the same number whatever the unit
NUMBERS = {
    "3,5e9": 3.5e9, "0,1": 0.1, "20,000,000": 20_000_000, "20 000 000": 20_000_000, "20_000_000": 20_000_000,
    "20\u00a0000": 20_000, "20\u202f000": 20_000, "1'000": 1000, "1.000.000": 1_000_000, "1,234.5": 1234.5,
    "1.234,5": 1234.5, "1 234,5": 1234.5, "0o10": 8, "0b101": 5, "0X1F": 31, "2^10": 1024, "2**10": 1024, "1/4": 0.25,
    "½": 0.5, "10^6": 1_000_000, "10⁶": 1_000_000, "2·10^7": 20_000_000, "2×10⁷": 20_000_000, "20*10**6": 20_000_000,
    "1.5d3": 1500, "60;": 60, "60,": 60, "“60”": 60, "~60": 60, "１２": 12, "٣": 3, "−5": -5, "–5": -5, "+5,0": 5,
    "np.float64(0.5)": 0.5, "np.int64(5)": 5, "tensor(5.)": 5, "tensor(5, device='cuda:0')": 5,
}  # fmt: skip

KEYS = {**keys_of_sections(), **{name: found[0] for name, found in keys_of_members().items()}}
KEYS_OF_UNITS = {key: unit_of(key.rpartition(".")[2]) for key in KEYS}
ONE_KEY = {unit: key.rpartition(".")[2] for key, unit in KEYS_OF_UNITS.items()}  # a key of each unit


def suggested(text, key, *, whole=False):
    """Return the number that a remedy proposes; None if it proposes none."""
    found = re.search(r"write ([-+.\deE]+)(?=[ ,]|$)", remedy(text, key, whole=whole) or "")
    return float(found[1]) if found else None


def test_every_unit_of_a_key_is_tried():
    assert set(KEYS_OF_UNITS.values()) == set(MEANT)


@pytest.mark.parametrize("key", [key for key, unit in KEYS_OF_UNITS.items() if unit])
def test_a_number_with_a_unit_is_converted_to_that_of_the_key(key):
    for text, meant in MEANT[KEYS_OF_UNITS[key]].items():
        written = suggested(text, key.rpartition(".")[2])
        assert written == pytest.approx(meant, rel=1e-12, abs=1e-15), text


@pytest.mark.parametrize("unit", MEANT)
def test_the_message_of_a_key_ends_with_the_converted_number(unit):
    for text, meant in MEANT[unit].items():
        line = with_remedy(f'must be a number, got "{text}"', ("section", ONE_KEY[unit] if unit else "lr"), text)
        assert line.startswith(f'must be a number, got "{text}": ')
        assert float(line.rpartition("write ")[2].split()[0]) == pytest.approx(meant, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("text", "meant"), NUMBERS.items())
@pytest.mark.parametrize("key", ["lr", *(key for unit, key in ONE_KEY.items() if unit)])
def test_a_number_in_another_notation_is_the_same_for_every_key(text, meant, key):
    assert suggested(text, key) == pytest.approx(meant, rel=1e-12)


QUANTITIES = {
    "Hz": "frequency", "1/s": "frequency", "s": "time", "ms": "time", "ns": "time", "h": "time", "m": "length",
    "m/s": "speed", "W": "power", "dBm": "power", "dB": "ratio", "dBi": "ratio", "dBm/Hz": "power density",
    "J": "energy", "J/Mbit": "energy for data", "bit": "amount of data", "bit/s": "data rate", "B/s": "data rate",
    "operations/s": "computing speed", "bit/s/Hz": "spectral efficiency", "degrees": "angle",
    "pixels": "number of pixels",
}  # fmt: skip
TYPICAL = {
    "20 MHz": "frequency", "10 ms": "time", "500 km": "length", "36 km/h": "speed", "200 mW": "power",
    "23 dBm": "power",
    "3 dB": "ratio", "-174 dBm/Hz": "power density", "5 kJ": "energy", "50 nJ/bit": "energy for data",
    "1 MB": "amount of data", "100 Mbps": "data rate", "5 GFLOPS": "computing speed", "5 bps/Hz": "spectral efficiency",
    "65 degrees": "angle", "32 px": "number of pixels", "5 mAh": "charge",
}  # fmt: skip


@pytest.mark.parametrize(("unit", "text"), list(itertools.product(QUANTITIES, TYPICAL)))
def test_a_unit_of_another_quantity_is_named_and_no_number_proposed(unit, text):
    found = remedy(text, ONE_KEY[unit])
    quantity = TYPICAL[text]
    if quantity == QUANTITIES[unit] or (quantity == "charge" and unit == "J"):
        assert "write" in found
    else:
        written = text.partition(" ")[2]
        article = "an" if quantity[0] in "aeiou" else "a"
        assert found == f"the key is in {unit}, and {written} stands for {article} {quantity}"


@pytest.mark.parametrize("text", TYPICAL)
def test_a_key_without_a_unit_takes_no_number_with_one(text):
    assert remedy(text, "rounds", whole=True).startswith("the key has no unit, and ")


@pytest.mark.parametrize("text", [*NUMBERS, *(text for texts in MEANT.values() for text in texts)])
def test_a_whole_number_is_proposed_only_if_the_text_means_one(text):
    for key in ("count", "answer_bits", "side_px"):
        whole = suggested(text, key, whole=True)
        if whole is not None and "%" not in text and "％" not in text:
            assert whole.is_integer(), key
            assert whole == suggested(text, key)


def test_a_charge_needs_the_voltage():
    found = remedy("4000 mAh", "capacity_j")
    held = "4000 mAh hold 14400 J for each volt"
    batteries = "batteries take capacity_mah and voltage_v"
    assert found == f"the key is in J: {held}: write 14400 times the voltage; {batteries}"
    assert 4000e-3 * 3600 == 14400  # ampere-hours times the seconds of an hour


def test_a_level_and_its_power_agree():
    for milliwatts in (1, 2, 10, 199.5, 1000):
        written = suggested(f"{milliwatts} mW", "tx_power_dbm")
        assert written == pytest.approx(10 * math.log10(milliwatts), abs=5e-3)


def test_a_comma_that_may_mean_two_numbers_gets_both():
    assert remedy("1,000", "") == "write 1000, or 1.000 if the comma begins the decimals"
    assert remedy("1,000", "", whole=True) == "write 1000"
    assert "write the number in that unit" in remedy("1,000 MHz", "bandwidth_hz")


def test_months_and_years_have_no_length():
    assert remedy("P5M", "time_s") is None
    assert remedy("P1Y", "time_s") is None


def test_a_time_with_one_colon_gets_both_meanings():
    assert remedy("1:30", "deadline_s").endswith("write 90 for minutes and seconds, or 5400 for hours and minutes")


@pytest.mark.parametrize(("text", "least"), [("1.000", 1), ("10.000", 10), ("250.000", 250)])
def test_a_point_before_three_zeros_may_separate_thousands(text, least):
    """Of 10.000 devices there may be ten or ten thousand."""
    with pytest.raises(InputError) as error:
        load({}, [f"devices.count={text}"])
    ending = f"write {least}, or {1000 * least} if the point separates thousands"
    assert error.value.faults[0].endswith(ending)
    assert load({}, [f"radio.bandwidth_hz={text}"]).radio.bandwidth_hz == least


def test_a_sweep_writes_a_number_with_three_zeros_as_any_other():
    value = parse("1.000")[0]
    assert yaml.safe_dump({"lr": value}) == "lr: 1.0\n"
    assert yaml.safe_dump(load({}, ["training.lr=1.000"]).model_dump(mode="json")["training"]["lr"]) == "1.0\n...\n"


def test_units_that_differ_by_case_alone_are_not_guessed():
    assert "1e" not in remedy("1 MJ", "capacity_s")
    assert remedy("5 mw", "power_w") == "the key is in W: write the number in that unit, without the unit"
    assert remedy("5 mW", "power_w") == "the key is in W: write 0.005"


@pytest.mark.parametrize("text", ["20e6", "0.2e9", "1e-3", "5", "-76", ".5", "5."])
def test_number_in_quotes_is_reported_as_text(text):
    """`yaml.safe_load` makes text of 20e6, and the mapping then comes to `edgefl.run`."""
    with pytest.raises(InputError, match=f"it is text: write {text} without quotes, or convert what yaml.safe_load"):
        load({"radio": {"bandwidth_hz": text}})


@pytest.mark.parametrize("text", ["fast", "", "[1, 2]", "1e", "1e6.5", "1/0", "5-", "1.5.2", "1,2,3"])
def test_other_texts_have_no_remedy(text):
    assert remedy(text, "bandwidth_hz") is None


@pytest.mark.parametrize("text", ["inf", "-inf", "Infinity", "+Inf"])
def test_infinite_numbers_are_refused_as_such(text):
    assert remedy(text, "lr") == "write a finite number"


@pytest.mark.parametrize("text", ["None", "none", "nan", "NaN", ".nan", "n/a"])
def test_other_words_for_nothing_are_written_null(text):
    with pytest.raises(InputError, match=r"write null, or leave the key out$"):
        load({}, [f"training.lr={text}"])
    assert load({}, ["training.lr=null"]) == load({}, ["training.lr=~"]) == load({})


@pytest.mark.parametrize(
    ("override", "ending"),
    [
        ("radio.bandwidth_hz=20 MHz", "write 20e6"),
        ("devices.cpu_hz={uniform: [1 GHz, 2 GHz]}", "write 2e9"),  # the unit is that of the key above
        ("devices.tx_power_dbm=200 mW", 'or a distribution, got "200 mW": the key is in dBm: write 23.01'),
        ("devices.cpu_hz=[1e9, 2e9, 3e9]", "or {file: x.csv, column: cpu_hz} for all devices"),
        ("server.participants=0.1", "of 100 devices 0.1 are 10"),
        ("server.participants=10 %", "10 % of 100 are 10"),
        ("targets=[80 %]", "write 0.8"),
        ("training.batch_size=1k", "write 1000"),
        ("report.device_losses=yes", "write true"),
        ("report.device_losses=off", "write false"),
        ("report.device_losses=1", "write true"),
        ("name=2026", "write it in quotes, as in '2026'"),
        ("name=true", "write it in quotes, as in 'true'"),
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


@pytest.mark.parametrize("written", ["23e2345", ".Infinit∞", "1e2a", ".1two3", "0_e0", "1_e7", "∞"])
def test_texts_that_resemble_a_number_are_never_taken_for_one(tmp_path, written):
    path = tmp_path / "scenario.yaml"
    path.write_text(f"training:\n  lr: {written}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"scenario.yaml:2: training.lr: must be a (finite )?number, got "):
        load(path)
