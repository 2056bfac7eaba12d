"""Where the numbers of a run's devices come from, and which measured board computes at nearly the same speed."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from edgefl.core.units import digits
from edgefl.results.report.shared.describe import at, known
from edgefl.results.report.shared.read import Run
from edgefl.world.devices_section import Devices, Hardware

GIGA = 1e9


@cache
def boards() -> dict[str, float]:
    """Return the median operations a second of the presets of devices."""
    from edgefl.scenario import presets  # late, as few pages need what it imports

    found = {}
    for name in presets.names("devices"):
        keys = {key: presets.read("devices", name)[key] for key in ("cpu_hz", "flops_per_cycle")}
        found[name] = flops_per_s(Hardware.model_validate(keys))
    return found


def flops_per_s(hardware: Hardware) -> float:
    """Return the median operations a second of devices, by their clock."""
    middle = np.array([0.5])
    ids = np.array([0])
    return float((hardware.cpu_hz.quantile(middle, ids) * hardware.flops_per_cycle.quantile(middle, ids))[0])


def nearest(speed_flops_per_s: float) -> str:
    """Return the preset of the nearest speed."""
    return min(boards(), key=lambda name: abs(math.log(boards()[name] / speed_flops_per_s)))


def sentences(run: Run) -> Sequence[str]:
    """Return a line for each group of devices: its speed, its source, and the nearest measured board."""
    devices = known(Devices, at(run.scenario, "devices"))
    if devices is None:
        return []
    names = [group.name for group in devices.groups] or ["Devices"]
    lines = []
    for name, hardware in zip(names, devices.made_of, strict=True):
        speed = flops_per_s(hardware)
        board = nearest(speed)
        text = f"{name}: {digits(speed / GIGA)} Gflop/s"
        if hardware.source:
            text = f"{text} (source: {hardware.source})"
        else:
            text = f"{text}, with no source named; the nearest board with one is {board}"
            text = f"{text} with {digits(boards()[board] / GIGA)} Gflop/s"
        lines.append(f"{text}.")
    return lines
