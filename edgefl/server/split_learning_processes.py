"""The processes of split learning: a device computes the model's front, the server its back (SplitFed, AAAI 2022)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import simpy

from edgefl.core.arrays import Floats
from edgefl.learning.payload import SplitPayload
from edgefl.radio.carriers.carrier import Carrier
from edgefl.radio.messages import Messages, by_turns
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import OUT_OF_MEMORY, RECEIVED
from edgefl.server.participation import ParticipantProcess, Participation
from edgefl.world.compute import compute_s

BACKWARD = 2  # a backward pass takes this many times the operations of a forward pass


class SplitTurns(NamedTuple):
    """The 2 K + 2 turns of a device with K local steps: a turn is one message, and the computing before it."""

    bits: Floats  # [2 K + 2] of each message: front down; activations up and gradients down, K times; front up
    compute_s: Floats  # [2 K + 2] how long the device computes before each message
    server_s: Floats  # [2 K + 2] how long the server then computes before it

    @property
    def pause_s(self) -> Floats:
        """Seconds [2 K + 2] that the radio is silent before each message."""
        return self.compute_s + self.server_s


def split_turns(
    payload: SplitPayload, device: int, flops_per_s: float, server_flops_per_s: float, steps: int | None = None
) -> SplitTurns:
    """Return the turns of a device's participation.

    Each local step is a forward pass to the cut, activations up, the server's forward and backward pass and step,
    gradients down, and a backward pass from the cut.

    Args:
        payload: the sizes and operations.
        device: the device, whose samples are divided into batches.
        flops_per_s: the device's speed.
        server_flops_per_s: the server's speed for this device.
        steps: the number K of local steps; None: the payload's.
    """
    samples = payload.batches(device, steps)
    front = payload.front
    back = payload.back
    turns = 2 * len(samples) + 2
    # Turn 0 brings the front down and the last turn takes it up; between them uploads are odd and downloads even.
    activations = slice(1, -1, 2)
    gradients = slice(2, -1, 2)
    after_gradients = slice(3, None, 2)  # the uploads before which the device computes a backward pass
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
class SplitLearningProcesses:
    """Makes the processes of participants that begin together."""

    env: simpy.Environment
    ledger: Ledger
    carrier: Carrier  # of the messages of each participant
    turns: list[SplitTurns]  # of each participant, in the order of the carrier's rows

    def __call__(self, part: Participation) -> ParticipantProcess:
        """Take part; return the status at the end."""
        if part.lacks_memory:
            return OUT_OF_MEMORY
        turns = self.turns[part.row]
        first = 0
        last = len(turns.bits) - 1
        cut = yield from part.set_up(self.env)
        if cut:
            return cut
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
        """Carry one message; return "" if it arrived, otherwise the status of the participation."""
        transfer = yield from self.carrier.send(part.row, turn)
        upwards = turn % 2 == 1
        if upwards:
            failure = "upload_failed"
            part.add_upload(transfer, self.env.now)
        else:
            failure = "download_failed"
            part.add_download(transfer, self.env.now)
        if transfer.delivered:
            return ""
        return transfer.cut or failure

    def _note(self, kind: str, part: Participation) -> None:
        self.ledger.event(self.env.now, kind, part.device, part.cell)
