"""Observations of agents before decisions: arrays of fixed shapes, finite and of 32 bits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

import channel
from edgefl.core.arrays import Floats
from edgefl.core.errors import InputError
from edgefl.core.section import nearest, shown
from edgefl.radio.drop import Drop
from edgefl.server.server import Server
from edgefl.world.control import Choice

UNKNOWN = -1.0  # a value that the server does not know; only values of channels are negative
MOST = 1e9  # of counts, seconds and joules; larger values, such as a battery on mains, are cut to this

Observation = dict[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Moment:
    """A moment at which a decision is awaited."""

    server: Server
    choice: Choice

    @cached_property
    def drop(self) -> Drop:
        """The channel [n] of the free devices if they are chosen now."""
        server = self.server
        ids = self.choice.free
        positions_m = server.world.positions_m(ids, server.env.now)
        return server.link.drop(ids, positions_m, server.world.height_m[ids], self.choice.number)


@dataclass(frozen=True)
class Entry:
    """One entry of an observation."""

    value: Callable[[Moment], Any]  # a number, or numbers [devices]
    per_device: bool = True
    low: float = 0.0
    high: float = MOST


def _free(moment: Moment) -> Floats:
    free = np.zeros(moment.server.world.count)
    free[moment.choice.free] = 1.0
    return free


def _rounds_since(moment: Moment) -> Floats:
    view = moment.server.view
    since = len(view.round_losses) - view.last_round
    return np.where(view.last_round > 0, since, np.nan)


def _path_loss_db(moment: Moment) -> Floats:
    if not len(moment.choice.free):
        return np.zeros(moment.server.world.count)
    return _of_free(moment, moment.drop.pathloss_db + moment.drop.shadowing_db)


def _snr_db(moment: Moment) -> Floats:
    if not len(moment.choice.free):
        return np.zeros(moment.server.world.count)
    drop = moment.drop
    budget = moment.server.link.pricing.budget
    power_w = np.asarray(channel.units.dbm_to_w(moment.server.world.tx_power_dbm[drop.ids]))
    snr = budget.lone_snr("up", drop.ids, drop.path_gain, power_w, budget.resources.band_hz)
    return _of_free(moment, np.asarray(channel.units.linear_to_db(snr)))


def _of_free(moment: Moment, values: Floats) -> Floats:
    """Return values [n] of the free devices as values [devices]; 0 for the others."""
    whole = np.zeros(moment.server.world.count)
    whole[moment.choice.free] = values
    return whole


ENTRIES = {
    "free": Entry(_free, high=1.0),
    "samples": Entry(lambda moment: moment.server.view.samples),
    "participations": Entry(lambda moment: moment.server.view.participations),
    "rounds_since": Entry(_rounds_since, low=UNKNOWN),
    "round_trip_s": Entry(lambda moment: moment.server.view.round_trip_s, low=UNKNOWN),
    "energy_j": Entry(lambda moment: moment.server.view.energy_j, low=UNKNOWN),
    "battery_j": Entry(lambda moment: moment.server.view.battery_j, low=UNKNOWN),
    "loss": Entry(lambda moment: moment.server.view.loss, low=UNKNOWN),
    "round": Entry(lambda moment: moment.server.ledger.finished, per_device=False),
    "wanted": Entry(lambda moment: moment.choice.wanted, per_device=False),
    "time_s": Entry(lambda moment: moment.server.env.now, per_device=False),
    "spent_j": Entry(lambda moment: moment.server.ledger.energy_j, per_device=False),
    "path_loss_db": Entry(_path_loss_db, low=-400.0, high=400.0),
    "snr_db": Entry(_snr_db, low=-400.0, high=400.0),
}
CSI = ("path_loss_db", "snr_db")
GROUPS = {"view": tuple(name for name in ENTRIES if name not in CSI), "csi": CSI}


def checked_entries(names: str | Sequence[str], *, batteries: bool = True, train: bool = True) -> tuple[str, ...]:
    """Return the entries of an observation, in the order of `ENTRIES`.

    Args:
        names: entries, or groups of them.
        batteries: whether any device has a battery; if not, `view` has no batteries.
        train: whether the run learns; if not, `view` has no losses.

    Raises:
        InputError: a name is unknown, or there are none.
    """
    if isinstance(names, str):
        names = (names,)
    if not isinstance(names, Sequence):
        raise InputError(f"observation: must be a name or a list of names, got {shown(names)}")
    known = {**GROUPS, **{name: (name,) for name in ENTRIES}}
    if not names:
        raise InputError(f"observation: is empty: name what the agent sees; known: {', '.join(known)}")
    absent = {name for name, is_there in (("battery_j", batteries), ("loss", train)) if not is_there}
    wanted: set[str] = set()
    for name in names:
        if name not in known:
            raise InputError(f'observation: unknown entry "{name}"{nearest(name, known)}; known: {", ".join(known)}')
        wanted |= set(known[name])
        if name in GROUPS:
            wanted -= absent - set(names)
    return tuple(name for name in ENTRIES if name in wanted)


def space_of(names: Sequence[str], count: int) -> spaces.Dict:
    """Return the space of observations of `count` devices; scalars have shape [1]."""
    boxes: dict[str, spaces.Space[Any]] = {}
    for name in names:
        entry = ENTRIES[name]
        shape = (count,) if entry.per_device else (1,)
        boxes[name] = spaces.Box(np.float32(entry.low), np.float32(entry.high), shape, np.float32)
    return spaces.Dict(boxes)


def observed(names: Sequence[str], moment: Moment) -> Observation:
    """Return the observation of a moment: finite, with `UNKNOWN` for values that the server does not know."""
    observation = {}
    for name in names:
        entry = ENTRIES[name]
        values = np.atleast_1d(np.asarray(entry.value(moment), dtype=np.float32))
        known = np.where(np.isnan(values), np.float32(UNKNOWN), values)
        observation[name] = np.minimum(np.maximum(known, np.float32(entry.low)), np.float32(entry.high))
    return observation
