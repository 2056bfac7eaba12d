"""Features of scenarios as small overlays over one small scenario: whatever a rule between sections may refuse.

`pairs` puts every two of them together. A test follows the remedies of what is refused, to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

Overlay = Mapping[str, Any]

RECORDED_RATES = "device,time_s,downlink_bps,uplink_bps\n" + "".join(
    f"{device},0,20e6,10e6\n{device},10,30e6,5e6\n" for device in range(10)
)
RECORDED_SNRS = "device,time_s,downlink_snr_db,uplink_snr_db\n" + "".join(
    f"{device},0,20,10\n{device},10,30,5\n" for device in range(10)
)

BASE: Overlay = {"rounds": 5, "devices": {"count": 10}, "server": {"participants": 4}}

HEXAGONS = {"layout": "hexagonal", "sites": 7}
FAR = {"kind": "umi", "out_of_range": "clamp"}
HUNGARIAN = {"kind": "hungarian", "interference_w": [1e-13, 1e-13, 1e-13, 1e-13]}

FEATURES: dict[str, Overlay] = {
    # policies
    "asynchronous": {"server": {"policy": "asynchronous"}},
    "buffered": {"server": {"policy": "buffered"}},
    "deadline": {"server": {"policy": "deadline", "deadline_s": 5.0}},
    "late updates kept": {"server": {"policy": {"kind": "deadline", "late": "keep"}, "deadline_s": 5.0}},
    "over-selection": {"server": {"policy": "over_selection"}},
    "sequential": {"server": {"policy": "sequential"}},
    "direct links": {"server": {"policy": {"kind": "sequential", "links": "device_to_device"}}},
    "split": {"server": {"policy": "split"}},
    "split in turn": {"server": {"policy": {"kind": "split", "mode": "sequential"}}},
    "hierarchical": {"server": {"policy": "hierarchical"}},
    "hierarchical with wires": {"server": {"policy": {"kind": "hierarchical", "backhaul_bps": 1e9}}},
    "device evaluation": {"server": {"device_evaluation": {}}},
    # parts of the model
    "head only": {"training": {"parts": {"train": ["3"]}}},
    "own heads": {"training": {"parts": {"keep": ["3"]}}, "data": {"test_partition": "like_train"}},
    "own heads, one test set": {"training": {"parts": {"keep": ["3"]}}},
    "heads first": {"training": {"parts": {"first": {"train": ["3"], "epochs": 2}}}},
    "priced adapters": {
        "model": {
            "kind": "mlp",
            "cost": {"parameters": 1000, "flops_per_parameter": 6.0},
            "adapters": {"on": ["1"]},
        }
    },
    "adapters": {"model": {"kind": "mlp", "adapters": {"on": ["1"]}}},
    "varied training": {"training": {"variations": [{"from_round": 2, "lr": 0.01, "batch_size": 10}]}},
    # selections
    "power of choice": {"server": {"selection": "power_of_choice"}},
    "rpow-d": {"server": {"selection": {"kind": "power_of_choice", "variant": "rpow-d"}}},
    "oort": {"server": {"selection": "oort"}},
    "update norms": {"server": {"selection": "update_norm"}},
    "scheduled strangers": {"server": {"selection": {"kind": "schedule", "rounds": [[0, 20]]}}},
    "until two are depleted": {"stop": {"depleted": 2}},
    "until twelve are depleted": {
        "stop": {"depleted": 12},
        "devices": {"battery": {"capacity_mah": 1000, "voltage_v": 3.85}},
    },
    "by battery": {"server": {"selection": {"kind": "energy_aware", "by": "battery"}}},
    "more participants than devices": {"server": {"participants": 12}},
    # channel knowledge, and what decides by it
    "csi": {"server": {"csi": "perfect"}},
    "csi of last updates": {"server": {"csi": "last"}},
    "min_time": {"server": {"optimiser": "min_time", "csi": "perfect"}},
    "fedl": {"server": {"optimiser": "fedl", "csi": "perfect"}, "radio": {"allocation": "round_robin"}},
    "fedl with static power": {
        "server": {"optimiser": "fedl", "csi": "perfect"},
        "radio": {"allocation": "round_robin"},
        "devices": {"cpu_static_w": 0.5},
    },
    "fedl with measured powers": {
        "server": {"optimiser": "fedl", "csi": "perfect"},
        "radio": {"allocation": "round_robin"},
        "devices": {"power_points": [[1e9, 0.5]]},
    },
    "equal_finish": {"server": {"csi": "perfect"}, "radio": {"allocation": "equal_finish"}},
    "equal_finish without csi": {"radio": {"allocation": "equal_finish"}},
    "hungarian": {"server": {"csi": "perfect"}, "radio": {"allocation": HUNGARIAN}},
    "turns in time": {"radio": {"allocation": "proportional_fair_in_time"}},
    "min_makespan": {"radio": {"allocation": "min_makespan"}},
    "best channels": {"server": {"selection": "best_channel", "csi": "perfect"}},
    # departures and churn
    "churn by rounds": {"churn": {"kind": "bernoulli", "probability": 0.8}},
    "churn in time": {"churn": {"kind": "poisson", "arrivals_per_s": 0.01, "stay_s": {"exponential": 500.0}}},
    "churn of too many": {"churn": {"kind": "poisson", "arrivals_per_s": 1.0, "stay_s": {"exponential": 500.0}}},
    "state lost": {"server": {"departed_state": "lost"}},
    "state forgotten": {"server": {"departed_state": "forgotten"}},
    "departure completes": {"server": {"on_departure": "completes"}},
    "state lost, departure completes": {"server": {"departed_state": "lost", "on_departure": "completes"}},
    # computing
    "compute law": {"devices": {"compute": {"convolution_flops_per_s": 1e9, "group_s": 1e-4, "step_s": 0.1}}},
    "throttling": {"devices": {"compute": {"throttling": {"slowdown": 0.25, "heat_s": 600.0, "cool_s": 300.0}}}},
    # radio
    "fixed shares": {"radio": {"sharing": "fixed"}},
    "processor sharing": {"radio": {"sharing": "processor"}},
    "broadcast": {"radio": {"downlink": "broadcast"}},
    "large scale in time": {"radio": {"large_scale": "time", "spatial_consistency": True}},
    "large scale without maps": {"radio": {"large_scale": "time"}},
    "interference": {"cells": HEXAGONS, "radio": {"propagation": FAR, "interference": {}}},
    "interference in time": {
        "cells": HEXAGONS,
        "radio": {"propagation": FAR, "interference": {}, "large_scale": "time", "spatial_consistency": True},
    },
    "noma in time": {"radio": {"uplink": "noma", "large_scale": "time", "spatial_consistency": True}},
    "background": {"radio": {"background": {"kind": "constant", "load": 0.3}}},
    "background that fills the band": {
        "radio": {"background": {"kind": "sessions", "arrivals_per_s": 1.0, "mean_s": 10.0}, "bandwidth_hz": 1e6}
    },
    "background by transfers": {
        "radio": {"background": {"kind": "poisson", "arrivals_per_s": 1.0, "mean_bits": 1e6, "bps_hz": 2.0}}
    },
    "noma": {"radio": {"uplink": "noma"}},
    "over the air": {"radio": {"uplink": "aircomp"}},
    "recorded rates": {"radio": {"trace": {"kind": "csv", "path": "rates.csv"}}},
    "recorded rates at a power": {"radio": {"trace": {"kind": "csv", "path": "rates.csv", "tx_power_dbm": 23.0}}},
    "recorded SNRs": {"radio": {"trace": {"kind": "csv", "path": "snrs.csv"}}},
    "resource blocks": {"radio": {"subcarrier_spacing_hz": 30e3, "slot_s": 0.0005}},
    "slots of each direction": {"radio": {"tdd": {"pattern": "DDDSU"}}},
    "mapped SNR": {"radio": {"rate": {"kind": "mcs"}}},
    "link failures": {"radio": {"faults": {"failure_probability": 0.1, "attempts": 3}}},
    "reuse": {"radio": {"reuse": 3}},
    # cells and mobility
    "handover": {"cells": {**HEXAGONS, "handover": {}}, "radio": {"propagation": FAR, "spatial_consistency": True}},
    "handover without maps": {
        "cells": {**HEXAGONS, "handover": {}},
        "radio": {"propagation": FAR, "spatial_consistency": False},
    },
    "sectors": {"cells": {"sectors": 3, "antenna": "tr38901"}},
    "hexagons": {"cells": {**HEXAGONS, "drop": "hexagons"}, "radio": {"propagation": FAR}},
    "straight ways": {"mobility": {"kind": "constant_velocity", "speed_mps": 10.0, "edge": "leave"}},
    "way points": {"mobility": {"kind": "random_waypoint", "speed_mps": 10.0}},
    "streets": {"mobility": {"kind": "manhattan", "speed_mps": 10.0, "block_m": 50.0}},
    "outages": {"radio": {"errors": {"kind": "outage", "threshold_db": -5.0}}},
    "energy of base stations": {"cells": {"energy": {"static_w": 100.0, "slope": 4.0}}},
    "backhaul elsewhere": {"backhaul": {"kind": "graph", "links": [{"between": ["server", 9]}]}},
    "access": {"radio": {"access_s": {"downlink": 0.01, "uplink": 0.05}}},
    "backhaul": {"backhaul": {"kind": "star", "rate_bps": 1e9}},
    # devices
    "batteries": {"devices": {"battery": {"capacity_j": 1000.0}}},
    "radio tails": {"devices": {"radio_energy": {"drx_tail_s": 1.0, "drx_tail_w": 0.5}}},
    "setting up": {"devices": {"setup_s": 6.0, "setup_j": 28.0}},
    "power by rate": {"devices": {"radio_energy": {"rx_j_per_mbit": 0.0116, "tx_j_per_mbit": 0.08524}}},
    "deadline clocks": {"devices": {"dvfs": {"kind": "deadline", "min_cpu_hz": 1e8}}},
    "power control": {"devices": {"power_control": {"kind": "open_loop", "p0_dbm": -80.0}}},
    # learning
    "codec": {"training": {"codec": {"kind": "top_k", "part": 0.1}}},
    "codec without feedback": {"training": {"codec": {"kind": "top_k", "part": 0.1, "error_feedback": False}}},
    "stragglers": {"training": {"stragglers": {"share": 0.5}}},
    "stragglers dropped": {"training": {"stragglers": {"share": 0.5, "keep": False}}},
    "own statistics": {"training": {"batch_norm": "local"}},
    "rate of zero": {"training": {"lr": 0.0}},
    "priced as given": {"model": {"kind": "mlp", "cost": {"parameters": 1000, "flops_per_parameter": 6.0}}},
    "fedprox": {"algorithm": "fedprox"},
    "fedavgm": {"algorithm": "fedavgm"},
    "scaffold": {"algorithm": "scaffold"},
    "scaffold, compressed": {"algorithm": "scaffold", "training": {"codec": {"kind": "top_k", "part": 0.1}}},
    "feddyn": {"algorithm": "feddyn"},
    "mifa": {"algorithm": "mifa"},
    "mifa at devices": {"algorithm": {"kind": "mifa", "state": "client"}},
    "mifa that waits": {"algorithm": {"kind": "mifa", "wait": True}},
    "fedavg that waits": {"algorithm": {"kind": "fedavg", "mode": "wait", "max_participants": 4}},
    "availability of others": {"algorithm": {"kind": "fedavg", "availability": [0.5, 0.5]}},
    "redivide": {"data": {"redivide": "iid"}},
    "labels that drift": {"data": {"drift": {"kind": "labels", "at_round": [3]}}},
    "inputs that drift": {"data": {"drift": {"kind": "permutation", "at_s": [60.0]}}},
    "labels by round": {"report": {"labels_by_round": True}},
    "redivide by two groups": {"data": {"redivide": "label_overlap"}},
    "redivide by devices": {"data": {"redivide": {"kind": "dirichlet", "alpha": 0.3}}},
    # sessions
    "sessions": {"rounds": None, "sessions": {"count": 2, "rounds": 3}},
    "sessions of groups": {"rounds": None, "sessions": {"count": 2, "rounds": 3, "groups": 2, "keep_state": True}},
    "sessions of too many groups": {"rounds": None, "sessions": {"count": 2, "rounds": 3, "groups": 20}},
    "sessions from an unknown group": {"rounds": None, "sessions": {"count": 2, "rounds": 3, "first_group": 4}},
    "sessions from a new model": {
        "rounds": None,
        "sessions": {"count": 4, "rounds": 3, "keep_state": True, "initialisation": {"kind": "proposed"}},
    },
    "sessions with a teacher": {
        "rounds": None,
        "sessions": {"count": 4, "rounds": 3, "initialisation": {"kind": "continuous"}},
    },
    "trigger": {"rounds": None, "sessions": {"rounds": 3, "trigger": {"arrivals": 3}}},
    "trigger for groups": {"rounds": None, "sessions": {"rounds": 3, "trigger": {"arrivals": 3}, "groups": 2}},
    # reports
    "contributions": {"report": {"contributions": {}}},
    "contributions of all": {"report": {"contributions": {"players": "all"}}},
    "losses of devices in a list": {"report": {"measures": ["f1", "device_losses"]}},
    "losses of devices": {"report": {"device_losses": True}},
    "models": {"report": {"models": ["sel"]}},
    "geometry": {"report": {"geometry": True}},
    "best model": {"report": {"best_model": True}},
    # the end of a run, and what decides it
    "patience": {"stop": {"patience": {"rounds": 3}}},
    "patience with a validation set": {"stop": {"patience": {"rounds": 3, "of": "validation_loss"}}},
    "validation set": {"data": {"validation_share": 0.1}},
}


def write_files(folder: Path) -> None:
    """Write the files that features name into a folder."""
    (folder / "rates.csv").write_text(RECORDED_RATES)
    (folder / "snrs.csv").write_text(RECORDED_SNRS)


def singles() -> Iterator[tuple[str, Overlay]]:
    """Return each feature in the small scenario."""
    for name, overlay in FEATURES.items():
        yield name, merged(BASE, overlay)


def pairs() -> Iterator[tuple[str, Overlay]]:
    """Return each two features that do not claim the same key, together in the small scenario."""
    for (first, one), (second, other) in combinations(FEATURES.items(), 2):
        if not _collide(one, other):
            yield f"{first} + {second}", merged(merged(BASE, one), other)


def merged(below: Overlay, above: Overlay) -> dict[str, Any]:
    """Return `below` overridden by `above`, mapping by mapping; what has a kind is replaced as a whole."""
    result = dict(below)
    for key, value in above.items():
        covered = below.get(key)
        if isinstance(value, Mapping) and isinstance(covered, Mapping) and "kind" not in value:
            result[key] = merged(covered, value)
        else:
            result[key] = value
    return result


def _collide(one: Overlay, other: Overlay) -> bool:
    """Return whether two overlays give a key different values."""
    for key in one.keys() & other.keys():
        left = one[key]
        right = other[key]
        mappings = isinstance(left, Mapping) and isinstance(right, Mapping) and "kind" not in {*left, *right}
        if mappings and _collide(left, right):
            return True
        if not mappings and left != right:
            return True
    return False
