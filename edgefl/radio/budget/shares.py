"""The division of the cells' bands among concurrent transfers, and the signal-to-noise ratios they get there."""

from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ints
from edgefl.radio.budget.link_budget import LinkBudget, OtherTransmitters
from edgefl.radio.budget.superposition import Superposition
from edgefl.radio.transfers import Way


class BandShares(NamedTuple):
    """The shares of concurrent transfers [n]."""

    bandwidth_hz: Floats
    air: Floats  # share of the time that each is served: its turns, in the frame's direction
    mean_snr: Floats  # at |h|^2 = 1
    power_share: Floats  # of its transmitter's full power that is sent while each is served


def divide_bands(
    budget: LinkBudget,
    way: Way,
    devices: Ints,
    cell: Ints,
    path_gain: Floats,
    all_gains: Floats,
    tx_power_w: Floats,
    payload_bits: Floats,
    *,
    index: Ints | None = None,
    broadcast: bool = False,
    others: OtherTransmitters | None = None,
) -> BandShares:
    """Divide the band of each cell among its concurrent transfers [n].

    Args:
        budget: the link budget.
        way: the direction of the transfers.
        devices: [n] their devices.
        cell: [n] the cells that serve them.
        path_gain: [n] to these.
        all_gains: [n, cells] to every cell.
        tx_power_w: [n] full powers of the devices.
        payload_bits: [n] the payloads.
        index: [n] of the selections that chose them; None: drawn shares are as expected.
        broadcast: whether all listen to the whole band, each until it has received everything.
        others: the other users of the cells, who have their shares first; None: there are none.
    """
    resources = budget.resources
    count = len(cell)
    # The interference of a cell depends on the number of its transfers on air, not on the places of their devices.
    transfers = np.bincount(cell, minlength=len(budget.group))
    superposed: Superposition | None = None
    if way == "up" and not budget.radio.uplink.orthogonal:
        received_w = tx_power_w * path_gain
        superposed = Superposition(budget.radio.uplink, devices, cell, len(budget.group), received_w)
        transfers = superposed.counts  # a group is on air as one transfer
    of_blocks = resources.block_interference_w_hz(way, devices)
    interference = budget.interference_w_hz(way, all_gains, cell, tx_power_w, transfers, others) + of_blocks
    snr_hz = budget.snr_hz(way, path_gain, tx_power_w, interference)
    spread = budget.spreads_power(way)
    whole_band_hz = np.full(count, resources.band_hz)
    bandwidth_hz = whole_band_hz.copy()
    air = np.full(count, resources.time_share(way))
    free = np.ones(len(transfers))
    other_users = np.zeros(len(transfers))
    if others is not None:
        free = others.free_shares
        other_users = others.counts
    if broadcast:
        bandwidth_hz *= free[cell]
    else:
        widest_hz = budget.widest_hz(way, devices, path_gain, snr_hz)
        for one in np.unique(cell):
            rows = np.flatnonzero(cell == one)
            group = None
            if superposed is not None:
                rows = superposed.in_order(rows)
                group = superposed.group[rows]
            shares = resources.divide(
                payload_bits[rows],
                snr_hz[rows],
                budget.efficiency,
                way=way,
                spread=spread,
                devices=devices[rows],
                index=None if index is None else index[rows],
                widest_hz=None if widest_hz is None else widest_hz[rows],
                free_share=float(free[one]),
                others=float(other_users[one]),
                group=group,
            )
            bandwidth_hz[rows] = shares.bandwidth_hz
            air[rows] *= shares.duty
    power_share = budget.power_share(way, devices, bandwidth_hz, path_gain)
    if way == "up" and not budget.power_control.always_full:
        # Powers follow from bandwidths, and the interference of other cells from powers.
        sent_w = tx_power_w * power_share
        interference = budget.interference_w_hz(way, all_gains, cell, sent_w, transfers, others) + of_blocks
        snr_hz = budget.snr_hz(way, path_gain, sent_w, interference)
    powered_hz = whole_band_hz if spread else bandwidth_hz  # over which the transmitter's power is spread
    noise_hz = powered_hz
    if superposed is not None:  # the others of a group add noise, unless their payloads are empty
        noise_hz = powered_hz + superposed.interference_hz(np.where(payload_bits > 0, snr_hz, 0.0))
    # A transfer without a resource block has no signal-to-noise ratio: 0, not a division by 0.
    mean_snr = np.divide(snr_hz, noise_hz, out=np.zeros(count), where=powered_hz > 0)
    return BandShares(bandwidth_hz, air, mean_snr, power_share)
