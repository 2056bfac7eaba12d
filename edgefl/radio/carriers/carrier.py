"""The one way to carry a round's messages, whoever shares the band with whom."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol

import simpy

from edgefl.radio.transfers import TransferResult


class Carrier(Protocol):
    """Carries the messages of one round's participants."""

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """Carry a participant's message of a turn, from now on; if interrupted, return what was sent so far.

        A turn may be left out, for example by a device that already has the model; then nothing is on air for it.
        """
