"""A participation in split learning: the device computes the front, the server the back (algorithm cards, 1.19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import simpy

from edgefl.core.arrays import Floats
from edgefl.learning.payload import SplitPayload
from edgefl.radio.carrier import Carrier
from edgefl.radio.messages import Messages, by_turns
from edgefl.server.ledger import Ledger
from edgefl.server.participation import RECEIVED, ParticipantProcess, Participation
from edgefl.world.compute import compute_s

BACKWARD = 2  # operations of a backward pass over those of a forward pass


class SplitTurns(NamedTuple):
    """The 2 K + 2 turns of a device with K local steps: the messages, and what is computed before each."""

    bits: Floats  # [2 K + 2] front down; activations up and gradients down, K times; front up
    compute_s: Floats  # of the device
    server_s: Floats

    @property
    def pause_s(self) -> Floats:
        """Seconds [2 K + 2] for which the radio is silent before each message."""
        return self.compute_s + self.server_s


def split_turns(
    payload: SplitPayload, device: int, flops_per_s: float, server_flops_per_s: float, steps: int | None = None
) -> SplitTurns:
    """Return the turns of a device's participation.

    Each local step is a forward pass to the cut, activations up, the server's forward and backward pass and step,
    gradients down, and a backward pass from the cut.

    Args:
        payload: what is sent and computed.
        device: whose samples count.
        flops_per_s: of the device.
        server_flops_per_s: of the server, for this device.
        steps: K; what is asked of the device where not given.
    """
    samples = payload.batches(device, steps)
    front = payload.front
    back = payload.back
    turns = 2 * len(samples) + 2
    activations = slice(1, -1, 2)  # turns in which they go up
    gradients = slice(2, -1, 2)  # turns in which they come down
    after_gradients = slice(3, None, 2)  # turns up before which the device has gradients
    bits = np.full(turns, payload.front_bits)
    bits[activations] = samples * payload.up_bits
    bits[gradients] = samples * payload.down_bits
    device_flops = np.zeros(turns)
    device_flops[activations] = samples * front.forward
    device_flops[after_gradients] += BACKWARD * samples * front.forward + front.step
    server_flops = np.zeros(turns)
    server_flops[gradients] = (1 + BACKWARD) * samples * back.forward + back.step
    return SplitTurns(bits, compute_s(device_flops, flops_per_s), compute_s(server_flops, server_flops_per_s))


def split_messages(participants: Sequence[SplitTurns]) -> Messages:
    """Return the messages of a round's participants, as the radio carries them."""
    return by_turns([turns.bits for turns in participants], [turns.pause_s for turns in participants])


@dataclass(frozen=True)
class SplitTrip:
    """Makes the processes of a round's participants.

    Args:
        env: the clock.
        ledger: for events.
        carrier: of the messages of each participant.
        participants: their turns, in the same order.
    """

    env: simpy.Environment
    ledger: Ledger
    carrier: Carrier
    participants: list[SplitTurns]

    def __call__(self, part: Participation) -> ParticipantProcess:
        """Take part; return the status at the end."""
        turns = self.participants[part.row]
        first = 0
        last = len(turns.bits) - 1
        for turn in range(last + 1):
            cut = yield from part.compute(self.env, float(turns.compute_s[turn]))
            if cut:
                return cut
            if turn == last:
                self._note("compute_end", part)
            cut = yield from part.wait_for_server(self.env, float(turns.server_s[turn]))
            if cut:
                return cut
            failure = yield from self._send(part, turn)
            if failure:
                return failure
            if turn == first:
                self._note("download_end", part)
            elif turn == last:
                self._note("upload_end", part)
        return RECEIVED

    def _send(self, part: Participation, turn: int) -> ParticipantProcess:
        """Carry one message; return why it has not arrived, if so."""
        transfer = yield from self.carrier.send(part.row, turn)
        upwards = turn % 2 == 1
        if upwards:
            part.add_upload(transfer)
        else:
            part.add_download(transfer)
        if transfer.delivered:
            return ""
        return transfer.cut or ("upload_failed" if upwards else "download_failed")

    def _note(self, kind: str, part: Participation) -> None:
        self.ledger.event(self.env.now, kind, part.device, part.cell)
