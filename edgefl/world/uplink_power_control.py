"""Uplink power control: the power at which devices transmit.

A device's full power is `devices.tx_power_dbm`, or the share of it that an agent or an optimiser chooses
(`World.tx_power_w`). Power control (`devices.power_control`) may lower it, by path loss and bandwidth. The rate of an
upload, its energy and the battery all take the power from `UplinkPowerControl.power_share`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

import channel
from edgefl.core.arrays import Floats, Ids
from edgefl.core.distributions import Distribution
from edgefl.core.returns import Array, called
from edgefl.core.streams import Streams
from edgefl.world.devices_section import Devices, Hardware
from edgefl.world.power_control import PowerControl, Uplinks
from edgefl.world.power_control.full import FullPower

FULL = FullPower()
LEAST_GAIN = 1e-100  # of a path: nothing gets through one that is weaker, and powers in watts do not overflow
ROUNDING = 1e-9  # a power may be above the full power by as much, relative to it


def full_power_w(configured_dbm: Floats, share: Floats | None = None) -> Floats:
    """Return the full powers [n] of devices [W]: `configured_dbm` [n], times shares [n] in (0, 1] if there are any."""
    configured_w = np.asarray(channel.units.dbm_to_w(configured_dbm))
    if share is None:
        return configured_w
    return configured_w * share


@dataclass(frozen=True)
class ControlledGroup:
    """Devices with consecutive numbers, and the power control that they share."""

    first: int
    end: int  # number of the first device after them
    control: PowerControl
    full_w: Floats  # [end - first]
    drawn: Mapping[str, Floats]  # [end - first] each


class UplinkPowerControl:
    """The power controls of all devices; without groups, all send at full power."""

    def __init__(self, groups: tuple[ControlledGroup, ...] = ()) -> None:
        self._groups = tuple(group for group in groups if not group.control.always_full)

    @classmethod
    def of_devices(
        cls, devices: Devices, tx_power_dbm: Floats, streams: Streams, by_radio: PowerControl = FULL
    ) -> UplinkPowerControl:
        """Return the power controls of a population with full powers `tx_power_dbm` [devices].

        Those of `by_radio` are for devices that have none of their own.

        Raises:
            InputError: a device draws a number that is not allowed.
        """
        groups = []
        full_w = full_power_w(tx_power_dbm)
        for (first, end), hardware in zip(devices.borders, devices.made_of, strict=True):
            control = hardware.power_control or by_radio
            drawn = {}
            for key, (name, bound) in control.draws.items():
                values = devices.draw(name, bound, streams, _key_of(control, key, by_radio))
                drawn[key] = values[first:end]
            groups.append(ControlledGroup(first, end, control, full_w[first:end], drawn))
        return cls(tuple(groups))

    @property
    def always_full(self) -> bool:
        """True if all devices send at full power, whatever their uplinks."""
        return not self._groups

    def power_share(self, ids: Ids, bandwidth_hz: Floats, path_gain: Floats) -> Floats:
        """Return the powers [n] of devices over their full powers, in [0, 1].

        Args:
            ids: [n] the devices.
            bandwidth_hz: [n] their shares of the band while they are served.
            path_gain: [n] received over sent power to the base stations that serve them, without fading.

        Raises:
            WrongReturn: a power control from outside returns powers that are not allowed.
        """
        share = np.ones(len(ids))
        if self.always_full:
            return share
        path_loss_db = -np.asarray(channel.units.linear_to_db(np.maximum(path_gain, LEAST_GAIN)))
        for group in self._groups:
            rows = np.flatnonzero((ids >= group.first) & (ids < group.end))
            places = ids[rows] - group.first
            full_w = group.full_w[places]
            drawn = {key: values[places] for key, values in group.drawn.items()}
            power_w = _transmit_w(group.control, Uplinks(full_w, bandwidth_hz[rows], path_loss_db[rows], drawn))
            share[rows] = np.minimum(power_w / full_w, 1.0)
        return share


def _key_of(control: PowerControl, key: str, by_radio: PowerControl) -> Callable[[Hardware], Distribution | float]:
    """Return a function that returns the key of a control for its groups, and 0 for others, which do not use it."""

    def of(hardware: Hardware) -> Distribution | float:
        if (hardware.power_control or by_radio) is not control:
            return 0.0
        value: Distribution = getattr(control, key)
        return value

    return of


def _transmit_w(control: PowerControl, uplinks: Uplinks) -> Floats:
    """Return the powers [n] of a control; those of one from outside are checked."""
    most_w = uplinks.full_w * (1 + ROUNDING)
    must = Array(most_w.shape, "powers [n] in watts, from 0 to `uplinks.full_w`", least=0.0, most=most_w)
    return called(control.transmit_w, must, uplinks)


ALWAYS_FULL = UplinkPowerControl()
"""The power control of devices that always send at full power."""
