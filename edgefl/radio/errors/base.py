"""Base of the models of packet errors: how often the channel loses what is sent.

To add one:

1. A file with a class derived from `PacketErrors`; its fields are the keys under `radio.errors`.
2. `failure_probability`: of a whole attempt, which is noticed at its end and repeated as `radio.faults.attempts` says.
3. One line in the table of contents (`__init__.py`), one test in `tests/radio/test_packet_errors.py`, one row in
   `docs/channel/errors.md`.
"""

from __future__ import annotations

import numpy as np

from channel.link_adaptation import LinkAdaptation
from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member
from edgefl.radio.rates import Rate


class PacketErrors(Member):
    """Base class of all models of packet errors."""

    def refusal(self, rate: Rate, transfer: str) -> tuple[str, str] | None:
        """Return the key of `radio` that this model cannot go with, and what to write instead; None: all is well.

        Args:
            rate: the rate model.
            transfer: the engine, `slots` or `fast`.
        """
        return None

    def link_adaptation(self, rate: Rate) -> LinkAdaptation | None:
        """Return how schemes are chosen and blocks sent again, slot by slot; None: the rate model tells all."""
        return None

    def failure_probability(self, mean_snr: Floats, k_factor: Floats) -> Floats:
        """Return the probabilities [n] with which attempts fail that the channel alone makes fail.

        Args:
            mean_snr: mean signal-to-noise ratio at |h|^2 = 1 [1], [n].
            k_factor: Ricean K of the fading [1], [n]; 0 is Rayleigh fading.
        """
        return np.zeros(np.shape(mean_snr))
