"""Selections, allocations, mobility models and codecs, healthy and broken."""

from typing import ClassVar

import numpy as np

from channel.allocation import Shares, equal
from edgefl.coordination.selection import SELECTIONS, Selection
from edgefl.coordination.selection.uniform import UniformSelection
from edgefl.learning.codecs import CODECS, Codec
from edgefl.radio.allocation import ALLOCATIONS, Allocation
from edgefl.world.mobility import MOBILITY, Area, Mobility
from edgefl.world.mobility.base import Track
from edgefl.world.mobility.random_waypoint import RandomWaypoint, Waypoints

FROM_FILES = {"trace", "streets"}
WRAPPING = MOBILITY.load("constant_velocity")
WRAPS = {"edge": "wrap", "speed_mps": 30.0}


def all_but(catalogue, names=frozenset()):
    return [catalogue.load(name) for name in catalogue.members if name not in names]


HEALTHY = [
    *((member, {}) for member in all_but(SELECTIONS, {"schedule", "lyapunov"})),
    *((member, {}) for member in all_but(ALLOCATIONS, {"hungarian"})),
    *((member, {}) for member in all_but(MOBILITY, FROM_FILES)),
    *((member, {}) for member in all_but(CODECS)),
    (SELECTIONS.load("schedule"), {"rounds": [[0, 1, 2], [3, 4], [7]], "participants": 3}),
    (SELECTIONS.load("lyapunov"), {"budget_j": 0.5}),
    *((SELECTIONS.load("power_of_choice"), {"variant": variant}) for variant in ("pow-d", "cpow-d", "rpow-d")),
    (ALLOCATIONS.load("hungarian"), {"interference_w": [1e-14, 1e-13]}),
    (WRAPPING, {**WRAPS, "jumps": True}),
]


class TakesTwo(Selection):
    """Two, where the scenario wants five."""

    def choose(self, present, participants, index, streams, view):
        return present[:2]


class Absent(UniformSelection):
    """Chooses device 3, be it there or not."""

    def choose(self, present, participants, index, streams, view):
        return np.array([3])


class Twice(UniformSelection):
    """Chooses one device twice."""

    def choose(self, present, participants, index, streams, view):
        return present[[0, 0]]


class Rolls(Selection):
    """Draws from the global generator."""

    def choose(self, present, participants, index, streams, view):
        return np.random.permutation(present)[:participants]  # noqa: NPY002 - the fault that is to be found


class Counts(Selection):
    """Goes on where its last call has ended."""

    _calls: ClassVar[list[int]] = []

    def choose(self, present, participants, index, streams, view):
        self._calls.append(index)
        return np.sort(np.roll(present, len(self._calls))[:participants])


class Sorts(UniformSelection):
    """Sorts its argument in place."""

    def choose(self, present, participants, index, streams, view):
        present[:] = present[::-1].copy()
        return present[:participants]


class Lists(Selection):
    """Returns a list."""

    def choose(self, present, participants, index, streams, view):
        return present[:participants].tolist()


class Greedy(Allocation):
    """The whole band for each."""

    def shares(self, band_hz, payload_bits, snr_hz, efficiency, *, spread):
        return Shares(np.full(len(payload_bits), band_hz), np.ones(len(payload_bits)))


class FirstOnly(Allocation):
    """The whole band for the first transfer."""

    def shares(self, band_hz, payload_bits, snr_hz, efficiency, *, spread):
        return Shares(band_hz * (np.arange(len(payload_bits)) == 0), np.ones(len(payload_bits)))


class ByPlace(Allocation):
    """Less for each next one."""

    def shares(self, band_hz, payload_bits, snr_hz, efficiency, *, spread):
        weights = 1.0 / np.arange(1, len(payload_bits) + 1)
        return Shares(band_hz * weights / weights.sum(), np.ones(len(payload_bits)))


class Short(Allocation):
    """One share too few."""

    def shares(self, band_hz, payload_bits, snr_hz, efficiency, *, spread):
        return equal(band_hz, max(1, len(payload_bits) - 1))


class Drawn(Allocation):
    """Equal shares, unless they are drawn; each test changes one thing."""

    by_draws: ClassVar[bool] = True

    def shares(self, band_hz, payload_bits, snr_hz, efficiency, *, spread):
        return equal(band_hz, len(payload_bits))


class Relative(Drawn):
    """A weight that depends on who else is drawn."""

    def weights(self, normal):
        return np.exp(normal) / np.exp(normal).sum()


class Signed(Drawn):
    """The draws themselves."""

    def weights(self, normal):
        return normal


class Single(Drawn):
    """One weight for all."""

    def weights(self, normal):
        return np.ones(1)


