"""Departures of devices that take part: one timer does the work of a timer for each."""

from dataclasses import dataclass

import numpy as np
import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from edgefl.server.observers.departures import FEW, Departures
from edgefl.world.churn import Presence

NEVER = float("inf")


class Stays(Presence):
    """Devices that stay until given times; what is certain at a time is at most `known_s` ahead."""

    def __init__(self, until_s, known_s=NEVER):
        super().__init__(np.ones(len(until_s)))
        self.until_s = np.array(until_s, dtype=float)
        self.known_s = known_s
        self.asked = 0

    def stays_until_s(self, ids, time_s):
        self.asked += 1
        return np.minimum(self.until_s[ids], max(time_s + self.known_s, time_s))


@dataclass
class Part:
    device: int
    closed: bool = False

    def stop_waiting(self, time_s):
        pass


class World:
    """Devices that work for some seconds each; notes when and how each is interrupted."""

    def __init__(self, presence):
        self.env = simpy.Environment()
        self.cut = {}
        self.causes = set()
        self.left_later = {}
        self.departures = Departures(self.env, presence, self.on_departure)

    def on_departure(self, part):
        self.left_later[part.device] = self.env.now

    def work(self, device, seconds):
        try:
            yield self.env.timeout(seconds)
        except simpy.Interrupt as interrupt:
            self.causes.add(interrupt.cause)
            self.cut[device] = self.env.now

    def begin(self, works_s):
        parts = [Part(device) for device in works_s]
        processes = [self.env.process(self.work(device, seconds)) for device, seconds in works_s.items()]
        self.departures.watch(processes, parts)
        return parts


whole_s = st.integers(1, 40).map(float)  # exact sums, so that times can be compared


@given(st.lists(st.tuples(whole_s, whole_s, st.sampled_from([0.0, 3.0, 7.0])), min_size=1, max_size=30))
def test_only_departing_devices_are_interrupted(devices):
    """Devices begin at three times, work for some seconds and stay for some."""
    stays_s = [begin + stay for stay, _work, begin in devices]
    world = World(Stays(stays_s))
    for begin_s in sorted({begin for _stay, _work, begin in devices}):
        if begin_s:
            world.env.run(begin_s)
        world.begin({number: work for number, (_, work, begin) in enumerate(devices) if begin == begin_s})
    world.env.run(200.0)
    ends_s = [begin + work for _stay, work, begin in devices]
    # Who leaves at the moment in which its work ends has ended it or not, as the clock orders events of one time.
    assert {n for n, s in enumerate(stays_s) if s < ends_s[n]} <= set(world.cut)
    assert {n for n, s in enumerate(stays_s) if s > ends_s[n]} <= set(world.left_later)
    assert all(time_s == stays_s[number] for number, time_s in {**world.cut, **world.left_later}.items())
    assert len(world.cut) + len(world.left_later) == len(devices)


def test_no_device_is_interrupted_after_its_round():
    world = World(Stays([5.0, 6.0, NEVER]))
    first, _second, _third = world.begin({0: 1.0, 1: 20.0, 2: 20.0})
    world.env.run(2.0)
    first.closed = True
    world.env.run(30.0)
    assert world.cut == {1: 6.0}
    assert world.causes == {"departed"}
    assert world.left_later == {}


def test_device_with_unknown_future_is_checked_again():
    presence = Stays([10.0], known_s=3.0)
    world = World(presence)
    world.begin({0: 50.0})
    world.env.run(60.0)
    assert world.cut == {0: 10.0}
    assert presence.asked == 5  # at 0, 3, 6, 9 and 10 s


@pytest.mark.parametrize("rounds", [3, 40])
def test_participations_of_ended_rounds_are_dropped(rounds):
    """Devices stay for a thousand rounds: what is kept does not grow with the rounds."""
    world = World(Stays([1e6] * 50))
    for number in range(1, rounds + 1):
        parts = world.begin(dict.fromkeys(range(50), 0.5))
        world.env.run(float(number))
        for part in parts:
            part.closed = True
    assert len(world.departures._watched) <= 2 * FEW + 50
    assert len(world.env._queue) <= 2
