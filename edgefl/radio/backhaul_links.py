"""The links of the backhaul: messages that are on one link at the same time divide its rate."""

from __future__ import annotations

import math
from bisect import insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import simpy

from edgefl.core.times import SAME_TIME_S, call_at
from edgefl.radio.backhaul import Hop, Routes
from edgefl.radio.transfers import Way


@dataclass(eq=False)
class Message:
    """A message between the server and a base station."""

    arrival: simpy.Event  # its value is how long the message has taken [s]
    began_s: float
    bits: float
    path: _Path | None = None  # None: its bits take no time
    waiting: int = 1  # how many processes wait for it
    end_bits: float = 0.0  # it leaves the links when its path has sent so many bits
    rate_changes: int = 0  # of the path when it began

    def arrive(self, seconds: float) -> None:
        """Tell those who wait for it that it has arrived, after some seconds."""
        self.arrival.succeed(seconds)

    def withdraw(self) -> None:
        """Wait for it no longer; unless another process does, it leaves the links."""
        self.waiting -= 1
        if self.path is not None and self.waiting == 0:
            self.path.links.withdraw(self.path, self)


@dataclass(eq=False)
class _Path:
    """The way between the server and a cell in one direction, whose messages all have the same rate."""

    links: _DividedLinks
    hops: tuple[int, ...]  # the numbers of its links
    delay_s: float
    messages: list[Message] = field(default_factory=list)  # whose bits are on the way, by `end_bits`
    sent_bits: float = 0.0  # of a message that has been on the way since the path was last empty
    rate_bps: float = 0.0  # of each message
    rate_changes: int = 0

    def __post_init__(self) -> None:
        self.links.paths.append(self)


class BackhaulLinks:
    """Carries messages between the server and the base stations.

    A message is on all links of its route while its bits pass, and arrives the route's delay later.
    """

    def __init__(self, env: simpy.Environment, routes: Routes) -> None:
        self.routes = routes
        self._env = env
        self._delays_s: list[float] = routes.delay_s.tolist()
        self._paths = _paths(env, routes)
        self._copies: dict[tuple[Way, int, float], Message] = {}  # the last one of each kind that is sent once

    def send(self, bits: float, cell: int, way: Way, *, one_copy: bool = False) -> Message | None:
        """Begin a message between the server and the base station of a cell; return None if it takes no time.

        Args:
            bits: of the message.
            cell: the cell.
            way: down from the server, or up to it.
            one_copy: whether all who ask for these bits at this time wait for the same message.
        """
        now_s = self._env.now
        path = self._paths.get((way, cell))
        if path is None or not bits:
            delay_s = self._delays_s[cell]
            return Message(self._env.timeout(delay_s, delay_s), now_s, bits) if delay_s else None
        copy = self._copies.get((way, cell, bits))
        if one_copy and copy is not None and copy.began_s == now_s and copy.waiting:
            copy.waiting += 1
            return copy
        message = Message(self._env.event(), now_s, bits, path)
        if one_copy:
            self._copies[way, cell, bits] = message
        path.links.begin(path, message)
        return message


def all_at_once_s(routes: Routes, bits: float, sectors: int = 1) -> float:
    """Return the seconds until all base stations have a message that the server sends to each of them at once.

    Args:
        routes: to their cells.
        bits: of each message.
        sectors: the number of cells of each base station.
    """
    env = simpy.Environment()
    links = BackhaulLinks(env, routes)
    sent = [links.send(bits, cell, "down") for cell in range(0, len(routes.hops), sectors)]
    arrivals = [message.arrival for message in sent if message is not None]
    env.run(env.all_of(arrivals))
    return max((float(arrival.value or 0.0) for arrival in arrivals), default=0.0)


