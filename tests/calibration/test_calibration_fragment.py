"""The sections that a calibration prints are those of a scenario, and emulate what was measured."""

import pytest
import yaml
from calibration_cases import LAW, NUMBERS, counts_text, downloads, log_text, networks, training

import edgefl
from edgefl.calibration.calibration import calibrate, write
from edgefl.scenario.load import load
from edgefl.scenario.yaml_reader import parse

SIZE = 1e6  # bytes of a message
MODEL = {"kind": "logistic", "cost": {"parameters": int(SIZE / 4), "flops_per_parameter": 6}}
BASE = {"rounds": 1, "data": {"dataset": "digits"}, "cells": {"radius_m": 100}, "model": MODEL}


def powered(device, number):
    """Rows of all phases with joules."""
    rows = [
        {"phase": "setup", "seconds": 6, "joules": 30},
        {"phase": "idle", "seconds": 100, "joules": 270},
        *({"phase": "download", "seconds": s, "bytes": SIZE, "joules": 3.1 * s + 8 * 0.02} for s in (0.5, 1, 2)),
        *({"phase": "upload", "seconds": s, "bytes": SIZE, "joules": 3.3 * s + 8 * 0.05} for s in (0.5, 1, 2)),
    ]
    return [{**row, "device": device, "round": str(number)} for row in rows]


def rows_of_two_types(counts):
    rows = []
    for device in ("pi4/a", "pi4/b", "pi5"):
        factor = 1.1 if device == "pi4/b" else 1.0
        trained = training(LAW, counts, device, rounds="12", factor=lambda *_, factor=factor: factor)
        rows += [{**row, "clock_hz": 1.5e9, "joules": 6.5 * row["seconds"]} for row in trained]
        rows += powered(device, 1)
    return rows


@pytest.fixture
def sections(tmp_path):
    """The sections that are printed about a log."""

    def about(rows, counts=None):
        (tmp_path / "log.csv").write_text(log_text(rows))
        table = None
        if counts is not None:
            table = tmp_path / "counts.csv"
            table.write_text(counts_text(counts))
        return parse(calibrate(tmp_path / "log.csv", table).scenario)[0]

    return about


@pytest.mark.oracle
def test_all_keys_of_two_types(sections):
    found = sections(rows_of_two_types(networks(9)), networks(9))
    devices = found["devices"]
    assert devices["count"] == 3
    first, second = devices["groups"]
    assert (first["name"], first["count"], second["name"], second["count"]) == ("pi4", 2, "pi5", 1)
    assert second["compute"] == pytest.approx({**NUMBERS, "jitter": 0}, rel=1e-5, abs=1e-9)
    assert first["compute"]["speed"]["lognormal"] == pytest.approx([0, 0.0673945], rel=1e-5)  # ln(1.1) / sqrt(2)
    for group in (first, second):
        assert group["cpu_hz"] == 1.5e9
        assert group["cpu_static_w"] == 6.5
        assert group["capacitance"] == 1e-40
        assert (group["setup_s"], group["setup_j"], group["idle_power_w"]) == (6, 30, 2.7)
        assert group["rx_power_w"] == 3.1
        sent_w = 10 ** (group["tx_power_dbm"] / 10) / 1e3
        radio = group["radio_energy"]
        assert radio["circuit_w"] + sent_w == pytest.approx(3.3, rel=1e-5)
        assert (radio["rx_j_per_mbit"], radio["tx_j_per_mbit"]) == pytest.approx((0.02, 0.05))


@pytest.mark.oracle
@pytest.mark.parametrize("with_counts", [True, False])
def test_scenario_loads_the_sections(tmp_path, with_counts):
    counts = networks(9)
    rows = [*rows_of_two_types(counts), *downloads(16e6, 0.2, {"a": 1e6, "b": 4e6}, 3, "1")]
    (tmp_path / "log.csv").write_text(log_text(rows))
    (tmp_path / "counts.csv").write_text(counts_text(counts))
    found = calibrate(tmp_path / "log.csv", tmp_path / "counts.csv" if with_counts else None)
    write(found, tmp_path / "out", overwrite=False, with_picture=False)
    sections, _ = parse((tmp_path / "out/scenario.yaml").read_text())
    if not with_counts:
        assert sections["devices"]["groups"][0]["compute"]["measured"] == {"path": "times.csv", "device": "pi4"}
        assert len((tmp_path / "out/times.csv").read_text().splitlines()) == 1 + 2 * 9
    scenario = load({**BASE, **sections}, here=tmp_path / "out")
    assert [group.name for group in scenario.devices.groups] == ["pi4", "pi5", "pi"]


def test_a_powerless_upload_is_still_a_scenario(sections):
    row = {"device": "pi", "phase": "upload", "seconds": 1, "bytes": 1e6, "joules": 0.001}
    assert load({**BASE, **sections([row])}).devices.tx_power_dbm.value == pytest.approx(0)


def test_emulated_transfers_last_as_long_as_measured_ones(sections):
    rows = downloads(16e6, 0.2, {"a": 1e6, "b": 4e6}, 3, "12")
    for device in range(3):
        rows.append({"device": f"pi/{device}", "phase": "upload", "seconds": 1.1, "bytes": 1e6})
        rows.append({"device": f"pi/{device}", "phase": "upload", "seconds": 2.1, "bytes": 2e6})
    found = sections(rows)
    assert found["radio"]["bandwidth_hz"] == 16e6
    result = edgefl.run({**BASE, **found, "server": {"participants": 3}}, train=False)
    slot_s = 0.0005
    bits = 3 * 8 * SIZE
    devices = result.devices
    assert devices["download_s"].to_numpy() == pytest.approx([bits / 16e6] * 3, abs=slot_s)
    # The uploads begin at different times, and the last ends when the link has carried all of them.
    begin_s = 0.2 + devices["download_s"] + devices["compute_s"] + 0.1
    end_s = begin_s + devices["upload_s"]
    assert end_s.max() - begin_s.min() == pytest.approx(bits / 8e6, abs=4 * slot_s)
    assert result.rounds["duration_s"].sum() == pytest.approx(end_s.max(), abs=1e-6)


def test_names_stay_on_their_lines(tmp_path):
    log = tmp_path / "a\nb.csv"
    log.write_text('device,phase,seconds\n"a: ""b"" \\",idle,1\n')
    text = calibrate(log).scenario
    assert text.startswith("# By edgefl calibrate from all rows of 'a\\nb.csv'.\n")
    assert yaml.safe_load(text) == {"devices": {"count": 1}}
