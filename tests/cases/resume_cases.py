"""Runs that keep as many kinds of state as there are, to be stopped and to go on."""

from pathlib import Path

import numpy as np
import yaml

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
CASES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


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
