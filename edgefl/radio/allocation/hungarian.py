"""Resource blocks by packet errors."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, PositiveFloat

from channel import allocation
from channel.allocation import Shares
from channel.block_assignment import best_blocks
from channel.packet_errors import outage_probability
from channel.rate import Efficiency
from channel.units import db_to_linear
from edgefl.coordination.decisions import Decisions, Infeasible
from edgefl.coordination.forecast import Forecast
from edgefl.core.arrays import Bools, Floats
from edgefl.core.section import Seconds
from edgefl.radio.allocation.base import Allocation

LEAST_POWER_SHARE = 1e-6
POWERS = 61  # tried between that and full power, before the interval is halved
BISECTIONS = 40

Watts = Annotated[float, Field(ge=0, le=1e3)]


class Hungarian(Allocation):
    """One block each, by samples and packet errors (Chen, Yang, Saad, Yin, Poor, Cui, IEEE TWC 20(1), 2021)."""

    by_snr: ClassVar[bool] = True
    by_forecast: ClassVar[bool] = True

    # Interference on each block of a cell's uplink; the band has as many blocks, all of one width.
    interference_w: Annotated[list[Watts], Field(min_length=1, max_length=4096)]
    # Threshold m in 1 - exp(-m (I + N) / (P h)), as in radio.errors.
    threshold_db: Annotated[float, Field(ge=-100, le=100)] = 0.023
    max_delay_s: Seconds | None = None  # Most time of download and upload together.
    max_energy_j: PositiveFloat | None = None  # Most energy of computing and upload together.
    # Whether powers are lowered as far as max_energy_j requires, or never (full).
    power: Literal["within_energy", "full"] = "within_energy"

    def places(self) -> int:
        """Return the number of blocks."""
        return len(self.interference_w)

    def decide(self, forecast: Forecast) -> Decisions:
        """Return the blocks of the uplink, their interference, the powers, and which devices take part."""
        devices = len(forecast)
        blocks = self.places()
        if devices > blocks:
            text = f"{devices} participants in a cell, but radio.allocation has {blocks} blocks"
            raise Infeasible(f"{text}: choose fewer, or add blocks to interference_w")
        block_hz = float(forecast.up.band_hz * forecast.up.free_share) / blocks
        interference_w_hz = np.array(self.interference_w) / block_hz
        pairs = _pairs(forecast, interference_w_hz)
        power_share = self._power_share(pairs)
        # Errors follow from the SNR averaged over the fading, like those of radio.errors.
        mean_snr = power_share * pairs.up_snr_hz / pairs.fading / block_hz
        arrives = 1.0 - outage_probability(db_to_linear(self.threshold_db), mean_snr)
        samples = np.broadcast_to(pairs.samples, arrives.shape)
        worth = np.where(self._within_limits(pairs, power_share), samples * arrives, 0.0)
        block = best_blocks(worth.reshape(devices, blocks))
        column = np.maximum(block, 0)
        return Decisions(
            up_share=np.full(devices, 1.0 / blocks),
            power_share=power_share.reshape(devices, blocks)[np.arange(devices), column],
            up_interference_w_hz=interference_w_hz[column],
            takes_part=block >= 0,
            fills_band=False,
        )

    def shares(
        self, band_hz: float, payload_bits: Floats, snr_hz: Floats, efficiency: Efficiency, *, spread: bool
    ) -> Shares:
        """Return equal shares of the downlink: blocks divide only the uplink."""
        return allocation.equal(band_hz, len(payload_bits))

    def _within_limits(self, pairs: Forecast, power_share: Floats) -> Bools:
        """Return which pairs [p] of device and block meet the limits."""
        upload_s = pairs.upload_s(1.0 / self.places(), power_share)
        within = np.isfinite(upload_s)
        if self.max_delay_s is not None:
            within &= pairs.download_s() + upload_s <= self.max_delay_s
        if self.max_energy_j is not None:
            within &= self._energy_j(pairs, power_share) <= self.max_energy_j
        return np.asarray(within)

    def _energy_j(self, pairs: Forecast, power_share: Floats) -> Floats:
        """Return the energy of computing and upload [p]."""
        return pairs.compute_j() + pairs.upload_j(1.0 / self.places(), power_share)

    def _power_share(self, pairs: Forecast) -> Floats:
        """Return the largest shares [p] of full power that keep pairs within the energy; 1 where none does."""
        full = np.ones(len(pairs))
        if self.max_energy_j is None or self.power == "full":
            return full
        # A higher power takes more energy a bit, except where the circuit takes most of it: so search from full power
        # down for the first power within the limit.
        trials = np.geomspace(1.0, LEAST_POWER_SHARE, POWERS)
        within = np.stack([self._energy_j(pairs, trial * full) <= self.max_energy_j for trial in trials])
        first = within.argmax(axis=0)
        low = trials[first]
        high = trials[np.maximum(first - 1, 0)]
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            enough = self._energy_j(pairs, middle) <= self.max_energy_j
            low = np.where(enough, middle, low)
            high = np.where(enough, high, middle)
        return np.where(within.any(axis=0), low, full)


def _pairs(forecast: Forecast, interference_w_hz: Floats) -> Forecast:
    """Return the forecast of all pairs [p] of a device and a block, device by device, over the interfered blocks."""
    blocks = len(interference_w_hz)
    pairs = forecast.only(np.repeat(np.arange(len(forecast)), blocks))
    received_w = pairs.tx_power_w * pairs.path_gain * pairs.fading
    noise_w_hz = received_w / pairs.up_snr_hz
    return replace(pairs, up_snr_hz=received_w / (noise_w_hz + np.tile(interference_w_hz, len(forecast))))
