"""SUMO's floating car data."""

import math
from collections.abc import Iterator
from pathlib import Path

from edgefl.world.mobility.formats.sample import Sample
from edgefl.world.mobility.formats.xml import attribute, elements


def read_fcd(path: Path) -> Iterator[Sample]:
    """Yield the samples of SUMO's floating car data.

    Each `timestep` has `time`, and in it each `vehicle` or `person` has `id`, `x`, `y` (metres, or degrees with SUMO's
    option `--fcd-output.geo`) and perhaps `speed` (m/s).
    """
    time_s = float("nan")  # a vehicle outside any timestep is refused as a sample without time
    for line, tag, attributes, _ in elements(path):
        if tag == "timestep":
            time_s = attribute(line, tag, attributes, "time")
        elif tag in {"vehicle", "person"}:
            x = attribute(line, tag, attributes, "x")
            y = attribute(line, tag, attributes, "y")
            speed_mps = math.nan
            if "speed" in attributes:
                speed_mps = attribute(line, tag, attributes, "speed")
            yield Sample(line, time_s, attributes.get("id", ""), x, y, speed_mps)
