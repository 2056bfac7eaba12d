"""Base of the models of packet errors that the channel causes.

To add one:

1. A file with a class derived from `PacketErrors`; its fields are the keys under `radio.errors`.
2. `failure_probability`: of a whole attempt, noticed at its end and repeated up to `radio.faults.attempts` times.
3. One line in the table of contents (`members.csv`), one test in `tests/radio/test_packet_errors.py`, one row in
   `docs/channel/errors.md`.
"""

import numpy as np

from channel.link_adaptation import LinkAdaptation
from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member
from edgefl.radio.rates import Rate


class PacketErrors(Member):
    """Base class of all models of packet errors."""

    def refusal(self, rate: Rate, transfer: str) -> tuple[str, str] | None:
        """Return the key of `radio` that contradicts this model, and a remedy; None: none does.

        Args:
            rate: the rate model.
            transfer: the engine, `slots` or `fast`.
        """
        return None

    def warnings(self, rate: Rate) -> tuple[str, ...]:
        """Return what users should know of the files that this model has read, each with its key of `radio.errors`."""
        return ()

    def link_adaptation(self, rate: Rate) -> LinkAdaptation | None:
        """Return the choice of schemes and the repetition of blocks, slot by slot; None: only the rate model counts."""
        return None

    def failure_probability(self, mean_snr: Floats, k_factor: Floats) -> Floats:
        """Return the probabilities [n] that the channel makes attempts fail.

        Args:
            mean_snr: mean signal-to-noise ratio at |h|^2 = 1 [1], [n].
            k_factor: Ricean K of the fading [1], [n]; 0 is Rayleigh fading.
        """
        return np.zeros(np.shape(mean_snr))
