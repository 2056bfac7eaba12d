"""The protocol of all carriers."""

from collections.abc import Generator
from typing import Any, Protocol

import simpy

from edgefl.radio.transfers import TransferResult


class Carrier(Protocol):
    """Carries the messages of one round's participants."""

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """Carry a participant's message of a turn from now on; if interrupted, return the result so far.

        A turn may be left out, for example by a device that already has the model; then nothing is on air.
        """
