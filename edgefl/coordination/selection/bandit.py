"""Client scheduling as a bandit."""

from typing import ClassVar, Literal

import numpy as np

from edgefl.coordination.selection.base import Selection, draws, lowest
from edgefl.coordination.server_view import DeviceReports, ServerView
from edgefl.core.arrays import Floats, Ids
from edgefl.core.section import Seconds, Share
from edgefl.core.streams import Streams

TRIPS_S, RECEIVED, LOST, LONGEST_S, DEBT = range(5)
"""Columns of the memory: the sum and number of round trips, participations without an update, the longest round trip,
and how many rounds a device has fallen behind its share."""


class Bandit(Selection):
    """Devices as arms whose reward is a short round trip: CS-UCB, and fair CS-UCB-Q (Xia et al., IEEE TWC, 2020).

    The reward of a participation is 1 - t / t_max, and 0 without an update. CS-UCB takes the highest
    mean + sqrt((m + 1) ln r / z), with m participants a round, r rounds so far and z participations of the device.
    CS-UCB-Q takes the highest (1 - beta) min(mean + sqrt(2 ln r / z), 1) + beta D, where the queue
    D' = max(D + c - b, 0) counts how far a device has fallen behind its share c of the rounds (b is 1 if it took part).
    New devices come first in CS-UCB; in CS-UCB-Q they begin at the most that a reward may be, 1.
    """

    memory_width: ClassVar[int] = 5  # the columns above

    # Short round trips (cs-ucb), or with a share of the rounds for each device (cs-ucb-q).
    variant: Literal["cs-ucb", "cs-ucb-q"] = "cs-ucb"
    # Time to which longer round trips are cut, t_max; by default the longest so far.
    max_round_trip_s: Seconds | None = None
    share: Share = 0.0  # Least share of the rounds of each device in cs-ucb-q, c.
    beta: Share = 0.1  # Weight of the queue against the reward in cs-ucb-q.

    def check(self, count: int, participants: int) -> str | None:
        """Return why not all devices can have their share; None if they can."""
        if self.variant == "cs-ucb" or self.share * count <= participants * (1 + 1e-12):
            return None
        most = participants / count
        return f"share must be at most server.participants / devices.count = {most:.4g}, got {self.share:g}"

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the devices with the highest indices; ties are drawn."""
        score = self.indices(view.memory, len(view.round_losses), participants)[present]
        return lowest(present, -score, draws(present, index, streams), participants)

    def indices(self, memory: Floats, rounds: int, participants: int) -> Floats:
        """Return the index [devices] of each device after some rounds; the highest are chosen."""
        times = memory[:, RECEIVED] + memory[:, LOST]
        mean = np.divide(self._rewards(memory), times, out=np.full(len(memory), np.inf), where=times > 0)
        factor = 2
        if self.variant == "cs-ucb":
            factor = participants + 1
        known = np.maximum(times, 1)
        bound = mean + np.sqrt(factor * np.log(max(rounds, 1)) / known)
        if self.variant == "cs-ucb":
            return np.asarray(bound)
        return np.asarray((1 - self.beta) * np.minimum(bound, 1.0) + self.beta * memory[:, DEBT])

    def remember(self, memory: Floats, reports: DeviceReports, view: ServerView) -> Floats:
        """Return the memory with the round trips of a round."""
        after = memory.copy()
        trip_s = reports.round_trip_s
        if self.max_round_trip_s is not None:
            trip_s = np.minimum(trip_s, self.max_round_trip_s)
        # A device may have failed and been asked again in the same round, so it may be in the reports twice.
        np.add.at(after[:, TRIPS_S], reports.ids, np.where(reports.received, trip_s, 0.0))
        np.add.at(after[:, RECEIVED], reports.ids, reports.received)
        np.add.at(after[:, LOST], reports.ids, ~reports.received)
        np.maximum.at(after[:, LONGEST_S], reports.ids, trip_s)
        after[:, DEBT] += self.share
        after[reports.ids, DEBT] -= 1.0
        after[:, DEBT] = np.maximum(after[:, DEBT], 0.0)
        return after

    def _rewards(self, memory: Floats) -> Floats:
        longest_s = self.max_round_trip_s or max(float(memory[:, LONGEST_S].max()), 1e-300)
        return np.asarray(memory[:, RECEIVED] - memory[:, TRIPS_S] / longest_s)
