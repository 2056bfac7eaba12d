"""Presets: sets of keys with sources, which keys beside them override."""

import typing

import numpy as np
import pytest
import yaml

from edgefl import InputError
from edgefl.radio import radio_section
from edgefl.scenario import dump, load, presets
from edgefl.scenario.usual_efficiency import median_bps_hz
from edgefl.world import devices_section
from edgefl.world.compute import cpu_power_w, flops_per_s

ROOM = {"cells": {"radius_m": 20, "bs_height_m": 3}}  # indoors, as the preset's own comment says
ALL = [(section, name) for section in presets.SECTIONS for name in presets.names(section)]
RADIOS = [name for name in presets.names("radio") if name != "dynamic_devices"]
DEVICES = presets.names("devices")


def of(section, name, **keys):
    """Return the scenario of a preset."""
    rest = ROOM if name == "wifi_shared" else {}
    return load({section: {"preset": name, **keys}, **rest})


def test_the_sections_know_the_files():
    assert list(typing.get_args(radio_section.Preset)) == presets.names("radio")
    assert list(typing.get_args(devices_section.Preset)) == presets.names("devices")


@pytest.mark.parametrize(("section", "name"), ALL)
def test_a_preset_is_nothing_but_its_keys(section, name):
    scenario = of(section, name)
    by_hand = load({section: dict(presets.read(section, name)), **(ROOM if name == "wifi_shared" else {})})
    assert getattr(scenario, section).model_copy(update={"preset": None}) == getattr(by_hand, section)


@pytest.mark.parametrize(("section", "name"), ALL)
def test_a_written_scenario_has_all_keys_and_means_the_same(section, name):
    scenario = of(section, name)
    written = yaml.safe_load(dump(scenario))
    for key in presets.read(section, name):
        assert written[section][key] is not None
    assert load(scenario.model_dump(mode="json")) == scenario


@pytest.mark.parametrize(("section", "name"), ALL)
def test_every_number_stands_beside_its_source(section, name):
    before = ""
    for line in presets.text(section, name).splitlines():
        value = line.partition(": ")[2]
        if not line.lstrip().startswith("#") and any(letter.isdigit() for letter in value.partition("#")[0]):
            assert "#" in value or before.startswith("#"), line
        before = line


def test_other_keys_override_a_preset_at_any_depth():
    radio = load(
        {"radio": {"preset": "nr", "carrier_hz": 3.6e9, "overhead": {"uplink": 0.1}, "propagation": {"indoor": 0.5}}}
    ).radio
    assert radio.carrier_hz == 3.6e9
    assert (radio.overhead.downlink, radio.overhead.uplink) == (0.14, 0.1)
    assert radio.propagation.label == "umi"
    assert radio.propagation.indoor == 0.5


def test_a_part_of_another_kind_and_a_distribution_are_replaced_as_a_whole():
    radio = load({"radio": {"preset": "lte", "propagation": {"kind": "free_space"}}}).radio
    assert radio.propagation.label == "free_space"
    devices = load({"devices": {"preset": "phone", "cpu_hz": {"normal": [1e9, 1e6]}}}).devices
    assert devices.cpu_hz.normal == (1e9, 1e6)


def test_null_leaves_out_what_a_preset_has():
    scenario = load({"devices": {"preset": "phone", "battery": None}})
    assert scenario.devices.battery is None
    assert load(scenario.model_dump(mode="json")).devices.battery is None


def test_groups_may_name_presets():
    groups = [
        {"name": "phones", "share": 0.5, "preset": "phone"},
        {"name": "watches", "share": 0.5, "preset": "watch", "battery": {"reserve": 0.1}},
    ]
    scenario = load({"devices": {"tx_power_dbm": 20, "groups": groups}})
    phone, watch = scenario.devices.made_of
    assert phone.battery.capacity_j.value == 55e3
    assert (watch.battery.capacity_j.value, watch.battery.reserve) == (5e3, 0.1)
    assert phone.tx_power_dbm.value == 23  # a group's own keys, its preset's included, win over those beside `count`
    assert load(scenario.model_dump(mode="json")) == scenario


def test_override_keeps_the_preset():
    radio = load({"radio": {"preset": "nr"}}, ["radio.overhead.uplink=0.2"]).radio
    assert (radio.overhead.downlink, radio.overhead.uplink) == (0.14, 0.2)
    assert load({"radio": {"preset": "nr"}}, ["radio.preset=lte"]).radio.carrier_hz == 2e9


