"""The transport blocks of one transfer."""

import numpy as np

from channel.link_adaptation import Adapted, LinkAdaptation, Process
from edgefl.core.arrays import Floats


class BlockProcess:
    """The HARQ process and the outer loop of one attempt, which may look ahead of the clock.

    Args:
        adaptation: schemes and curves.
        generator: of the attempt's draws, one for each slot.
    """

    def __init__(self, adaptation: LinkAdaptation, generator: np.random.Generator) -> None:
        self._adaptation = adaptation
        self._generator = generator
        self._process = Process()
        self._uniform: Floats = np.empty(0)  # of the coming slots
        self._coming: Adapted | None = None
        self.first_sent = 0  # blocks that were sent for the first time
        self.first_lost = 0  # of these, the blocks that were lost then

    def bps_hz(self, snr: Floats) -> Floats:
        """Return the bits a symbol [c] that arrive in the coming slots, given their SNRs [c]."""
        missing = snr.size - self._uniform.size
        if missing > 0:
            self._uniform = np.concatenate([self._uniform, self._generator.random(missing)])
        self._coming = self._adaptation.adapt(self._process, snr, self._uniform[: snr.size])
        return self._coming.bps_hz

    def advance(self, slots: int) -> None:
        """Let some of the slots pass that `bps_hz` returned last; without such slots nothing changes."""
        if self._coming is None:
            return
        self._process = self._coming.after(slots)
        self.first_sent += int(self._coming.first[:slots].sum())
        self.first_lost += int(self._coming.lost[:slots].sum())
        self._uniform = self._uniform[slots:]
        self._coming = None