def _paths(env: simpy.Environment, routes: Routes) -> dict[tuple[Way, int], _Path]:
    """Return the paths with links of limited rates, by direction and cell."""
    if not any(routes.hops):
        return {}
    import networkx as nx  # slow to load, and only needed with limited rates

    numbers: dict[Hop, int] = {}
    hops_of: dict[tuple[Way, int], tuple[int, ...]] = {}
    for cell, down in enumerate(routes.hops):
        up = [Hop(hop.far, hop.near, hop.rate_bps) for hop in down]
        hops_of["down", cell] = tuple(numbers.setdefault(hop, len(numbers)) for hop in down)
        hops_of["up", cell] = tuple(numbers.setdefault(hop, len(numbers)) for hop in up)
    rates_bps = [hop.rate_bps for hop in numbers]
    # Links that no chain of paths connects do not depend on each other, and are divided apart.
    graph = nx.Graph()
    for key, hops in hops_of.items():
        nx.add_path(graph, [key, *hops])
    links_of: dict[object, _DividedLinks] = {}
    for connected in nx.connected_components(graph):
        links_of.update(dict.fromkeys(connected, _DividedLinks(env, rates_bps)))
    delays_s = routes.delay_s.tolist()
    return {key: _Path(links_of[key], hops, delays_s[key[1]]) for key, hops in hops_of.items() if hops}


class _DividedLinks:
    """Links that are divided again whenever a message begins or ends on one of them."""

    def __init__(self, env: simpy.Environment, rates_bps: Sequence[float]) -> None:
        self.paths: list[_Path] = []
        self._env = env
        self._rates_bps = rates_bps  # of all links, by number
        self._since_s = 0.0  # everything before is accounted for
        self._divisions = 0  # SimPy cannot cancel a timeout, so the wake-up of an earlier division does nothing

    def begin(self, path: _Path, message: Message) -> None:
        """Let a message take its part of the links from now on."""
        self._advance()
        message.end_bits = path.sent_bits + message.bits
        insort(path.messages, message, key=lambda other: other.end_bits)
        self._divide()
        message.rate_changes = path.rate_changes

    def withdraw(self, path: _Path, message: Message) -> None:
        """Take a message off the links, if it is still there."""
        self._advance()
        if message in path.messages:
            path.messages.remove(message)
        self._divide()

    def _advance(self) -> None:
        """Account for the time until now, and let messages whose bits have passed leave the links."""
        now_s = self._env.now
        passed_s = now_s - self._since_s
        self._since_s = now_s
        near_s = max(SAME_TIME_S, 2 * math.ulp(now_s))
        for path in self.paths:
            path.sent_bits += path.rate_bps * passed_s
            while path.messages and path.messages[0].end_bits - path.sent_bits <= path.rate_bps * near_s:
                self._leave(path, path.messages.pop(0))
            if not path.messages:
                path.sent_bits = 0.0

    def _leave(self, path: _Path, message: Message) -> None:
        seconds = self._env.now + path.delay_s - message.began_s
        if message.rate_changes == path.rate_changes:  # it has a closed form, without the rounding of differences
            seconds = path.delay_s + message.bits / path.rate_bps
        call_at(self._env, message.began_s + seconds, partial(message.arrive, seconds))

    def _divide(self) -> None:
        """Give messages equal parts of the narrowest link, then of what they leave of the others.

        This is max-min fair: no message could have more without taking it from one that has no more.
        """
        busy = [path for path in self.paths if path.messages]
        waiting = busy
        taken_bps: dict[int, float] = defaultdict(float)
        while waiting:
            counts: dict[int, int] = defaultdict(int)
            for path in waiting:
                for hop in path.hops:
                    counts[hop] += len(path.messages)
            part_bps, narrowest = min(((self._rates_bps[hop] - taken_bps[hop]) / counts[hop], hop) for hop in counts)
            for path in waiting:
                if narrowest in path.hops:
                    path.rate_changes += part_bps != path.rate_bps
                    path.rate_bps = part_bps
                    for hop in path.hops:
                        taken_bps[hop] += part_bps * len(path.messages)
            waiting = [path for path in waiting if narrowest not in path.hops]
        self._divisions += 1
        if busy:
            left_s = min((path.messages[0].end_bits - path.sent_bits) / path.rate_bps for path in busy)
            call_at(self._env, self._env.now + left_s, partial(self._wake, self._divisions))

    def _wake(self, division: int) -> None:
        if division == self._divisions:
            self._advance()
            self._divide()
