"""One device out of reach: its transfer fails in time, and earlier events cut it short exactly."""

import pytest
from server_cases import BASE, BITS, assert_same, check_books

import edgefl
from edgefl.radio.prices.pricing import Pricing

LINK_FAILURE_S = 100.0
HASTY = {"time_to_trigger_s": 0.16, "filter_k": 4}
LOST = {"choice": [23.0, 23.0, -150.0]}  # dBm: about a third of the devices get nothing through
DEVICES = {**BASE["devices"], "count": 9, "tx_power_dbm": LOST, "idle_power_w": 0.01}
CUT = {
    "deadline": {"server": {"policy": "deadline", "deadline_s": 3.0}},
    "deadline, kept": {"server": {"policy": {"kind": "deadline", "late": "keep"}, "deadline_s": 3.0}},
    "departure": {
        "churn": {"kind": "poisson", "arrivals_per_s": 0.5, "stay_s": {"exponential": 10.0}},
        "server": {"policy": "deadline", "deadline_s": 20.0},
    },
    "battery": {"devices": {**DEVICES, "idle_power_w": 0.05, "battery": {"capacity_j": 0.2}}, "rounds": 1},
    "asynchronous, until a time": {"server": {"policy": "asynchronous"}, "stop": {"time_s": 0.2}, "rounds": 2000},
    "asynchronous, to the end": {"server": {"policy": "asynchronous"}, "rounds": 6},
    "buffered": {"server": {"policy": {"kind": "buffered", "buffer": 3}}, "rounds": 3},
    "sessions": {
        "sessions": {"count": 2, "rounds": 1},
        "server": {"policy": "deadline", "deadline_s": 3.0},
        "rounds": None,
    },
}


def run(**changes):
    changes = {key: value for key, value in {**BASE, "devices": DEVICES, **changes}.items() if value is not None}
    return edgefl.run(changes, train=False)


OVERLAPPING = ["deadline, kept", "asynchronous, until a time", "asynchronous, to the end", "buffered"]
PAIRS = [
    *[(case, "processor", "slots", "none") for case in CUT],
    *[(case, "fixed", "slots", "rayleigh") for case in CUT if case not in OVERLAPPING],
    ("deadline", "fixed", "fast", "rayleigh"),
    ("battery", "fixed", "fast", "none"),
    ("departure", "processor", "fast", "none"),
    ("asynchronous, until a time", "processor", "fast", "rayleigh"),
]


@pytest.mark.oracle
@pytest.mark.parametrize(("case", "sharing", "transfer", "fading"), PAIRS)
def test_events_cut_hopeless_transfers_short_as_under_a_longest_time(case, sharing, transfer, fading):
    """A longest time of a quarter of an hour ends nothing here, so the rows must be the same."""
    tdd = {"downlink": 0.5, "uplink": 0.5}  # in the other half of the time a device draws idle power
    radio = {**BASE["radio"], "sharing": sharing, "transfer": transfer, "fading": fading, "tdd": tdd}
    found = []
    for faults in ({}, {"max_transfer_s": 900.0}):
        result = run(**CUT[case], radio={**radio, "faults": faults})
        assert result.status == "finished", result.error
        found.append(result)
    free, bounded = found
    cut = free.devices[(free.devices["status"] != "received") & (free.devices["upload_s"] > 0)]
    assert len(cut)
    assert set(cut["status"]) <= {"late", "departed", "unfinished"}
    assert (free.devices["upload_s"] < LINK_FAILURE_S).all()
    assert_same(free, bounded)
    if case == "deadline":
        check_books(free.rounds, free.devices, free.summary)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("policy", "sharing"),
    [("synchronous", "fixed"), ("synchronous", "processor"), ("hierarchical", "processor"), ("sequential", "fixed")],
)
def test_uncut_hopeless_transfer_fails_its_radio_link(policy, sharing):
    result = run(server={"policy": policy}, rounds=2, radio={**BASE["radio"], "sharing": sharing})
    assert result.status == "finished", result.error
    failed = result.devices[result.devices["status"] == "upload_failed"]
    assert len(failed)
    assert failed["upload_s"].to_numpy() == pytest.approx(LINK_FAILURE_S, abs=0.001)
    assert (failed["bytes_up"] < BITS / 8 / 100).all()
    assert (result.devices["status"] == "received").sum() > len(failed)
    assert (result.rounds["received"] > 0).all()
    assert set(result.devices["status"]) == {"received", "upload_failed"}
    if policy == "synchronous":
        check_books(result.rounds, result.devices, result.summary)


def test_a_failed_link_costs_what_the_device_has_sent_meanwhile():
    """With a key of 2 s: two seconds of its power in each round."""
    result = run(rounds=3, radio={**BASE["radio"], "faults": {"link_failure_s": 2.0}})
    failed = result.devices[result.devices["status"] == "upload_failed"]
    assert len(failed)
    assert failed["upload_s"].to_numpy() == pytest.approx(2.0)
    assert failed["tx_energy_j"].to_numpy() == pytest.approx(2.0 * 10 ** (-15 - 3))
    assert (result.rounds["duration_s"] < 3.0).all()


