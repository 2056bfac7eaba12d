"""Parts of the radio in pairs: the books hold, a run is its own repetition, and limits agree."""

from pathlib import Path

import pandas as pd
import pytest
from server_cases import ENERGY, TIMES

import edgefl

LINKS = Path(__file__).parents[2] / "scenarios" / "link-traces.csv"
BASE = {
    "rounds": 2,
    "model": {"kind": "logistic", "cost": {"parameters": 1_000_000, "flops_per_parameter": 6.5}},
    "devices": {"count": 8},
    "server": {"participants": 4},
    "radio": {"bandwidth_hz": 5e6},
}
WALK = {"kind": "random_waypoint", "speed_mps": 30.0}
PARTS = {
    "background": {
        "radio": {
            "sharing": "processor",
            "background": {"kind": "poisson", "arrivals_per_s": 5.0, "mean_bits": 1e5, "bps_hz": 1.0},
        }
    },
    "time": {
        "radio": {"large_scale": {"kind": "time", "update_s": 0.5}, "spatial_consistency": True},
        "mobility": WALK,
    },
    "open_loop": {"devices": {"power_control": {"kind": "open_loop", "p0_dbm": -76, "alpha": 0.8}}},
    "bler": {"radio": {"rate": "mcs", "errors": {"kind": "bler"}}},
    "outage": {"radio": {"errors": {"kind": "outage", "threshold_db": 10.0}, "faults": {"attempts": 3}}},
    "handover": {
        "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 60, "handover": {}},
        "radio": {
            "sharing": "processor",
            "spatial_consistency": True,
            "propagation": {"kind": "umi", "out_of_range": "clamp"},
        },
        "mobility": WALK,
    },
    "trace": {"radio": {"kind": "trace", "trace": {"kind": "csv", "path": str(LINKS), "assign": "pool"}}},
    "noma": {"radio": {"sharing": "processor", "uplink": {"kind": "noma", "residual": 0.01}}},
    "pairs": {"radio": {"uplink": {"kind": "noma", "users_per_group": 2}}},
    "edges": {
        "server": {"policy": "hierarchical"},
        "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 60},
        "radio": {"interference": {}, "propagation": {"kind": "umi", "out_of_range": "clamp"}},
    },
    "frame": {"radio": {"tdd": "DDDSU", "overhead": {"uplink": 0.08}}},
    "blocks": {"radio": {"subcarrier_spacing_hz": 15e3, "slot_s": 0.001, "allocation": "proportional"}},
    "split": {
        "server": {"policy": "split"},
        "model": {"kind": "mlp", "cost": None},
        "devices": {"count": 4},
        "training": {"local_steps": 1},
    },
    "deadline": {"server": {"policy": "deadline", "deadline_s": 8.0}},
    "battery": {"devices": {"battery": {"capacity_j": 0.7}}},
}
PAIRS = [
    ("background", "time"),
    ("background", "open_loop"),
    ("background", "handover"),
    ("open_loop", "time"),
    ("open_loop", "handover"),
    ("bler", "handover"),
    ("bler", "time"),
    ("handover", "time"),
    ("trace", "deadline"),
    ("trace", "battery"),
    ("outage", "battery"),
    ("outage", "time"),
    *(("noma", part) for part in ("background", "time", "handover", "open_loop", "bler", "outage", "battery")),
    *(("noma", part) for part in ("edges", "frame", "blocks", "split")),
    *(("pairs", part) for part in ("deadline", "handover", "blocks")),
]


def merged(one, other):
    """Return both mappings in one; where both have a value, the second's."""
    both = dict(one)
    for key, value in other.items():
        both[key] = merged(both[key], value) if isinstance(value, dict) and isinstance(both.get(key), dict) else value
    return both


def run(*names, **changes):
    keys = BASE
    for name in names:
        keys = merged(keys, PARTS[name])
    keys = merged(keys, changes)
    if "trace" in names:
        radio = {key: value for key, value in keys["radio"].items() if key != "bandwidth_hz"}
        keys = {**keys, "radio": radio}
    result = edgefl.run(keys, train=False, device="cpu")
    assert result.status == "finished", result.error
    return result


@pytest.mark.oracle
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pairs_keep_their_books_and_repeat(pair):
    result = run(*pair)
    devices = result.devices
    pd.testing.assert_frame_equal(run(*pair).devices, devices)
    by_round = devices.groupby("round")
    assert result.rounds["bytes_up"].tolist() == by_round["bytes_up"].sum().tolist()
    assert result.rounds["round_energy_j"].to_numpy() == pytest.approx(by_round[ENERGY].sum().sum(axis=1).to_numpy())
    assert result.summary["energy_j"] == pytest.approx(devices[ENERGY].to_numpy().sum())
    spent_s = devices[[*TIMES, "wait_s"]].sum(axis=1)
    stayed = devices["status"] != "departed"
    lasted_s = result.rounds["duration_s"].to_numpy()[devices["round"] - 1]
    assert spent_s[stayed].to_numpy() == pytest.approx(lasted_s[stayed], abs=1e-9)
    assert (devices[[*TIMES, *ENERGY]].to_numpy() >= 0).all()
    statuses = set(devices["status"])
    if "handover" in pair:
        assert result.rounds["handovers"].sum() > 0
    if "battery" in pair:
        assert "departed" in statuses
        assert (devices["battery_j"] >= -1e-9).all()
        assert (devices.groupby("device")[ENERGY].sum().sum(axis=1) <= 0.7 + 1e-9).all()
    if "deadline" in pair:
        assert "late" in statuses


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["background", "open_loop", "outage", "bler"])
def test_at_rest_time_is_round(name):
    """A channel stays the same while no device moves."""
    # On a shared band both begin at slots of the clock.
    still = {"mobility": {"kind": "static"}, "radio": {"sharing": "processor"}}
    once = merged(still, {"radio": {"large_scale": "round"}})
    pd.testing.assert_frame_equal(run(name, "time", **still).devices, run(name, "time", **once).devices)


def test_a_deadline_cuts_recorded_links_where_they_would_have_gone_on():
    """A device in time has the row of a run without a deadline; all others would have been later than it."""
    free = run("trace", rounds=1).devices.set_index("device")
    cut = run("trace", "deadline", rounds=1).devices.set_index("device")
    total_s = free[TIMES].sum(axis=1)
    in_time = cut["status"] == "received"
    assert 0 < in_time.sum() < len(cut)
    assert (total_s[in_time] <= 8.0).all()
    assert (total_s[~in_time] > 8.0).all()
    pd.testing.assert_frame_equal(cut.loc[in_time, TIMES], free.loc[in_time, TIMES])
    assert (cut.loc[~in_time, "bytes_up"] < free.loc[~in_time, "bytes_up"]).all()
