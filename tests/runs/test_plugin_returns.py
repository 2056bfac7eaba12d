"""Values from members outside are checked as they enter a run: one line with their file and line."""

import pytest
from plugin_cases import PRICED, fault_of, placed, written
from run_cases import SWEEP_BASE

CLASSES = {
    "UniformSelection": "edgefl.coordination.selection.uniform",
    "Bandit": "edgefl.coordination.selection.bandit",
    "EqualAllocation": "edgefl.radio.allocation.equal",
    "Static": "edgefl.world.mobility.static",
    "Iid": "edgefl.learning.partitions.iid",
    "Digits": "edgefl.learning.datasets.digits",
    "Rayleigh": "edgefl.radio.fading.rayleigh",
    "BlockFading": "edgefl.radio.fading.block",
    "Ricean": "edgefl.radio.fading.ricean",
    "Umi": "edgefl.radio.propagation.umi",
    "ShannonRate": "edgefl.radio.rates.shannon",
    "NoChurn": "edgefl.world.churn.none",
    "FixedClock": "edgefl.world.dvfs.fixed",
    "Float16": "edgefl.learning.codecs.float16",
    "ConstantRate": "edgefl.learning.schedules",
}

# The key, the shipped class to derive from, the hook, what it returns instead, and what the message says.
WRONG = [
    ("server.selection", "UniformSelection", "choose", "np.array([0, 99])", "99, which is none"),
    ("server.selection", "UniformSelection", "choose", "np.array([1, 1])", "1 twice"),
    ("server.selection", "Bandit", "remember", "theirs[:, :1]", "an array of shape [8, 1]"),
    ("radio.allocation", "EqualAllocation", "shares", "None", "returned None"),
    ("radio.allocation", "EqualAllocation", "shares", "halved(theirs, 4)", "Hz in all"),
    ("radio.allocation", "EqualAllocation", "shares", "halved(theirs, np.nan)", "NaN"),
    ("mobility", "Static", "track", "3", "an int"),
    ("data.partition", "Iid", "split", "theirs[1:]", "one for each of 8 devices"),
    ("data.partition", "Iid", "split", "[theirs[0][:0], *theirs[1:]]", "no sample for device 0"),
    ("data.dataset", "Digits", "load", "None", "must return a Data"),
    ("radio.fading", "Rayleigh", "slot_correlation", "theirs + 2", "correlations"),
    ("radio.fading", "BlockFading", "hold_slots", "theirs * 0", "slots from 1"),
    ("radio.fading", "Ricean", "k_factor", "theirs - 100", "K factors"),
    ("radio.propagation", "Umi", "large_scale", "replace(theirs, path_loss_db=np.nan * theirs.los)", "NaN"),
    ("radio.rate", "ShannonRate", "efficiency", "None", "without bps_hz"),
    ("churn", "NoChurn", "presence", "[]", "a Presence"),
    ("devices.dvfs", "FixedClock", "clock_hz", "theirs * 2", "not above"),
    ("training.codec", "Float16", "bits", "float('nan')", "nan"),
]  # fmt: skip
LEARNED = [
    ("training.codec", "Float16", "decoded", "theirs[1:]", "a tensor [18] of torch.float32"),
    ("training.codec", "Float16", "decoded", "theirs * float('inf')", "NaN or an infinite"),
    ("training.lr_schedule", "ConstantRate", "factor", "-1.0", "-1.0"),
]
MODULE = """
from dataclasses import replace

import numpy as np

from {module} import {shipped}


def halved(shares, factor):
    return replace(shares, bandwidth_hz=shares.bandwidth_hz * factor)


class Mine({shipped}):
    def {hook}(self, *args, **options):
        theirs = super().{hook}(*args, **options)
        return {value}
"""


@pytest.mark.oracle
@pytest.mark.parametrize("case", [*WRONG, *LEARNED], ids=lambda case: f"{case[2]}-{case[4]}")
def test_return_values_of_plug_ins_are_checked(case, tmp_path):
    key, shipped, hook, value, words = case
    learned = case in LEARNED
    text = MODULE.format(module=CLASSES[shipped], shipped=shipped, hook=hook, value=value)
    scenario = placed(SWEEP_BASE if learned else PRICED, key, "mine:Mine")
    if learned:
        scenario = placed(scenario, "model", {"kind": "logistic"})
    file = written(tmp_path, scenario, mine=text)
    line = fault_of(file, train=learned, out=tmp_path / "out")
    assert f"mine.py:14: Mine.{hook} returned " in line
    assert words in line
    assert "must return " in line
