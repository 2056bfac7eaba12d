"""The state of participants from one message to the next: their fading, and the keys of their draws."""

from dataclasses import replace

import numpy as np
import simpy
from numpy.typing import ArrayLike

import channel
from edgefl.core.arrays import Complex
from edgefl.core.times import steps_begun
from edgefl.radio.messages import Messages
from edgefl.radio.participants import Participants
from edgefl.radio.prices.pricing import Pricing

ROUND_TRIP_TURNS = 2  # messages of an ordinary round: a download and an upload


class Turns:
    """The state of a round's participants from turn to turn, for carriers that price each message as it begins.

    Args:
        env: the clock.
        pricing: draws, length of a slot, number of attempts.
        participants: the round's [n].
        messages: theirs.
    """

    def __init__(
        self, env: simpy.Environment, pricing: Pricing, participants: Participants, messages: Messages
    ) -> None:
        self._env = env
        self._radio = pricing.radio
        self._participants = participants
        self._messages = messages
        self._alone: dict[int, Participants] = {}  # participants [1] by row, with the draws' keys of their last turn
        self._pauses = [pricing.fading.pauses(participants.only(group.rows), group.turns) for group in messages.groups]
        self._ended_s = np.full(len(participants), float(env.now))  # the last turn of each; or when the round began
        self.gain: Complex = participants.start.copy()  # [n] of the fading at the start of each one's next attempt

    def participant(self, row: int) -> Participants:
        """Return a participant [1], with the keys of the draws of its turn."""
        if row not in self._alone:
            self._alone[row] = self._participants.only(np.array([row]))
        return self._alone[row]

    def begin(self, row: int, turn: int) -> None:
        """Begin a participant's turn: advance its fading over the pause, and the keys of its draws."""
        if turn > 0:
            self._pause(row, turn)
        # Attempts of earlier turns in the same direction.
        attempts_before = turn // 2 * self._radio.faults.attempts
        participant = self.participant(row)
        if participant.attempts_before != attempts_before:
            self._alone[row] = replace(participant, attempts_before=attempts_before)

    def end(self, row: int) -> None:
        """End a participant's turn now."""
        self._ended_s[row] = self._env.now

    def begin_with(self, row: int, gain: complex) -> None:
        """Set the fading gain at the start of a participant's next attempt, or turn."""
        self.gain[row] = gain

    def _pause(self, row: int, turn: int) -> None:
        """Advance the fading from the end of the previous transfer to now."""
        # The next transfer begins at a slot boundary, so a slot that has begun counts as a whole.
        pause_slots: ArrayLike = steps_begun(self._env.now - self._ended_s[row], self._radio.slot_s)
        group, place = self._messages.place(row)
        if self._messages.groups[group].turns > ROUND_TRIP_TURNS:
            # NumPy squares by another path if the exponent is an array, which may round the last digit differently.
            # Results of earlier versions had an array here for split learning, and a number for ordinary rounds.
            pause_slots = np.array([pause_slots])
        draw = self._pauses[group][place, turn - 1]
        at = slice(row, row + 1)  # arrays [1], as fixed shares compute it for all together
        self.gain[at] = channel.fading.advance(self.gain[at], self._participants.correlation[at], pause_slots, draw)
