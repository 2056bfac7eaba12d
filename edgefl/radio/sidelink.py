"""Direct links, over which a model passes from device to device without the base station.

The first message of a participation, the model, comes from the previous device, and the last one goes to the next
device. Messages in between (split learning's activations and gradients) go through the base station.

A direct link is an uplink whose path leads to the peer: the sender's power, the uplink's part of the frame, the whole
band of its cell, the same engines, faults and interrupts.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import simpy

import channel
from edgefl.core.arrays import Floats
from edgefl.radio.carriers.carrier import Carrier
from edgefl.radio.drop import Drop
from edgefl.radio.gains.large_scale import LargeScaleChannel, path_gain
from edgefl.radio.link import Link
from edgefl.radio.messages import DOWNLOAD, Messages
from edgefl.radio.transfers import TransferResult

NEAREST_M = 1.0  # nearer antennas are priced at this distance


class Peer(NamedTuple):
    """The device that gets the model next, from the sender's view."""

    distance_m: Floats  # [1] between the antennas
    speed_mps: Floats  # [1]


class DirectLinks:
    """Passes a model from device to device; keeps the transfer by which the next one gets it."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._handed_on: TransferResult | None = None  # to the next device; None: it asks the base station

    def open(
        self,
        env: simpy.Environment,
        drop: Drop,
        speed_mps: Floats,
        tx_power_w: Floats,
        messages: Messages,
        index: int,
        peer: Peer | None,
    ) -> Carrier:
        """Return the carrier of one device, whose last upload goes to `peer`, or to the base station if None.

        Its first download comes from the previous device; if that transfer failed, the base station sends it.

        Args:
            env: the clock.
            drop: the device's large-scale channel [1].
            speed_mps: its speed [1].
            tx_power_w: its full transmit power [1].
            messages: its messages, including those over direct links.
            index: of the selection that chose it.
            peer: the next device.
        """
        received = self._handed_on
        self._handed_on = None
        has_model = received is not None and received.delivered
        last = messages.turns - 1
        elsewhere = []  # the turns that do not go through the base station
        if has_model:
            elsewhere.append(DOWNLOAD)
        if peer is not None:
            elsewhere.append(last)
        participants = self._link.participants(drop, speed_mps, tx_power_w, index)
        cell = self._link.open(env, participants, messages.without(elsewhere))
        if peer is None:
            return DirectLink(links=self, cell=cell, onward=cell, received=received, last=last)
        path = path_between(self._link.channel, drop, peer.distance_m, index)
        # It is priced as an upload, but received with a device's noise figure. No other device sends meanwhile, so a
        # stronger sender stands for less noise; power control uses the true path.
        noise_w_hz = self._link.pricing.budget.noise_w_hz
        sender_w = tx_power_w * (noise_w_hz["up"] / noise_w_hz["down"])
        # Doppler comes from both ends.
        relative_mps = np.hypot(speed_mps, peer.speed_mps)  # root mean square over independent directions
        # The fading to the peer is independent of that to the base station, so it starts with another draw.
        sender = self._link.participants(
            path,
            relative_mps,
            sender_w,
            index,
            start="direct_start",
            waves="direct_waves",
            blocks="direct_blocks",
        )
        direct = self._link.open(env, sender, messages.without(range(last)))
        return DirectLink(links=self, cell=cell, onward=direct, received=received, last=last, hands_on=True)

    def hand_on(self, transfer: TransferResult) -> None:
        """Keep a transfer as the next device's download, which costs no power of a base station, access or band."""
        self._handed_on = transfer._replace(full_power_s=0.0, access_s=0.0, band_s=0.0)


class DirectLink:
    """The carrier of one device that receives the model from the previous one, or sends it to the next one."""

    def __init__(
        self,
        *,
        links: DirectLinks,
        cell: Carrier,
        onward: Carrier,
        received: TransferResult | None,
        last: int,
        hands_on: bool = False,
    ) -> None:
        self._links = links
        self._cell = cell  # to and from the base station
        self._onward = onward  # to the next device, or to the base station
        self._received = received  # from the device before; None: nothing
        self._last = last  # the turn that sends the model on
        self._hands_on = hands_on

    def send(self, row: int, turn: int) -> Generator[simpy.Event, Any, TransferResult]:
        """See Carrier."""
        if turn == DOWNLOAD:
            return (yield from self._download(row))
        if turn < self._last:
            return (yield from self._cell.send(row, turn))
        result = yield from self._onward.send(row, turn)
        if self._hands_on:
            self._links.hand_on(result)
        return result

    def _download(self, row: int) -> Generator[simpy.Event, Any, TransferResult]:
        """Return the transfer from the previous device; if it failed, download from the base station."""
        received = self._received
        if received is not None and received.delivered:
            return received
        result = yield from self._cell.send(row, DOWNLOAD)
        if received is None:
            return result
        return result.after(received)


def path_between(large: LargeScaleChannel, drop: Drop, distance_m: Floats, index: int) -> Drop:
    """Return the large-scale channel from devices [n] to peers (3GPP TR 37.885, urban), constant while they take part.

    Args:
        large: of the links to base stations, for the carrier, the scenario's shadowing and K.
        drop: the devices' channel to their base stations.
        distance_m: [n] between the antennas, priced as at least 1 m.
        index: round.
    """
    radio = large.radio
    streams = large.streams
    ids = drop.ids
    # Devices may be at the same place, where the formula, a logarithm of the distance, is undefined.
    priced_m = np.maximum(distance_m, NEAREST_M)
    los = streams.uniform("direct_los", ids, index) < channel.sidelink.los_probability(priced_m)
    loss_db = channel.sidelink.path_loss_db(priced_m, radio.carrier_hz, los)
    if radio.shadowing_db is None:
        los_std_db, nlos_std_db = channel.sidelink.SHADOWING_DB
        std_db = np.where(los, los_std_db, nlos_std_db)
    else:
        std_db = np.asarray(radio.shadowing_db)
    normals = streams.normal("direct_path", ids, index, count=2)
    shadowing_db = std_db * normals[:, 0]
    k_mean_db, k_std_db = large.k_statistics_db or (0.0, 0.0)
    k_db = k_mean_db + k_std_db * normals[:, 1]
    antennas = channel.units.db_to_linear(2.0 * radio.device_antenna_gain_dbi)  # at both ends
    return replace(
        drop,
        distance_m=priced_m,
        los=los,
        indoor=np.zeros_like(los),  # the model of direct links has no buildings
        pathloss_db=loss_db,
        shadowing_db=shadowing_db,
        k_factor=radio.fading.k_factor(los, k_db),
        path_gain=path_gain(loss_db, shadowing_db) * antennas,
    )
