"""A law near that of the preset raspberry_pi_4, as few logs tell all of its numbers apart.

A board computes as a Raspberry Pi 4 does (fitted to 24 networks), at another speed; each number may deviate from that
by a factor, as far as the log asks for it. All is in logarithms: the common factor, the factors of numbers, and the
misses of the steps' times. Misses and numbers' factors have the least sum of squares, each over its standard deviation.
"""

from collections.abc import Sequence

import numpy as np

from edgefl.core.arrays import Floats

BOARD = "raspberry_pi_4"
# The law misses networks that were left out of its fit by 9 % on average (benchmarks/compute_law.py), nearly as a
# normal distribution with this standard deviation does.
MISS = 0.1
DEVIATION = 0.5  # of a factor: on a Raspberry Pi 5 networks of small images take up to 1.9 times as long (as above)
# Four times as long is usual: what a framework does in each layer and step need not follow speeds.
DEVIATIONS = {"layer_s": 1.5, "step_s": 1.5}


def is_speed(key: str) -> bool:
    """Return whether a key of `devices.compute` is a speed; otherwise it is a time."""
    return key.endswith("_per_s")


def preset_seconds(keys: Sequence[str]) -> Floats:
    """Return the preset's seconds [keys] for an operation, a byte, a group, a layer or a step."""
    from edgefl.scenario import presets  # late: few logs need it, and it imports all sections

    preset = presets.read("devices", BOARD)["compute"]
    law = {
        "step_s": preset["layer_s"],
        **preset,
    }  # a step takes as long as one of its layers unless a log asks for more
    return np.array([1 / float(law[key]) if is_speed(key) else float(law[key]) for key in keys])


def near_preset(keys: Sequence[str], amounts: Floats, measured_s: Floats) -> Floats:
    """Return the seconds [keys] for an operation, a byte, a group, a layer or a step.

    Args:
        keys: of `devices.compute`.
        amounts: [steps, keys] of operations, bytes, groups, layers and steps.
        measured_s: [steps] seconds.
    """
    from scipy.optimize import least_squares

    preset_s = preset_seconds(keys)
    parts_s = amounts * preset_s
    deviations = np.array([DEVIATIONS.get(key, DEVIATION) for key in keys])

    def misses(logarithms: Floats) -> Floats:
        factors = logarithms[1:]
        predicted_s = parts_s @ np.exp(logarithms[0] + factors)
        return np.concatenate([np.log(predicted_s / measured_s) / MISS, factors / deviations])

    start = np.zeros(1 + len(keys))
    start[0] = np.median(np.log(measured_s / parts_s.sum(axis=1)))
    found = least_squares(misses, start).x
    return np.asarray(preset_s * np.exp(found[0] + found[1:]))
