"""The mean of updates that base stations receive as sums of analog signals, with the error of the noise.

Devices subtract a common offset from their updates and divide by a common scale: coefficients of mean 0 and variance 1
in the weighted mean over the participants (Zhu, Wang, Huang, IEEE TWC 19(1), 2020, section II-B). The base stations
undo both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from edgefl.core.streams import Streams
from edgefl.learning.algorithms import Updates

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class AnalogSum:
    """The updates [C] of a round as base stations received them, as one sum at each.

    Weights of updates are over their total, so that they add up to 1 over all base stations.
    """

    error: tuple[float, ...]  # [stations] mean squared error of each sum of such weighted signals
    station: tuple[int, ...]  # [C] which of these sums each update is in
    silence: tuple[float, ...]  # [C] probability that a coefficient of it was not sent; of each independently


def with_error(
    updates: Updates, weights: Tensor, received: AnalogSum, devices: Sequence[int], streams: Streams, number: int
) -> tuple[Updates, Tensor]:
    """Return updates whose weighted average is the received one, and its error [d].

    All updates get the same error, which is then that of any mean whose weights add up to 1.

    Args:
        updates: the updates as they were sent.
        weights: [C] of the average.
        received: how they were received.
        devices: [C] the devices that sent them, part of the key of the draws.
        streams: keyed randomness.
        number: of earlier aggregations, another part of the key.
    """
    delta = updates.vectors["delta"]
    mean = weights @ delta
    offset = mean.mean()
    # The weighted mean over participants of the squared deviation of their coefficients from the offset.
    variance = weights @ (delta**2).mean(dim=1) - offset**2
    scale = variance.clamp(min=0).sqrt()
    rng = streams.generator("aircomp_noise", 0, number)
    noise = scale * delta.new_tensor(rng.standard_normal(delta.shape[1], dtype=np.float32))
    if any(received.silence):
        sent = _sent_coefficients(delta, received.silence, devices, streams, number)
        error = _mean_of_sent(delta - offset, weights, sent, received, noise) + offset - mean
    else:
        error = float(np.sqrt(sum(received.error))) * noise
    return replace(updates, vectors={**updates.vectors, "delta": delta + error}), error


def _sent_coefficients(
    delta: Tensor, silence: Sequence[float], devices: Sequence[int], streams: Streams, number: int
) -> Tensor:
    """Return 1 for each coefficient [C, d] that was sent, and 0 for each whose channel was too weak."""
    sent = delta.new_ones(delta.shape)
    for row, (probability, device) in enumerate(zip(silence, devices, strict=True)):
        rng = streams.generator("aircomp_silence", device, number)
        sent[row] = delta.new_tensor(rng.random(delta.shape[1]) >= probability)
    return sent


def _mean_of_sent(centred: Tensor, weights: Tensor, sent: Tensor, received: AnalogSum, noise: Tensor) -> Tensor:
    """Return the received mean [d] over the devices that sent each coefficient; 0 where none did.

    The updates less the offset are `centred` [C, d]; `sent` [C, d] is 1 where a coefficient was sent; the noise [d] has
    variance 1 in each sum, times the scale of the updates.
    """
    heard = weights @ sent  # [d] the weights of the devices that sent each coefficient
    variance = 0.0 * heard
    for station, error in enumerate(received.error):
        rows = [row for row, own in enumerate(received.station) if own == station]
        # A base station that hears no device adds nothing, not even noise: it knows the channels.
        variance += error * (sent[rows].sum(dim=0) > 0)
    total = weights @ (sent * centred) + variance.sqrt() * noise
    return total / heard.where(heard > 0, 1.0) * (heard > 0)
