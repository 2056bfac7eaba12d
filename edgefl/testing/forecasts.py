"""Forecasts of made-up devices, for checks of members that look at `view.forecast`."""

import numpy as np

from edgefl.coordination.forecast import Direction, Forecast
from edgefl.core.arrays import Floats, Ids

BAND_HZ = 10e6
CLOCK_HZ = 1e9
TX_POWER_W = 0.2


def made_up_forecast(ids: Ids, rng: np.random.Generator, deadline_s: float = np.inf) -> Forecast:
    """Return a forecast of devices [n], ascending, in one cell; `rng` draws their channels and work."""
    count = len(ids)
    path_gain = 10 ** rng.uniform(-12, -9, count)
    fading = rng.exponential(1.0, count)
    snr_hz = TX_POWER_W * path_gain * fading / 4e-21
    direction = Direction(
        band_hz=BAND_HZ,
        time_share=1.0,
        payload_share=1.0,
        spread=False,
        broadcast=False,
        in_turn=False,
        bps_hz=_shannon,
    )
    return Forecast(
        ids=ids,
        cell=np.zeros(count, dtype=np.int64),
        path_gain=path_gain,
        fading=fading,
        down_bits=np.full(count, 1e6),
        up_bits=np.full(count, 1e6),
        flops=rng.uniform(1e8, 1e9, count),
        cpu_hz=np.full(count, CLOCK_HZ),
        flops_per_cycle=np.ones(count),
        capacitance=np.full(count, 1e-28),
        tx_power_w=np.full(count, TX_POWER_W),
        amplifier_w=np.full(count, TX_POWER_W),
        circuit_w=np.zeros(count),
        rx_power_w=np.zeros(count),
        backhaul_s=np.zeros(count),
        down_snr_hz=snr_hz,
        up_snr_hz=snr_hz,
        down=direction,
        up=direction,
        share=0.2,
        deadline_s=deadline_s,
        model_parameters=31_250,
    )


def _shannon(snr: Floats) -> Floats:
    return np.log2(1 + snr)