class Line(Track):
    """Along a line through the base station; each test changes one thing."""

    def __init__(self, count, speed_mps=1.0):
        super().__init__(np.full(count, speed_mps))

    def positions_m(self, ids, time_s):
        return np.stack([50.0 + ids + time_s / 100, np.full(len(ids), 20.0)], axis=1)


class Faster(Line):
    def positions_m(self, ids, time_s):
        return super().positions_m(ids, 300 * time_s % 10_000)


class ByNumber(Line):
    """Keyed by the number of devices."""

    def positions_m(self, ids, time_s):
        return super().positions_m(ids, time_s) + len(self._speeds_mps)


class Walks(Line):
    """Moves on with each question."""

    def __init__(self, count):
        super().__init__(count)
        self._asked = 0

    def positions_m(self, ids, time_s):
        self._asked += 1
        return super().positions_m(ids, time_s) + self._asked


class Leaves(Line):
    def positions_m(self, ids, time_s):
        return 10 * super().positions_m(ids, time_s / 10)


class InTheDisc(Waypoints):
    """In the disc around all cells, whatever the form of the area."""

    def __init__(self, area, speeds_mps, streams):
        super().__init__(Area(area.min_distance_m, area.radius_m), speeds_mps, streams)


class Promises(Waypoints):
    def stays_within_until_s(self, ids, time_s, distance_m):
        return np.full(len(ids), time_s + 1_000.0)


def moving(track, base=Mobility):
    """Return a mobility model of a track."""

    class Moving(base):
        """A model for one test."""

        def track(self, area, count, streams):
            if issubclass(track, Waypoints):
                return track(area, self.speeds(count, streams), streams)
            return track(count)

    return Moving


class Drops(Codec):
    """Drops the second half, and forgets it."""

    def bits(self, d):
        return 16.0 * d

    def decoded(self, x, rng):
        x = x.clone()
        x[len(x) // 2 :] = 0
        return x


class Doubles(Codec):
    """Doubles what it sends: error feedback would grow without end."""

    error_feedback: bool = True

    def bits(self, d):
        return 16.0 * d

    def decoded(self, x, rng):
        return 3 * x


class Grows(Codec):
    """Sends more than there is."""

    def bits(self, d):
        return 64.0 * d

    def decoded(self, x, rng):
        return x.clone()


class Divides(Codec):
    """Knows no vector of zeros."""

    def bits(self, d):
        return 16.0 * d

    def decoded(self, x, rng):
        return x / x.norm() * x.norm()


BROKEN = [
    (TakesTwo, {}, "number of participants", "TakesTwo.expected is +2.9 away"),
    (Absent, {}, "returns", "Absent.choose returned devices [3], which are not among those"),
    (Twice, {}, "returns", "Twice.choose returned a device twice: [0 0]"),
    (Rolls, {}, "repeatable", "Rolls.choose draws from numpy.random's global generator"),
    (Counts, {}, "repeatable", "Counts.choose returns other values when it is called again"),
    (Sorts, {}, "arguments", "Sorts.choose changes its arguments in place"),
    (Lists, {}, "returns", "Lists.choose returned a list, expected whole numbers [n]"),
    (Greedy, {}, "returns", "Greedy.shares gave away 2 of the band"),
    (FirstOnly, {}, "returns", "FirstOnly.shares gave nothing to a transfer"),
    (ByPlace, {}, "returns", "ByPlace.shares gave a transfer another share when the same transfers came"),
    (Short, {}, "returns", "as bandwidth_hz, expected finite numbers [2] at least 0"),
    (Relative, {}, "returns", "Relative.weights gave a device another weight when it was the only one"),
    (Signed, {}, "returns", "Signed.weights returned an array ["),
    (Single, {}, "returns", "Single.weights returned an array [1] of float64"),
    (moving(Faster), {}, "speed", "Faster.positions_m moves device"),
    (moving(ByNumber), {}, "repeatable", "other positions when there are 8: key every draw by its device"),
    (moving(Walks), {}, "repeatable", "Walks.positions_m returns other values when it is called again"),
    (moving(Leaves), {}, "area", "Leaves.positions_m brings a device"),
    (moving(InTheDisc, RandomWaypoint), {}, "area", "InTheDisc.positions_m brings a device out of the hex"),
    (moving(Promises, RandomWaypoint), {}, "stays near", "Promises.stays_within_until_s promises that"),
    (Drops, {}, "loss", "Drops.decoded makes 0 of"),
    (Doubles, {}, "loss", "Doubles.decoded leaves 4 of a vector's square behind"),
    (Grows, {}, "bits", "Grows.bits takes 64000000 bits for a million floats, which have 32000000"),
    (Divides, {}, "returns", "Divides.decoded makes"),
    (WRAPPING, WRAPS, "speed", "or pass jumps=True"),
]
