"""What-if over recorded links: SNRs follow powers and bands in decibels, and what no recording tells is refused."""

import json

import numpy as np
import pytest

import edgefl

COUNT = 4
BAND_HZ = 8e6
BITS = 32 * 200_000  # of the model
OWN_DBM = 23.0
SNR_DB = {"down": 12.0, "up": 6.0}
BASE = {
    "rounds": 2,
    "data": {"dataset": "digits"},
    "model": {"kind": "logistic", "cost": {"parameters": 200_000, "flops_per_parameter": 6}},
    "devices": {"count": COUNT, "cpu_hz": 1e9, "tx_power_dbm": OWN_DBM},
    "server": {"participants": COUNT},
}


def finished(folder, kind, **changes):
    """The folder of a run over links that stay as they were recorded."""
    values = {"snr_db": (SNR_DB["down"], SNR_DB["up"]), "bps": (4e6, 2e6)}[kind]
    lines = [f"device,time_s,downlink_{kind},uplink_{kind}"]
    lines += [f"{device},0,{values[0]},{values[1]}" for device in range(COUNT)]
    path = folder / "links.csv"
    path.write_text("\n".join(lines) + "\n")
    radio = {"trace": {"kind": "csv", "path": str(path)}}
    if kind == "snr_db":
        radio["bandwidth_hz"] = BAND_HZ
    edgefl.run({**BASE, "radio": radio, **changes}, out=folder / "run", train=False)
    return folder / "run"


def closed_form(tx_power_dbm, band_hz):
    """Time and energy of sending and receiving in a run, by the Shannon rate at shifted SNRs on a quarter of a band."""
    wider_db = 10 * np.log10(band_hz / BAND_HZ)
    share_hz = band_hz / COUNT
    down_s = BITS / (share_hz * np.log2(1 + 10 ** ((SNR_DB["down"] - wider_db) / 10)))
    up_db = SNR_DB["up"] - wider_db + tx_power_dbm - OWN_DBM
    up_s = BITS / (share_hz * np.log2(1 + 10 ** (up_db / 10)))
    tx_w = 10 ** (tx_power_dbm / 10) / 1000
    rounds = BASE["rounds"]
    return rounds * (down_s + up_s), rounds * COUNT * (0.1 * down_s + tx_w * up_s)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("devices.tx_power_dbm", 13),
        ("devices.tx_power_dbm", 30),
        ("radio.bandwidth_hz", 2e6),
        ("radio.bandwidth_hz", 80e6),
    ],
)
def test_snrs_are_shifted_by_the_change_in_decibels(tmp_path, key, value):
    folder = finished(tmp_path, "snr_db")
    own, priced = edgefl.what_if(folder, {key: [value]}).to_dict("records")
    changed = {"devices.tx_power_dbm": OWN_DBM, "radio.bandwidth_hz": BAND_HZ} | {key: value}
    of_run = closed_form(OWN_DBM, BAND_HZ)
    of_point = closed_form(*changed.values())
    # Computing is the same in both.
    assert priced["time_s"] - own["time_s"] == pytest.approx(of_point[0] - of_run[0], rel=1e-9)
    assert priced["energy_j"] - own["energy_j"] == pytest.approx(of_point[1] - of_run[1], rel=1e-9)


@pytest.mark.oracle
def test_a_point_equals_a_run_that_names_the_power_of_its_recordings(tmp_path):
    folder = finished(tmp_path, "snr_db")
    priced = edgefl.what_if(folder, {"devices.tx_power_dbm": [10]}).iloc[1]
    overrides = ["devices.tx_power_dbm=10", f"radio.trace.tx_power_dbm={OWN_DBM}"]
    other = edgefl.run(folder / "scenario.yaml", overrides=overrides, train=False)
    assert priced[["time_s", "energy_j"]].tolist() == [other.summary["time_s"], other.summary["energy_j"]]


def test_powers_that_differ_need_the_power_of_the_recordings(tmp_path):
    devices = {**BASE["devices"], "tx_power_dbm": {"uniform": [10, 20]}}
    folder = finished(tmp_path, "snr_db", devices=devices)
    with pytest.raises(edgefl.InputError, match=r"different devices.tx_power_dbm.*set radio.trace.tx_power_dbm"):
        edgefl.what_if(folder, {"devices.tx_power_dbm": [10]})


@pytest.mark.oracle
def test_a_power_over_recorded_rates_is_refused(tmp_path):
    folder = finished(tmp_path, "bps")
    with pytest.raises(edgefl.InputError) as caught:
        edgefl.what_if(folder, {"devices.tx_power_dbm": [10]})
    (line,) = caught.value.faults
    assert line == (
        "what_if: devices.tx_power_dbm: sets a power, and rates were recorded, which do not tell how they follow it: "
        "record SNRs, or run it with a model of the channel instead of radio.trace"
    )
    assert not (folder / "what_if.csv").exists()
    edgefl.what_if(folder, {"devices.rx_power_w": [0.2]})  # no link depends on it


def test_recorded_links_have_no_map(tmp_path):
    page = edgefl.report([finished(tmp_path, "bps")], tmp_path / "page.html").read_text()
    figures = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])["figures"]
    assert "timeline-0" in figures
    assert "map-0" not in figures
    assert "path loss" not in page
