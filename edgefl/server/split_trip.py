"""A device's part in split learning: it computes the model's front, the server the back (algorithm cards, 1.19)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import simpy

from edgefl.core.arrays import Floats
from edgefl.learning.payload import SplitPayload
from edgefl.radio import Exchange, Turns
from edgefl.server.ledger import Ledger
from edgefl.server.participation import RECEIVED, ParticipantProcess, Participation
from edgefl.world.compute import compute_s


class Course(NamedTuple):
    """A device's part with K steps: 2 K + 2 transfers, down and up by turns, and what is computed before each."""

    bits: Floats  # [2 K + 2] front, then activations up and gradients down, front
    compute_s: Floats  # of the device
    server_s: Floats

    @property
    def turns(self) -> Turns:
        """As the radio sees it."""
        return Turns(self.bits, self.compute_s + self.server_s)


def course(
    payload: SplitPayload, device: int, flops_per_s: float, server_flops_per_s: float, steps: int | None = None
) -> Course:
    """Forward to the cut, activations up, the server's step, gradients down, backward from the cut; K times.

    K is what is asked of the device, or so many `steps`.
    """
    samples, front, back = payload.batches(device, steps), payload.front, payload.back
    bits = np.full(2 * len(samples) + 2, payload.front_bits)
    bits[1:-1:2], bits[2:-1:2] = samples * payload.up_bits, samples * payload.down_bits
    computing, serving = np.zeros(len(bits)), np.zeros(len(bits))
    computing[1:-1:2] = samples * front.forward
    computing[3::2] += 2 * samples * front.forward + front.step
    serving[2:-1:2] = 3 * samples * back.forward + back.step
    return Course(bits, compute_s(computing, flops_per_s), compute_s(serving, server_flops_per_s))


@dataclass(frozen=True)
class SplitTrip:
    """The parts of a round's participants; `courses` are in the order of the exchange's."""

    env: simpy.Environment
    ledger: Ledger
    exchange: Exchange
    courses: list[Course]

    def __call__(self, part: Participation) -> ParticipantProcess:
        """A part; how it ended."""
        course, who = self.courses[part.row], (part.device, part.cell)
        last = len(course.bits) - 1
        for turn in range(last + 1):
            if cut := (yield from part.compute(self.env, float(course.compute_s[turn]))):
                return cut
            if turn == last:
                self.ledger.event(self.env.now, "compute_end", *who)
            if cut := (yield from part.wait_for_server(self.env, float(course.server_s[turn]))):
                return cut
            leg = yield from self.exchange.send(part.row, turn)
            if turn % 2:
                part.add_upload(leg)
            else:
                part.add_download(leg)
            if not leg.delivered:
                return leg.cut or ("upload_failed" if turn % 2 else "download_failed")
            if turn in {0, last}:
                self.ledger.event(self.env.now, "download_end" if turn == 0 else "upload_end", *who)
        return RECEIVED