@pytest.mark.parametrize("transfer", ["slots", "fast"])
@pytest.mark.parametrize("leaves", [False, True], ids=["arrives", "leaves"])
def test_handover_checks_again_whether_the_link_is_hopeless(tmp_path, transfer, leaves):
    """A device passes from a base station out of reach to one nearby after half a minute; and the reverse way round.

    The loss grows with the 12th power of the distance: 2 km away nothing gets through. Nearby the download takes 43 s.
    """
    far_m = -4000.0
    near_m = 0.0
    xs_m = [(0.0, -2200.0), (30.0, -2200.0), (30.05, -50.0), (400.0, -50.0)]
    if leaves:
        xs_m = [(0.0, -50.0), (30.0, -50.0), (30.05, -2200.0), (400.0, -2200.0)]
    trace = tmp_path / "trace.csv"
    trace.write_text("time_s,device,x_m,y_m\n" + "".join(f"{t},0,{x},0\n" for t, x in xs_m))
    cells = {"layout": "listed", "positions_m": [[far_m, 0], [near_m, 0]], "radius_m": 6000.0, "handover": HASTY}
    propagation = {"kind": "log_distance", "exponent": 12.0, "reference_loss_db": 0.0, "shadowing_db": 0.0}
    radio = {**BASE["radio"], "propagation": propagation, "sharing": "processor", "transfer": transfer,
             "spatial_consistency": True, "bandwidth_hz": 1e4, "server_tx_power_dbm": 115.0}  # fmt: skip
    model = {"kind": "mlp", "cost": {"parameters": 200_000, "flops_per_parameter": 5.0}}
    mobility = {"kind": "trace", "path": str(trace)}
    devices = {"count": 1, "tx_power_dbm": 115.0}
    result = run(rounds=1, devices=devices, radio=radio, cells=cells, mobility=mobility, model=model)
    assert result.status == "finished", result.error
    row = result.devices.iloc[0]
    assert result.rounds["handovers"].tolist() == [1]
    if leaves:
        assert row["status"] == "download_failed"
        assert 30 + LINK_FAILURE_S < row["download_s"] < 32 + LINK_FAILURE_S
        assert 30 / 44 < row["bytes_down"] / 800_000 < 32 / 43
    else:
        assert row["status"] == "received"
        assert 30 + 43 < row["download_s"] < 32 + 44


@pytest.mark.oracle
@pytest.mark.parametrize("fading", ["rayleigh", "none", "block", "jakes"])
@pytest.mark.parametrize("deadline_s", [0.02, 0.0405, 0.3])
def test_deadline_saves_slots_without_changing_the_result(deadline_s, fading, monkeypatch):
    """Some are cut in their download, some in their upload: the rows are those of transfers walked whole."""
    radio = {**BASE["radio"], "fading": fading, "bandwidth_hz": 1e6, "shadowing_db": 4.0}
    server = {"policy": "deadline", "deadline_s": deadline_s}
    walked = []
    original = Pricing._price

    def note(pricing, *arguments):
        priced = original(pricing, *arguments)
        walked.append(int(priced.slots.max(initial=0)))
        return priced

    monkeypatch.setattr(Pricing, "_price", note)
    found = []
    for faults in ({}, {"max_transfer_s": 900.0}):
        found.append(run(rounds=2, server=server, radio={**radio, "faults": faults}, devices=BASE["devices"]))
        if not faults:
            assert max(walked) <= deadline_s / 0.0005 + 3
    assert_same(*found)
    assert (found[0].devices["status"] == "late").any()
    assert max(walked) > deadline_s / 0.0005 + 3


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("way", ["download", "upload"])
def test_a_run_in_which_no_device_can_finish_is_refused(sharing, way):
    radio = {**BASE["radio"], "sharing": sharing}
    devices = DEVICES
    if way == "download":
        radio["server_tx_power_dbm"] = -150.0
    else:
        devices = {**DEVICES, "tx_power_dbm": -150.0}
    result = run(radio=radio, devices=devices)
    assert result.status == "failed"
    key = "radio.server_tx_power_dbm" if way == "download" else "devices.tx_power_dbm"
    text = f"round 1: no device can finish: each {way}, such as device 0's, needs more than 20000000 slots: "
    assert result.error.startswith(text + f"raise {key} or radio.bandwidth_hz")
    radio["faults"] = {"max_transfer_s": 1.0}
    assert run(radio=radio, devices=devices).status == "finished"


def test_one_lost_participant_does_not_refuse_the_run(tmp_path):
    """Only device 0 takes part, and it is lost; another one could."""
    devices = {**DEVICES, "tx_power_dbm": -150.0}
    server = {"selection": {"kind": "schedule", "rounds": [[0]]}, "participants": 1}
    assert run(devices=devices, server=server, rounds=1).status == "failed"
    powers = tmp_path / "powers.csv"
    powers.write_text("dbm\n-150\n" + "23\n" * 8)
    devices = {**DEVICES, "tx_power_dbm": {"file": str(powers), "column": "dbm"}}
    result = run(devices=devices, server=server, rounds=1)
    assert result.status == "finished"
    assert result.devices["status"].tolist() == ["upload_failed"]
