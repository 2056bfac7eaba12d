"""Direct links: a model that walks from device to device without the base station."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import simpy

import channel
from edgefl.core.arrays import Floats
from edgefl.radio.carrier import Bits, Carrier, Computing, Leg
from edgefl.radio.large_scale import Drop, LargeScaleChannel
from edgefl.radio.link import Link

NEAREST_M = 1.0  # nearer antennas are priced there


class Peer(NamedTuple):
    """Who gets the model next, as the device sees it that sends it."""

    distance_m: Floats  # [1] between the antennas
    speed_mps: Floats  # [1]


class Chain:
    """Hands a model on from device to device; holds the transfer by which the next one gets it.

    A direct link is an uplink whose path leads to the peer: the sender's power, the uplink's part of the frame, the
    band of its cell, which nobody else uses, the same engines, faults and interrupts.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self.handed: Leg | None = None  # to the next device, or on the way to it; None: it asks the base station

    def open(
        self,
        env: simpy.Environment,
        drop: Drop,
        speed_mps: Floats,
        tx_power_w: Floats,
        computing: Computing,
        bits: Bits,
        index: int,
        peer: Peer | None,
    ) -> Carrier:
        """As `Link.open`, for one device, whose upload goes to `peer`; None is the base station.

        What the device before has handed on is its download. It asks the base station where that did not get through.
        """
        got, self.handed = self.handed, None
        cell_bits = 0.0 if got and got.delivered else bits[0], bits[1] if peer is None else 0.0
        cell = self._link.open(env, drop, speed_mps, tx_power_w, computing, cell_bits, index)
        if peer is None:
            return cell if got is None else Hop(self, cell, None, got)
        path = path_between(self._link.channel, drop, peer.distance_m, index)
        relative_mps = np.hypot(speed_mps, peer.speed_mps)  # root mean square over independent directions
        part = path, relative_mps, tx_power_w, computing, (0.0, bits[1]), index
        return Hop(self, cell, self._link.open(env, *part, start="direct_start"), got)


class Hop:
    """The carrier of one device of a chain."""

    def __init__(self, chain: Chain, cell: Carrier, direct: Carrier | None, got: Leg | None) -> None:
        self._chain, self._cell, self._direct, self._got = chain, cell, direct, got

    def download(self, row: int) -> Generator[simpy.Event, Any, Leg]:
        """The transfer from the device before, which has passed; else, or if it failed, one from the base station."""
        got = self._got
        if got is not None and got.delivered:
            return got
        leg = yield from self._cell.download(row)
        return leg if got is None else leg.after(got)

    def upload(self, row: int) -> Generator[simpy.Event, Any, Leg]:
        """The transfer to the device after; the last one's to the base station."""
        if self._direct is None:
            return (yield from self._cell.upload(row))
        leg = self._chain.handed = yield from self._direct.upload(row)
        return leg


def path_between(large: LargeScaleChannel, drop: Drop, distance_m: Floats, index: int) -> Drop:
    """The large-scale channel from devices [n] to peers (3GPP TR 37.885, urban), constant during a part.

    Args:
        large: what the links to base stations have in common with it: carrier, shadowing where given, K.
        drop: the devices' channel to their base stations.
        distance_m: [n] between the antennas; below 1 m it is priced as 1 m.
        index: round.
    """
    radio, streams, ids = large.radio, large.streams, drop.ids
    distance = np.maximum(distance_m, NEAREST_M)
    los = streams.uniform("direct_los", ids, index) < channel.sidelink.los_probability(distance)
    loss_db = channel.sidelink.path_loss_db(distance, radio.carrier_hz, los)
    std_db = np.where(los, *channel.sidelink.SHADOWING_DB) if radio.shadowing_db is None else radio.shadowing_db
    shadowing, k = streams.normal("direct_path", ids, index, count=2).T
    k_mean_db, k_std_db = large.k_statistics_db or (0.0, 0.0)
    return replace(
        drop,
        distance_m=distance,
        los=los,
        pathloss_db=loss_db,
        shadowing_db=std_db * shadowing,
        k_factor=radio.fading.k_factor(los, k_mean_db + k_std_db * k),
        path_gain=channel.units.db_to_linear(-(loss_db + std_db * shadowing)),
    )
