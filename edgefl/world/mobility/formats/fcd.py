"""SUMO's floating car data."""

import math
from collections.abc import Iterator
from pathlib import Path

from edgefl.core.data_files import NotReadable
from edgefl.core.section import shown
from edgefl.world.mobility.formats.sample import EmptyStep, Sample, number
from edgefl.world.mobility.formats.sumo import UNKNOWN, seconds
from edgefl.world.mobility.formats.xml import attribute, elements

DEVICES = frozenset({"vehicle", "person", "container"})
SKIPPED = 1.5  # shortest steps: a longer one is several, which SUMO has left out as they were empty


def read_fcd(path: Path) -> Iterator[Sample | EmptyStep]:
    """Yield the samples of SUMO's floating car data.

    Each `timestep` has `time`, and in it each `vehicle`, `person` or `container` has `id`, `x`, `y` (metres, or degrees
    with SUMO's option `--fcd-output.geo`) and perhaps `speed` (m/s). One that is missing from a step is absent then.
    """
    steps = _Steps()
    is_empty = False  # the time step, so far
    latest: dict[tuple[str, str], int] = {}  # the step of each device's last sample
    for line, tag, attributes, _ in elements(path):
        if tag == "netstate":
            raise NotReadable("has no coordinates, as --netstate-dump writes it: use SUMO's option --fcd-output", line)
        if tag == "timestep":
            steps.begin(line, attributes)
            is_empty = True
        elif tag == "/timestep" and is_empty:
            yield EmptyStep(line, steps.time_s)
        elif tag in DEVICES:
            if not steps.time:
                text = "is in no <timestep>: SUMO writes where vehicles are with its option --fcd-output"
                raise NotReadable(f"<{tag}> {text}", line)
            is_empty = False
            name = attributes.get("id", "")
            x = _position(line, tag, attributes, "x")
            y = _position(line, tag, attributes, "y")
            is_known = UNKNOWN not in {x, y}
            before = latest.get((tag, name), steps.number)
            if is_known:
                latest[tag, name] = steps.number
            yield Sample(
                line,
                steps.time_s,
                name,
                x,
                y,
                speed_mps=_speed_mps(line, attributes),
                time=steps.time,
                group=tag,
                after_absence=steps.number > before + 1,
                is_known=is_known,
            )


class _Steps:
    """The time steps of a file, one after the other."""

    def __init__(self) -> None:
        self.number = 0  # of the step; 2 more than that before if steps between them were left out
        self.time_s = math.nan
        self.time = ""  # as in the file
        self._shortest_s = math.inf

    def begin(self, line: int, attributes: dict[str, str]) -> None:
        """Take the time of the next step."""
        if "time" not in attributes:
            raise NotReadable("<timestep> has no time", line)
        self.time = attributes["time"]
        time_s = seconds(self.time)
        if time_s is None:
            text = f"<timestep> needs a time in seconds, or as 1:02:05.50, got {shown(self.time)}"
            raise NotReadable(text, line)
        step_s = time_s - self.time_s
        if step_s > SKIPPED * self._shortest_s:  # --fcd-output.skip-empty leaves out steps without vehicles
            self.number += 1
        if step_s != 0:
            self.number += 1
        if step_s > 0:
            self._shortest_s = min(self._shortest_s, step_s)
        self.time_s = time_s


def _position(line: int, tag: str, attributes: dict[str, str], name: str) -> float:
    if name not in attributes:
        text = f"<{tag}> has no {name}: name x and y in SUMO's option --fcd-output.attributes, or leave it out"
        raise NotReadable(text, line)
    return attribute(line, tag, attributes, name)


def _speed_mps(line: int, attributes: dict[str, str]) -> float:
    if "speed" not in attributes:
        return math.nan
    speed_mps = number(attributes["speed"], line)
    return math.nan if speed_mps == UNKNOWN else speed_mps
