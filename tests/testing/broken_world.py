"""Policies, churn, partitions and antennas, healthy and broken."""

import numpy as np

from edgefl.coordination.policies import POLICIES, Policy
from edgefl.coordination.policies.synchronous import Synchronous
from edgefl.learning.partitions import PARTITIONS, Partition
from edgefl.world.antennas import ANTENNAS, Antenna
from edgefl.world.churn import CHURN, Churn
from edgefl.world.churn.base import Presence

RATE = {"arrivals_per_s": 0.1, "stay_s": {"exponential": 40.0}}
HEALTHY = [
    *((POLICIES.load(name), {}) for name in ("synchronous", "deadline", "sequential")),
    *((ANTENNAS.load(name), {}) for name in ANTENNAS.members),
    *((CHURN.load(name), {}) for name in ("none", "diurnal", "coverage")),
    (CHURN.load("bernoulli"), {"probability": 0.6}),
    (CHURN.load("poisson"), {**RATE, "depends_on_count": True}),
    *((PARTITIONS.load(name), {}) for name in ("iid", "dirichlet", "shards", "quantity_skew", "natural")),
    (PARTITIONS.load("label_overlap"), {"overlapping": True}),
]


class DoesNotWait(Policy):
    """Aggregates before anything can have arrived."""

    def run(self, server):
        while (yield from server.ready()):
            under_way = server.dispatch(server.select())
            for process in under_way:
                process.interrupt("late")
            yield server.env.all_of(under_way)
            server.aggregate()


class Rolls(Synchronous):
    """Waits for a random while, drawn from the global generator."""

    def run(self, server):
        while (yield from server.ready()):
            yield server.env.all_of(server.dispatch(server.select()))
            yield server.env.timeout(np.random.random())  # noqa: NPY002 - the fault that is to be found
            server.aggregate()


class Fails(Synchronous):
    """Raises an exception in the first round."""

    def run(self, server):
        yield from server.ready()
        raise ValueError("no round for me")


class Present(Presence):
    """Present every other 10 s; each test changes one thing."""

    def present(self, time_s, index):
        ids = np.arange(len(self.probabilities))
        return ids[(time_s // 10 + ids) % 2 == 0]

    def stays_until_s(self, ids, time_s):
        here = np.isin(ids, self.present(time_s, 0))
        return np.where(here, 10 * (time_s // 10 + 1), time_s)

    def arrivals(self, time_s, among=None):
        away = np.setdiff1d(np.arange(len(self.probabilities)), self.present(time_s, 0))
        return 10 * (time_s // 10 + 1), away


class StaysTooLong(Present):
    def stays_until_s(self, ids, time_s):
        here = np.isin(ids, self.present(time_s, 0))
        return np.where(here, time_s + 100.0, time_s)


class NoChanges(Present):
    """Returns no arrivals and departures."""


class ByCount(Present):
    def present(self, time_s, index):
        return np.arange(len(self.probabilities) // 2)


def coming(presence):
    """Return a churn model of a population."""

    class Coming(Churn):
        """A model for one test."""

        def presence(self, count, lowest_label, classes, streams):
            return presence(np.full(count, 0.5))

    return Coming


class Empty(Partition):
    """Gives the last device nothing."""

    def split(self, labels, count, rng):
        return [*np.array_split(np.arange(len(labels)), count - 1), np.empty(0, dtype=np.int64)]


class Shares(Partition):
    """Gives the same samples to all."""

    def split(self, labels, count, rng):
        return [np.arange(10)] * count


class Loud(Antenna):
    """A short dipole with 10 dBi: the mean of sin^2 is 2/3."""

    def pattern_dbi(self, zenith_deg, azimuth_deg):
        return 10.0 + 20.0 * np.log10(np.sin(np.radians(zenith_deg))) + 0.0 * azimuth_deg


class NotRound(Antenna):
    """A cardioid that says it is the same all around."""

    directional = False

    def pattern_dbi(self, zenith_deg, azimuth_deg):
        return 20.0 * np.log10(0.501 + 0.499 * np.cos(np.radians(azimuth_deg))) + 0.0 * zenith_deg


BROKEN = [
    (DoesNotWait, {}, "books", "no update ever arrives: wait for the processes"),
    (Rolls, {}, "repeatable", "Rolls.run draws from numpy.random's global generator"),
    (Fails, {}, "runs", "no round for me"),
    (coming(StaysTooLong), {}, "stays", "StaysTooLong.stays_until_s promises that device"),
    (coming(NoChanges), {}, "changes", "NoChanges.changes leaves"),
    (coming(ByCount), {}, "repeatable", "ByCount.present returns others of the first 5 devices when there are 12"),
    (Empty, {}, "returns", "Empty.split gave device 9 no sample"),
    (Shares, {}, "returns", "Shares.split gave a sample to two devices: pass overlapping=True"),
    (Loud, {}, "power", "radiates 6.67 times as much as it is fed"),
    (NotRound, {}, "directional", "depends on the azimuth: set directional to True"),
    (CHURN.load("poisson"), RATE, "repeatable", "or pass depends_on_count=True"),
]
