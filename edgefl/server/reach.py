"""Refuses a run if no device can finish its transfers."""

from dataclasses import dataclass, field

import numpy as np
import simpy

from channel.transfer import MAX_SLOTS
from edgefl.core.arrays import Bools, Ids
from edgefl.core.errors import RunError
from edgefl.radio.link import Link
from edgefl.radio.messages import Messages
from edgefl.radio.participants import Participants
from edgefl.radio.transfers import WAYS, Way, remedy
from edgefl.world.cells_section import Cells
from edgefl.world.world import World

CHUNK_DEVICES = 10_000  # looked at side by side: bounds the memory


@dataclass(eq=False)
class Reach:
    """Looks at the first participants, and at all other devices if none of these can finish."""

    env: simpy.Environment
    cells: Cells  # where the base stations stand
    world: World
    link: Link
    moves: bool = field(kw_only=True)  # whether positions change with time

    def __post_init__(self) -> None:
        # With a limit of the time such transfers fail, and are not refused; recorded links have no means.
        self._looked = self.link.radio.faults.max_transfer_s is not None or self.link.radio.kind == "trace"

    def look(self, participants: Participants, messages: Messages) -> None:
        """Refuse the run if no device can ever finish a transfer of these participants' [n].

        Raises:
            RunError: every link is too weak for the payload.
        """
        if self._looked:
            return
        self._looked = True
        for way in WAYS:
            bits = messages.most_bits(way)
            hopeless = self.link.pricing.hopeless_links.alone(way, participants, bits)
            if hopeless.all() and self._all_others(way, participants, float(bits.min())):
                raise _refusal(way, participants)

    def _all_others(self, way: Way, participants: Participants, bits: float) -> bool:
        for first in range(0, self.world.count, CHUNK_DEVICES):
            last = min(first + CHUNK_DEVICES, self.world.count)
            if not self._hopeless(way, np.arange(first, last), participants.index, bits).all():
                return False
        return True

    def _hopeless(self, way: Way, ids: Ids, index: int, bits: float) -> Bools:
        """Return which devices [n] have a hopeless link; those that move are put next to a base station."""
        world = self.world
        positions_m = world.positions_m(ids, self.env.now)
        if self.moves:
            beside_m = [self.cells.min_distance_m, 0.0]
            positions_m = np.broadcast_to(self.cells.sites_m[0] + beside_m, positions_m.shape)
        drop = self.link.drop(ids, positions_m, world.height_m[ids], index)
        speeds_mps = world.speeds_mps(ids, self.env.now)
        participants = self.link.participants(drop, speeds_mps, world.tx_power_w(ids), index)
        return self.link.pricing.hopeless_links.alone(way, participants, bits)


def _refusal(way: Way, participants: Participants) -> RunError:
    """Return the error of a run whose first participants [n] cannot finish, nor can any other device."""
    device = int(participants.drop.ids[0])
    transfer = "download" if way == "down" else "upload"
    text = f"no device can finish: each {transfer}, such as device {device}'s, needs more than {MAX_SLOTS} slots"
    return RunError(f"round {participants.index + 1}: {text}: {remedy(way)}")
