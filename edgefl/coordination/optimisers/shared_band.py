"""Participants that compute and then upload on shares of a band, as arrays: their needs, and when they can end.

On a share `w` of the band, with a share `q` of its power, a device sends its `S` [s nat] in a time `t` if `t w ln(1 + q
A / w) = S`, where `A` is its signal-to-noise ratio over the whole band (Yang, Chen, Saad, Hong and Shikh-Bahaei, IEEE
TWC 20, 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from channel import airtime
from edgefl.coordination.decisions import Infeasible
from edgefl.coordination.forecast import Forecast
from edgefl.core.arrays import Floats, Ids

LN_2 = float(np.log(2.0))
EXACT = 1e-13  # relative accuracy of a root


@dataclass(frozen=True)
class SharedBand:
    """The uploads and the computing of a cell's participants [n]."""

    payload: Floats  # S: nats over the hertz that carry payload, averaged over the frame [s]
    whole_snr: Floats  # A: over the whole band at full power
    sending_w: Floats  # drawn by the amplifier at full power, averaged over the frame
    circuit_w: Floats  # drawn besides, in the same form
    cycles: Floats
    capacitance: Floats
    cpu_hz: Floats  # highest clocks
    other_s: Floats  # download, access, backhaul, and the rest of the last slot of each transfer

    @classmethod
    def of(cls, forecast: Forecast) -> SharedBand:
        """Return the participants of a forecast."""
        up = forecast.up
        free_hz = up.band_hz * up.free_share
        return cls(
            payload=forecast.up_bits * LN_2 / (free_hz * up.time_share * up.payload_share),
            whole_snr=forecast.steady_up_snr_hz() / free_hz,
            sending_w=forecast.amplifier_w * up.time_share,
            circuit_w=forecast.circuit_w * up.time_share,
            cycles=forecast.flops / forecast.flops_per_cycle,
            capacitance=forecast.capacitance,
            cpu_hz=forecast.cpu_hz,
            other_s=forecast.download_s() + forecast.on_the_way_s() + 2 * forecast.slot_s,
        )

    def __len__(self) -> int:
        return len(self.payload)

    @property
    def before_s(self) -> Floats:
        """Return when uploads [n] begin at the highest clocks."""
        return self.other_s + self.cycles / self.cpu_hz

    def least_share(self, upload_s: Floats) -> Floats:
        """Return the least shares [n] on which uploads at full power take a time; inf where none is enough."""
        possible = upload_s > 0
        seconds = np.where(possible, upload_s, 1.0)
        share = airtime.least_band_hz(self.payload / (seconds * LN_2), self.whole_snr)
        return np.where(possible, share, np.inf)

    def upload_s(self, share: Floats | float) -> Floats:
        """Return how long uploads [n] take on shares of the band at full power."""
        return np.asarray(self.payload / (share * np.log1p(self.whole_snr / share)))

    def least_time_s(self) -> float:
        """Return the earliest time at which all can have finished at full power and the highest clocks."""
        from scipy.optimize import brentq

        # On equal shares all have finished by `latest_s`; no upload is faster than over an endless band.
        latest_s = float((self.before_s + self.upload_s(1.0 / len(self))).max())
        earliest_s = float((self.before_s + self.payload / self.whole_snr).max())

        def scarcity(time_s: float) -> float:
            """Return a number above 0 if the band is too scarce; 1 if no band is enough."""
            return 1.0 - 1.0 / float(self.least_share(time_s - self.before_s).sum())

        if scarcity(latest_s) >= 0:  # of equal devices, where equal shares are best
            return latest_s
        found: float = brentq(scarcity, earliest_s, latest_s, xtol=EXACT * latest_s, rtol=EXACT)
        return found

    def check_deadline(self, deadline_s: float, ids: Ids) -> None:
        """Check that all devices `ids` [n] can finish by a deadline.

        Raises:
            Infeasible: a device cannot, even with the whole band, or not all of them on one band.
        """
        alone_s = self.before_s + self.upload_s(1.0)
        last = int(alone_s.argmax())
        by = f"by the deadline of {deadline_s:g} s"
        if alone_s[last] > deadline_s:
            late_s = alone_s[last] - deadline_s
            text = f"device {ids[last]} cannot finish {by}, even at full power and clock on the whole band"
            raise Infeasible(f"{text}: it misses it by {late_s:.4g} s")
        needed = self.least_share(deadline_s - self.before_s)
        if needed.sum() > 1.0 + EXACT:
            most = int(needed.argmax())
            late_s = self.least_time_s() - deadline_s
            text = f"{len(self)} participants cannot all finish {by} on one band"
            raise Infeasible(f"{text}: device {ids[most]}, which needs most of it, misses it by {late_s:.4g} s at best")
