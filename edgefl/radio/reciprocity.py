"""Estimates of uploads from downloads, as the path is the same in both directions."""

from dataclasses import dataclass

import numpy as np

from edgefl.core.arrays import Floats

MOST_BPS_HZ = 100.0  # no channel carries more
TINY_RATE = 1e-300  # instead of 0 as a divisor


@dataclass(frozen=True)
class Reciprocity:
    """Bits and shares that the server grants devices [n] when a round begins, as if all sent at the same time."""

    down_bits: Floats
    up_bits: Floats
    down_hz: Floats  # of the band, in the part of the time and of the resources that carry payload
    up_hz: Floats
    snr_ratio: Floats  # the uplink's signal-to-noise ratio over the downlink's: powers, spread over shares

    def upload_s(self, download_s: Floats, rows: slice = slice(None)) -> Floats:
        """Return the estimated durations [r] of the uploads of some of them.

        The download's rate gives its signal-to-noise ratio (Shannon's capacity, inverted), a multiple of it is that of
        the upload, which gives the upload's rate.

        Args:
            download_s: [r] the durations of their downloads.
            rows: which of the devices.
        """
        # The bound, which no channel exceeds, keeps exp from overflowing.
        most_bits = self.down_hz[rows] * download_s * MOST_BPS_HZ
        bps_hz = MOST_BPS_HZ * np.minimum(self.down_bits[rows] / np.maximum(most_bits, TINY_RATE), 1.0)
        snr = self.snr_ratio[rows] * np.expm1(bps_hz * np.log(2))
        return np.asarray(self.up_bits[rows] / np.maximum(self.up_hz[rows] * np.log2(1 + snr), TINY_RATE))
