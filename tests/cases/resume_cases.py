"""Runs that keep as many kinds of state as there are, to be stopped and to go on."""

import numpy as np

ROUNDS = 9
BASE = {
    "rounds": ROUNDS,
    "data": {"dataset": "synthetic", "owners": 8, "features": 5, "classes": 3},
    "model": {"kind": "mlp", "hidden": [4]},
    "training": {"local_steps": 2, "batch_size": 4, "lr": 0.1},
    "devices": {"count": 8},
    "server": {"participants": 4},
    "radio": {"bandwidth_hz": 1e6},
}
CELLS = {
    "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 100},
    "radio": {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}},
}
SESSIONS = {"rounds": None, "sessions": {"count": 4, "rounds": 2, "initialisation": {"kind": "proposed"}}}
DRIFTS_AT_S = [0.0052, 0.0095]
TEACHING = {"count": 4, "rounds": 2}
OWN = {"data": {**BASE["data"], "features": 8}}
CASES = {
    "counts in buffers, tested seldom": {
        **OWN,
        "model": "odd_networks:Cumulative",
        "report": {"eval_every": 5, "train_accuracy": "random"},
    },
    "buffers that are assigned, client states on disk": {
        **OWN,
        "model": "odd_networks:Assigned",
        "algorithm": "scaffold",
        "training": {**BASE["training"], "state_home": "disk"},
    },
    "draws of torch, a walking model": {
        **OWN,
        "model": "odd_networks:OwnDropout",
        "server": {"participants": 3, "policy": "sequential"},
    },
    "measures, and evaluations on devices": {
        "report": {
            "device_losses": True,
            "gradient_norm": True,
            "measures": ["f1", "auc", {"kind": "calibration", "by_device": True, "every": 2}, "confusion"],
        },
        "server": {"participants": 4, "device_evaluation": {"every": 2, "devices": "present"}},
    },
    "own heads": {
        "data": {**BASE["data"], "test_partition": "like_train"},
        "training": {**BASE["training"], "parts": {"keep": ["3"]}},
    },
    "client states, and patience": {"algorithm": "feddyn", "stop": {"patience": {"rounds": 7, "min_delta": 1.0}}},
    "rows at the server": {"algorithm": "mifa", "server": {"participants": 3, "selection": "power_of_choice"}},
    "momentum at the server, a codec's losses, weights of tiers": {
        "algorithm": "fedavgm",
        "training": {**BASE["training"], "codec": {"kind": "top_k", "part": 0.3}},
        "server": {"participants": 2, "selection": {"kind": "tifl", "tiers": 2, "adaptive": True, "interval": 1}},
    },
    "who is awaited": {"algorithm": {"kind": "fedavg", "mode": "wait", "max_participants": 3}},
    "a rate that falls with updates": {
        "algorithm": {"kind": "mifa", "wait": True},
        "training": {**BASE["training"], "lr_schedule": "inv_t"},
    },
    "buffered": {"server": {"participants": 6, "policy": {"kind": "buffered", "buffer": 2}}},
    "edge servers": {**CELLS, "server": {"participants": 6, "policy": {"kind": "hierarchical", "cloud_every": 3}}},
    "streets of those who walk, come and go": {
        "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 100, "handover": {}},
        "radio": {"propagation": {"kind": "umi", "out_of_range": "clamp"}, "bandwidth_hz": 1e6},
        "mobility": {"kind": "random_waypoint", "speed_mps": 15},
        "churn": {"kind": "bernoulli", "probability": 0.7},
    },
    "a front that walks": {
        "server": {"participants": 3, "policy": {"kind": "split", "mode": "sequential", "links": "device_to_device"}}
    },
    "sums over the air": {"radio": {"bandwidth_hz": 1e6, "uplink": {"kind": "aircomp", "threshold": 0.4}}},
    "sums over the air that miss devices, a best model of sessions": {
        **SESSIONS,
        "radio": {"bandwidth_hz": 1e6, "uplink": {"kind": "aircomp", "threshold": 0.4, "truncation": "device"}},
        "report": {"best_model": True, "eval_every": 2},
    },
    "client states that begin again": {**SESSIONS, "algorithm": "feddyn", "report": {"models": ["all"]}},
    "rows of the group that is present": {
        "rounds": None,
        "sessions": {"count": 4, "rounds": 2, "groups": 2},
        "algorithm": "fedvarp",
        "server": {"participants": 2},
        "report": {"models": ["all"], "gradient_norm": True, "device_losses": True},
    },
    "a contrast with random networks, arms of a bandit": {
        "algorithm": {"kind": "moon", "first_previous": "random"},
        "server": {"participants": 2, "selection": {"kind": "bandit", "variant": "cs-ucb-q", "share": 0.2}},
    },
    "counters that begin again, data that change": {
        **SESSIONS,
        "algorithm": {"kind": "fedssg", "variant": "paper_main"},
        "data": {**BASE["data"], "drift": {"kind": "labels", "swap": [[0, 1]], "at_round": [3, 5]}},
    },
    "contributions": {
        "report": {
            "contributions": {"every": 2, "value": "loss"},
            "models": ["sel", "all"],
            "device_losses": True,
            "predictions": [2, 4],
        }
    },
    "a best model, compressed, under way": {
        "training": {**BASE["training"], "codec": {"kind": "qsgd", "levels": 4}},
        "server": {"participants": 4, "policy": "asynchronous"},
        "report": {"best_model": True},
    },
    "debts of energy": {
        "server": {"participants": 3, "csi": "perfect", "selection": {"kind": "lyapunov", "budget_j": 1e-3, "v": 1e-6}},
        "radio": {**BASE["radio"], "faults": {"failure_probability": 0.2}},
    },
    "choosing by losses": {"server": {"participants": 3, "selection": "oort"}},
    "old classes": {
        "rounds": None,
        "sessions": {**TEACHING, "initialisation": {"kind": "continuous", "loss": "relation"}},
    },
    "departures that are forgotten": {
        "algorithm": "feddyn",
        "churn": {"kind": "poisson", "arrivals_per_s": 500, "stay_s": {"exponential": 0.008}},
        "server": {"participants": 4, "departed_state": "forgotten"},
    },
    "samples divided again": {
        "data": {**BASE["data"], "redivide": "iid"},
        "algorithm": "fedeve",
        "churn": {"kind": "poisson", "arrivals_per_s": 400, "stay_s": {"exponential": 0.012}},
        "report": {"labels_by_round": True},
    },
    "data that change, a best model": {
        "data": {
            **BASE["data"],
            "drift": {"kind": "labels", "at_round": [3, 6], "share": 0.5},
            "validation_share": 0.2,
        },
        "algorithm": "fedar",
        "report": {"measures": ["f1", {"kind": "calibration", "by_device": True, "every": 2}], "best_model": True},
    },
    "data that change while models are under way": {
        "data": {**BASE["data"], "test_partition": "like_train", "drift": {"kind": "permutation", "at_s": DRIFTS_AT_S}},
        "server": {"participants": 4, "policy": "asynchronous"},
    },
    "sessions by arrivals": {
        "rounds": None,
        "sessions": {"rounds": ROUNDS, "trigger": {"arrivals": 3}, "initialisation": {"kind": "proposed"}},
        "churn": {"kind": "poisson", "arrivals_per_s": 400, "stay_s": {"exponential": 0.012}},
    },
}


def shortened(keys):
    """The same with fewer rounds, or with fewer sessions."""
    sessions = keys.get("sessions")
    if sessions is None:
        return {**keys, "rounds": 5}
    if "trigger" in sessions:
        return {**keys, "sessions": {**sessions, "rounds": 6}}
    return {**keys, "sessions": {**sessions, "count": sessions["count"] - 1}}


def drawn(seed=None):
    """Samples that are drawn, which without a seed are others in each run."""
    x = np.random.default_rng(seed).normal(size=(48, 5)).astype(np.float32)
    y = np.arange(48) % 3
    return x[:24], y[:24], x[24:], y[24:]
