"""Transfers whose share of a band changes while they last, without walking their slots.

The bits of a transfer are a process with independent increments over *epochs*. In an epoch that has lasted for `t`
effective samples (`channel.cumulants`) the transfer has sent the quantile of their sum for one standard normal `z`, as
in `channel.first_passage`. Bits never decrease, so a transfer lasts longer than n slots exactly where n slots carry
fewer bits than its payload: one `z` gives both the end, if the share stays, and the bits up to a change of the share.
The change begins a new epoch with another `z`. The sums of epochs add up to the cumulants of one sum over all: only the
first epoch has the terms that come from the start of the fading.

docs/channel/sharing.md derives this.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from channel._arrays import Bools, Floats, Ints
from channel._transfers import check_links
from channel.cumulants import tables_of
from channel.first_passage import forecast, passage, quantile, slots_at_one_rate
from channel.rate import SHANNON, Efficiency

LEAST_SAMPLES = 4.0  # of an epoch: an earlier change of the share keeps z, as the fading has hardly changed
SLOWEST = 0.05  # of the mean rate, for the lowest normals: bits never decrease


class Outlook(NamedTuple):
    """The expected progress of transfers [n] that keep their shares."""

    slots: Floats  # at the mean rate
    sample_bits: Floats  # of an effective sample at the mean rate
    worth: Floats  # effective samples in a slot
    lines: Floats  # of the cumulants, [6, n]; see `cumulants.scaled_cumulants`
    enough: Bools  # effective samples to be estimated rather than walked
    one_rate_slots: Ints  # slots with one rate, where they are walked


def outlook(
    left_bits: ArrayLike,
    mean_snr: ArrayLike,
    bandwidth_hz: ArrayLike,
    slot_s: float,
    correlation: ArrayLike,
    efficiency: Efficiency = SHANNON,
    k_factor: ArrayLike = 0.0,
) -> Outlook:
    """Return the expected progress of transfers that keep their shares.

    The arguments are those of `transfer.fast`, each [n]: `left_bits` [bit] is positive, `correlation` inside (-1, 1),
    and `k_factor` finite.
    """
    links = check_links(left_bits, mean_snr, bandwidth_hz, slot_s, correlation, k_factor)
    slot_hz_s = links.bandwidth_hz * links.slot_s
    tables = tables_of(efficiency)
    ahead = forecast(links.payload_bits, links.mean_snr, slot_hz_s, links.correlation, links.k_factor, tables)
    sample_bits = links.payload_bits / (ahead.mean_slots * ahead.worth)
    one_rate = slots_at_one_rate(ahead.mean_slots, links.correlation)
    return Outlook(ahead.mean_slots, sample_bits, ahead.worth, ahead.lines, ahead.enough, one_rate)


def of_epoch(lines: Floats, first: Bools) -> Floats:
    """Return the lines [6, n] of the cumulants of epochs [n]; only a first epoch has the terms that do not grow."""
    factor = np.ones_like(lines)
    factor[[1, 3, 5]] = first
    return np.asarray(lines * factor)


def sent(samples: Floats, normal: Floats, lines: Floats) -> Floats:
    """Return the amount sent in the first `samples` of an epoch, [n], in effective samples at the mean rate.

    Args:
        samples: effective samples since the epoch began, [n].
        normal: z, [n].
        lines: of the epoch's cumulants, [6, n].
    """
    early = np.maximum(samples, LEAST_SAMPLES)
    late = np.maximum(quantile(early, normal, lines), SLOWEST * early)
    # The expansion needs some samples; before, the rate is the mean rate of the first ones.
    return np.asarray(late * (samples / early))


def ends(payload: Floats, normal: Floats, lines: Floats) -> Floats:
    """Return the effective samples after which an epoch has sent a payload, [n]: the inverse of `sent`.

    Args:
        payload: in effective samples at the mean rate since the epoch began, [n].
        normal: z, [n].
        lines: of the epoch's cumulants, [6, n].
    """
    least = np.full(payload.shape, LEAST_SAMPLES)
    early = sent(least, normal, lines)
    late = passage(np.maximum(payload, early), normal, lines)
    return np.where(payload < early, LEAST_SAMPLES * payload / early, np.maximum(late, LEAST_SAMPLES))