def test_fault_at_a_key_of_a_preset_names_the_preset(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(
        "radio:\n  preset: nr\n  power_control: full\nserver: {optimiser: min_time, csi: perfect}\n", encoding="utf-8"
    )
    with pytest.raises(
        InputError, match=r"radio\.rate: .*\(rate comes from radio\.preset: nr; set radio\.rate to override it"
    ):
        load(file)
    file.write_text(
        "radio:\n  preset: nr\n  rate: mcs\n  power_control: full\nserver: {optimiser: min_time, csi: perfect}\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as raised:
        load(file)
    assert "comes from" not in str(raised.value)
    assert ":3: radio.rate" in str(raised.value)


def test_profile_fills_in_keys_like_a_preset_and_leaves_no_path_in_results(tmp_path):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "times.csv").write_text("device,network,batch_size,step_s\nmine,mlp,50,0.25\n")
    profile = tmp_path / "profiles" / "mine.yaml"
    profile.write_text("cpu_hz: 2.0e9\ncompute: {measured: {path: times.csv, device: mine, network: mlp}}\n")
    file = tmp_path / "a.yaml"
    file.write_text("devices: {profile: profiles/mine.yaml, flops_per_cycle: 3}\n")
    scenario = load(file)
    assert scenario.devices.compute.measured.path == tmp_path / "profiles" / "times.csv"
    assert (scenario.devices.cpu_hz.value, scenario.devices.flops_per_cycle.value) == (2e9, 3)
    assert scenario.devices.source == "mine"
    profile.unlink()
    assert load(scenario.model_dump(mode="json")) == scenario


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "mine.yaml cannot be read: No such file or directory"),
        ("- 3\n", "mine.yaml must be a mapping of keys of devices to values"),
        ("a: [\n", "mine.yaml:2: not valid YAML: a bracket is not closed"),
        (b"\xff\xfe", "mine.yaml is not a text in UTF-8"),
        ("cpu_hz: 1.0e9\nspeed: 3\n", "mine.yaml:2: speed: unknown key"),
        ("cpu_hz: 1.0e9\ncompute:\n  jitter: 9\n", "mine.yaml:3: compute.jitter: must be <= 2, got 9"),
        ("held_out: {power: {sigma: 0, numbers: 1}}\n", "mine.yaml:1: held_out.power.sigma: must be > 0, got 0"),
    ],
)
def test_faults_of_a_profile_name_its_line(tmp_path, content, fault):
    if content is not None:
        (tmp_path / "mine.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    file = tmp_path / "a.yaml"
    file.write_text("name: a\ndevices:\n  groups: [{name: b, share: 1, profile: mine.yaml}]\n")
    with pytest.raises(InputError) as refused:
        load(file)
    assert str(refused.value).startswith(f"{file}:3: devices.groups.0.profile: {fault}")
    file.write_text("name: a\ndevices: {preset: phone, profile: mine.yaml}\n")
    with pytest.raises(InputError, match="gives the keys that preset gives, too: leave one of them out"):
        load(file)


def test_changing_the_preset_of_a_loaded_scenario_is_refused():
    from edgefl.scenario.load import changed

    with pytest.raises(InputError, match="has the keys of its preset already"):
        changed(load({"radio": {"preset": "nr"}}), ["radio.preset=lte"])
    with pytest.raises(InputError, match="has the keys of its profile already"):
        changed(load({}), ["devices.profile=mine.yaml"])


# What the numbers mean.


@pytest.mark.parametrize("name", RADIOS)
def test_no_radio_carries_more_than_its_standard(name):
    """A layer of 256QAM: 7.41 bit/s/Hz (TS 38.214); 64QAM 5.55; 802.11ac 78 Mbit/s in 20 MHz; NB-IoT 250 in 180 kHz."""
    most = {"nr": 7.4063, "nr_fr2": 5.5547, "lte": 5.5547, "wifi_shared": 3.9, "nb_iot": 250 / 180}[name]
    radio = of("radio", name).radio
    assert radio.rate.efficiency().bps_hz(np.array([1e12]))[0] == pytest.approx(most, rel=1e-3)
    assert all(value <= most * 1.001 for value in median_bps_hz(of("radio", name)).values())


@pytest.mark.parametrize("name", ["nr", "nr_fr2"])
def test_the_frame_of_nr_is_dddsu(name):
    """By counting symbols: 3 slots and 10 of 14 symbols of the special one down, one slot and 2 symbols up."""
    tdd = of("radio", name).radio.tdd
    assert tdd.downlink == pytest.approx((3 * 14 + 10) / (5 * 14), abs=1e-6)
    assert tdd.uplink == pytest.approx((14 + 2) / (5 * 14), abs=1e-6)


@pytest.mark.parametrize(("name", "blocks"), [("nr", 51), ("nr_fr2", 66), ("lte", 52)])
def test_resource_blocks(name, blocks):
    """3GPP TS 38.101-1 and -2, Table 5.3.2-1."""
    assert of("radio", name).radio.blocks == blocks


def test_the_overhead_of_lte_counted_by_resource_elements():
    """A block pair has 168: 3 symbols of control, 16 of two antennas' reference signals, 4 of them in the control."""
    overhead = of("radio", "lte").radio.overhead
    assert overhead.downlink == pytest.approx((3 * 12 + 16 - 4) / 168, abs=1e-3)
    assert overhead.uplink == pytest.approx(1 - (1 - 2 / 14) * (1 - 2 / 50), abs=1e-3)


def powers_w(name):
    """Return what a device of a preset draws in each state, at its highest clock."""
    hardware = of("devices", name).devices
    clock_hz = np.array([hardware.cpu_hz.span()[1]])
    one = np.ones(1)
    computing = cpu_power_w(
        clock_hz,
        hardware.flops_per_cycle.span()[1] * one,
        hardware.capacitance.value * one,
        hardware.cpu_static_w.value,
    )[0]
    sent_w = 10 ** (hardware.tx_power_dbm.value / 10) / 1e3
    energy = hardware.radio_energy
    return {
        "computing": computing,
        "sending": sent_w / energy.pa_efficiency.value + energy.circuit_w.value,
        "receiving": hardware.rx_power_w.value,
        "waiting": hardware.idle_power_w.value,
    }


@pytest.mark.parametrize("name", DEVICES)
def test_busy_device_draws_more_than_a_waiting_one(name):
    powers = powers_w(name)
    assert 0 < powers["waiting"] < powers["receiving"]
    assert powers["waiting"] < powers["sending"]
    assert powers["waiting"] < powers["computing"]


def test_the_phone_draws_what_a_whole_phone_was_measured_to_draw():
    """LTE: 2.79 W + 0.0852 W per Mbit/s up to 20 Mbit/s, 2.83 W down (Narayanan et al.); waiting 1.06 W (Huang)."""
    powers = powers_w("phone")
    base_w = of("devices", "phone").devices.battery.base_w.value
    assert base_w + powers["sending"] == pytest.approx(2.79 + 0.0852 * 20, rel=0.01)
    assert base_w + powers["receiving"] == pytest.approx(2.83, rel=0.01)
    assert base_w + powers["waiting"] == pytest.approx(1.06, rel=0.01)


@pytest.mark.parametrize(
    ("name", "measured_w"),
    [("raspberry_pi_4", 6.4), ("raspberry_pi_5", 5.5), ("jetson_nano", 10.0)],
)
def test_busy_boards_draw_the_measured_power(name, measured_w):
    """PidRamble; E2FL, March 2025; the power mode of its maker."""
    assert powers_w(name)["computing"] == pytest.approx(measured_w, rel=0.02)


@pytest.mark.parametrize(
    ("name", "flops", "seconds"),
    [
        ("raspberry_pi_4", 16 * 1_814_073_344 * 6, 10.918),  # ResNet-18, federated-embedded-vision
        ("raspberry_pi_5", 16 * 1_814_073_344 * 6, 5.843),
    ],
)
def test_boards_take_the_measured_time(name, flops, seconds):
    """Six operations for each multiplication of the forward pass, as `docs/scenario.md` counts."""
    hardware = of("devices", name).devices
    speed = flops_per_s(hardware.cpu_hz.value * np.ones(1), hardware.flops_per_cycle.value * np.ones(1))[0]
    assert flops / speed == pytest.approx(seconds, rel=0.02)


def test_a_slow_phone_is_not_the_thriftiest():
    """The spread of models is not one phone's clock: all draw the same power, so a slow one takes more for the work."""
    hardware = of("devices", "phone").devices
    speeds = hardware.cpu_hz.value * np.array(hardware.flops_per_cycle.span())
    slowest, fastest = speeds / powers_w("phone")["computing"]
    assert slowest < fastest < 20e9  # Gflop/J; an H100 has some 100
