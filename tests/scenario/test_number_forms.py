"""Numbers as people write them: the message says what to write, and that is what they meant."""

import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefl.core.errors import InputError
from edgefl.scenario import load
from edgefl.scenario.key_index import keys_of_members, keys_of_sections
from edgefl.scenario.number_forms import remedy
from edgefl.scenario.overrides import Override
from edgefl.scenario.written_units import unit_of
from edgefl.scenario.yaml_reader import parse

# What a text means, by the unit of the key: worked out by hand, not by the code that is tested.
MEANT = {
    "Hz": {"20 MHz": 20e6, "20MHz": 20e6, "20 mhz": 20e6, "3,5 GHz": 3.5e9, "15 kHz": 15e3, "1 000 MHz": 1e9},
    "s": {"10 ms": 0.01, "1e-3s": 0.001, "5 min": 300, "2 h": 7200, "500 µs": 0.0005},
    "ms": {"10 ms": 10, "0.5 s": 500},
    "ns": {"100 ns": 100, "1 us": 1000},
    "h": {"22 h": 22, "30 min": 0.5},
    "m": {"500 m": 500, "0.5 km": 500},
    "m/s": {"36 km/h": 10, "3 m/s": 3},
    "W": {"200 mW": 0.2, "2 MW": 2e6, "30 dBm": 1, "0 dBW": 1},
    "dBm": {"23 dBm": 23, "1 W": 30, "100 mW": 20, "10 dBW": 40, "−10 dBm": -10},
    "dB": {"3 dB": 3, "-3dB": -3},
    "dBi": {"8 dBi": 8},
    "dBm/Hz": {"-174 dBm/Hz": -174},
    "J": {"5 kJ": 5000, "2.5 Wh": 9000},
    "mAh": {"4000 mAh": 4000, "4 Ah": 4000},
    "V": {"3.85 V": 3.85, "3850 mV": 3.85},
    "J/Mbit": {"2 J/Mbit": 2},
    "B": {"2 MB": 2e6, "8 bit": 1},
    "bit": {"2 Mbit": 2e6, "1 MB": 8e6},
    "bit/s": {"100 Mbit/s": 100e6, "100 Mbps": 100e6, "1 MB/s": 8e6},
    "B/s": {"2 GB/s": 2e9, "8 Mbit/s": 1e6},
    "operations/s": {"5 GFLOPS": 5e9},
    "1/s": {"2 1/s": 2},
    "bit/s/Hz": {"5 bit/s/Hz": 5},
    "degrees": {"65 degrees": 65},
    "pixels": {"32 pixels": 32},
    "": {"10 %": 0.1, "10%": 0.1},
}

KEYS = {*keys_of_sections(), *keys_of_members()}


def suggested(text, key):
    """Return the number that a remedy proposes; None if it proposes none."""
    found = re.search(r"write ([-+.\deE]+)$", remedy(text, key) or "")
    return float(found[1]) if found else None


def test_a_number_with_a_unit_is_converted_to_that_of_each_key():
    units = {key: unit_of(key.rpartition(".")[2]) for key in KEYS}
    assert set(units.values()) == set(MEANT)
    for key, unit in units.items():
        for text, meant in MEANT[unit].items():
            assert suggested(text, key.rpartition(".")[2]) == pytest.approx(meant, rel=1e-12), (key, text)


def test_a_unit_of_another_quantity_gets_no_number():
    for unit, texts in MEANT.items():
        for text in texts:
            for key in ("carrier_hz", "time_s", "rounds"):
                if unit and unit not in {"Hz", "s", "ms", "ns", "h"}:
                    assert suggested(text, key) is None, (text, key)
    assert remedy("5 mw", "power_w") == "the key is in W: write the number in that unit, without the unit"  # MW or mW?
    assert remedy("10 ms", "bandwidth_hz").startswith("the key is in Hz: ")
    assert remedy("99999 dBm", "power_w").startswith("the key is in W: ")
    assert remedy("1,000 MHz", "bandwidth_hz").endswith("without the unit")  # one or a thousand?
    assert remedy("1,000", "count", whole=True) == "write 1000"
    assert remedy("20 MHz", "rounds", whole=True) == "the key has no unit: write only the number"


def faults_of(scenario, overrides):
    """Return the lines about what is wrong with a scenario."""
    try:
        load(scenario, overrides)
    except InputError as error:
        return error.faults
    return ()


