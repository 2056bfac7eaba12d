"""A band whose shares hold for the round, while the channels of the devices change."""

import numpy as np
import simpy

from edgefl.radio.bands.band import Band
from edgefl.radio.bands.clock import BandClock
from edgefl.radio.bands.transfer import BandTransfer
from edgefl.radio.budget.shares import BandShares
from edgefl.radio.drop import Drop
from edgefl.radio.prices.offer import Offer
from edgefl.radio.prices.transmission import TransmissionEngine
from edgefl.radio.transfers import OnAir, Way


class FixedBand(Band):
    """The transfers of one round in one direction, each on a share that holds for the round.

    Args:
        env: the clock.
        engine: carries the transfers.
        way: the direction.
        on_air: called when a device's radio is switched.
        offer: the shares of the participants [n], and their SNRs when the round begins.
        drop: [n] their channel then.
    """

    def __init__(
        self, *, env: simpy.Environment, engine: TransmissionEngine, way: Way, on_air: OnAir, offer: Offer, drop: Drop
    ) -> None:
        super().__init__(env, engine, way, on_air)
        self._offer = offer
        self._drop = drop
        self._row_of = {device: row for row, device in enumerate(drop.ids.tolist())}

    def _clock(self, transfer: BandTransfer) -> BandClock:
        row = self._row_of[transfer.device]
        if row not in self._clocks:
            share = self._offer.only(np.array([row]))
            path_gain = float(self._drop.path_gain[row])
            self._clocks[row] = _FixedClock(
                env=self._env, engine=self._engine, way=self._way, on_air=self._on_air, share=share, path_gain=path_gain
            )
        return self._clocks[row]


class _FixedClock(BandClock):
    """The clock of one transfer on a fixed share."""

    def __init__(
        self,
        *,
        env: simpy.Environment,
        engine: TransmissionEngine,
        way: Way,
        on_air: OnAir,
        share: Offer,
        path_gain: float,
    ) -> None:
        super().__init__(env, engine, way, on_air)
        self._share = share
        self._path_gain = path_gain

    def _divided(self) -> BandShares:
        """Return the share [1], whose SNR has changed with the path's gain."""
        share = self._share
        rows = self._rows
        # Noise stays the same and nothing interferes, so the SNR follows the gain and the power.
        mean_snr = share.mean_snr * (rows.path_gain / self._path_gain)
        if self._way == "down" or self._budget.power_control.always_full:
            return BandShares(share.bandwidth_hz, share.air, mean_snr, share.power_share)
        power_share = self._budget.power_share(self._way, rows.device, share.bandwidth_hz, rows.path_gain)
        silent = np.zeros(1)  # without power the SNR is 0, not a division by 0
        gain = np.divide(power_share, share.power_share, out=silent, where=share.power_share > 0)
        return BandShares(share.bandwidth_hz, share.air, mean_snr * gain, power_share)