ROWS = [
    ("radio.bandwidth_hz=20 MHz", "the key is in Hz: write 20e6"),
    ("devices.cpu_hz={uniform: [1 GHz, 2 GHz]}", "write 2e9"),  # the unit is that of the key above
    ("devices.tx_power_dbm=200 mW", 'or a distribution, got "200 mW": the key is in dBm: write 23.01'),
    ("devices.cpu_hz=[1e9, 2e9, 3e9]", "or {file: x.csv, column: cpu_hz}"),
    ("radio.bandwidth_hz=20 000 000", "write 20000000"),
    ("radio.bandwidth_hz=20_000_000", "write 20000000"),
    ("radio.bandwidth_hz=20.000.000", "write 20000000"),
    ("radio.bandwidth_hz=20'000'000", "write 20000000"),
    ("radio.carrier_hz=3,5e9", "write 3.5e9"),
    ("training.lr=0,1", "write 0.1"),
    ("training.lr=1,234.5", "write 1234.5"),
    ("training.lr=1,000", "write 1000, or 1.000 if the comma begins the decimals"),
    ("devices.count=1,000", "write 1000"),
    ("devices.count=1 000", "write 1000"),
    ("devices.count=1\u00a0000", "write 1000"),
    ("devices.count=10.000", "write 10, or 10000 if the point separates thousands"),
    ("server.participants=0.1", "of 100 devices 0.1 are 10"),
    ("server.participants=10 %", "it is a number, not a share"),
    ("targets=[80 %]", "write 0.8"),
    ("stop.accuracy=95", "95 % are written 0.95"),
    ("radio.bandwidth_hz='20e6'", "it is text: write 20e6 without quotes, or convert what yaml.safe_load has read"),
    ("seed='0'", "it is text: write 0 without quotes"),
    ("report.device_losses=yes", "write true"),
    ("report.device_losses=off", "write false"),
    ("report.device_losses=1", "write true"),
    ("name=2026", "write it in quotes, as in '2026'"),
    ("training.lr=None", "write null, or leave the key out"),
    ("training.lr=NaN", "write null, or leave the key out"),
    ("training.lr=inf", "write a finite number"),
    ("rounds=${rounds}", "variables and templates are not filled in: write the value itself"),
    ("seed=[1, 2, 3]", "a sweep file runs several, as seeds: [...]"),
    ("training.lr=[0.1, 0.2]", "a sweep file runs several, as grid: {training.lr: [...]}"),
    ("radio={bandwidth_hz: 20,5}", "write numbers with a point and no separators, as in 0.1 or 20e6"),
    ("radio={bandwidth_hz: 20,000,000}", "write numbers without separators, as in 20e6"),
    ("rounds=10.5", "must be a whole number, got 10.5"),
    ("devices.cpu_hz={mean: 1e9}", "must be a number, {uniform: [a, b]}, {normal: [mean, std]}"),
]


@pytest.mark.parametrize(("override", "words"), ROWS)
def test_a_wrong_number_gets_a_line_that_says_what_to_write(override, words):
    line = faults_of({}, [override])[-1]
    assert line.startswith(f"--set {override}: ")
    assert words in line


TEXTS = st.one_of(
    st.text(max_size=12),
    st.from_regex(r"[-+]?[0-9]{1,4}([.,' ][0-9]{3}){0,2}([.,][0-9]+)? ?[a-zA-Z%/]{0,5}", fullmatch=True),
)
VALUES = st.one_of(
    TEXTS,
    st.booleans(),
    st.floats(),
    st.lists(TEXTS, max_size=3),
    st.dictionaries(st.text(max_size=5), TEXTS, max_size=2),
)
REMEDY = re.compile(
    r"must |write |written |set |did you mean|known|need|is required|no such |leave |cannot be read|holds |no effect"
)


@pytest.mark.oracle
@settings(max_examples=100, derandomize=True)
@given(st.sampled_from(sorted(keys_of_sections())), VALUES)
def test_each_wrong_value_of_each_key_gets_a_line_with_place_key_and_remedy(key, value):
    lines = faults_of({}, [Override(tuple(key.split(".")), value, "here")])
    for line in lines:
        assert line.startswith(("here: ", "scenario: "))
        assert REMEDY.search(line), line
    assert not lines or any(key.partition(".")[0] in line for line in lines), lines


@pytest.mark.oracle
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["bandwidth_hz", "deadline_s", "lr"]))
def test_a_number_between_separators_is_proposed_as_it_was_meant(number, key):
    # Two decimals are written, and a tie lies half of one away.
    grouped = f"{number:,.2f}"
    if grouped.count(",") > 1:
        assert suggested(grouped, key) == pytest.approx(number, abs=0.00501)
    comma = f"{number:.2f}".replace(".", ",")
    assert suggested(comma, key) == pytest.approx(number, abs=0.00501)


@pytest.mark.parametrize("written", ["23e2345", ".Infinit∞", "1e2a", ".1two3", "0_e0", "1_e7", "∞", "[1, 2]", "1/0"])
def test_texts_that_resemble_a_number_are_never_taken_for_one(tmp_path, written):
    path = tmp_path / "scenario.yaml"
    path.write_text(f"training:\n  lr: {written}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"scenario.yaml:2: training.lr: must be a (finite )?number, got "):
        load(path)


def test_other_numbers_are_read_as_they_are_written():
    assert load({}, ["radio.bandwidth_hz=10.000"]).radio.bandwidth_hz == 10
    assert load({}, ["training.lr=null"]) == load({}, ["training.lr=~"]) == load({})
    for text in ("1e1", "10.0", "0xA", "+10", "10e0"):
        assert load({}, [f"rounds={text}"]).rounds == 10


def test_a_sweep_writes_a_number_with_three_zeros_as_any_other():
    value = parse("1.000")[0]
    assert yaml.safe_dump({"lr": value}) == "lr: 1.0\n"
    assert yaml.safe_dump(load({}, ["training.lr=1.000"]).model_dump(mode="json")["training"]["lr"]) == "1.0\n...\n"
