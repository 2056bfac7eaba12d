"""The devices' batteries and the times at which they are charged, as arrays drawn from the section `devices`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ids, Ints
from edgefl.core.distributions import Distribution
from edgefl.core.errors import InputError
from edgefl.core.per_device import HOUR, NON_NEGATIVE, POSITIVE, SHARE, PerDevice
from edgefl.core.streams import Streams
from edgefl.world.devices_section import Devices, Hardware

DAY_H = 24
HOUR_S = 3_600.0
J_PER_MAH_V = 3.6  # a milliampere for an hour, at one volt
DAY_S = DAY_H * HOUR_S


class BatteryParameters(NamedTuple):
    """The batteries of all devices [devices]; a device on mains has an infinite capacity.

    A day has one or several charging windows. A cycle is a window with the pause after it.
    """

    capacity_j: Floats
    start_j: Floats  # level at time 0
    base_w: Floats  # drawn all the time
    idle_w: Floats  # drawn besides while the device does not take part
    reserve_j: Floats  # when the level falls to this, the device has run out ...
    resume_j: Floats  # ... until it is charged to this
    from_s: Floats  # time of day at which the first window begins
    charging_w: Floats  # [devices, windows] power in each window, in the order of the day
    window_s: Floats  # [devices, windows] length of each window; a whole day means that charging never ends
    cycle_s: Floats  # [devices, windows] from each window's beginning to the next one's

    @classmethod
    def drawn(cls, devices: Devices, streams: Streams) -> BatteryParameters:
        """Return the batteries of a scenario's devices.

        Raises:
            InputError: a device draws a value that is not allowed, or charging windows that overlap.
        """

        def draw(name: str, bound: PerDevice, key: str, without: float) -> Floats:
            def value(hardware: Hardware) -> Distribution | float:
                given: Distribution | None = getattr(hardware.battery, key, None)
                if given is None:
                    return without
                return given

            return devices.draw(name, bound, streams, value)

        capacity_j = _capacity_j(draw)
        start_j = _level_j(draw("start", SHARE, "start", 0.0), capacity_j)
        reserve_j = _level_j(draw("reserve", SHARE, "reserve", 0.0), capacity_j)
        resume_j = _level_j(draw("resume", SHARE, "resume", 0.0), capacity_j)
        on_mains = np.isinf(capacity_j)
        return cls(
            capacity_j=capacity_j,
            start_j=np.where(on_mains, np.inf, start_j),
            base_w=draw("base_w", NON_NEGATIVE, "base_w", 0.0),
            idle_w=draw("idle_w", NON_NEGATIVE, "idle_w", 0.0),
            reserve_j=np.where(on_mains, 0.0, reserve_j),
            resume_j=np.where(on_mains, 0.0, resume_j),
            **_charging_windows(devices, streams),
        )

    @property
    def resting_w(self) -> Floats:
        """Return what devices [devices] draw while they take no part [W]."""
        return self.base_w + self.idle_w

    def of_devices(self, ids: Ids) -> BatteryParameters:
        """Return the batteries of devices [n] only."""
        return BatteryParameters(*(column[ids] for column in self))


def _capacity_j(draw: Callable[[str, PerDevice, str, float], Floats]) -> Floats:
    """Return the energy [devices] of full batteries, by the key that gives it; inf on mains."""
    given_j = draw("capacity_j", POSITIVE, "capacity_j", np.inf)
    capacity_mah = draw("capacity_mah", POSITIVE, "capacity_mah", np.inf)
    voltage_v = draw("voltage_v", POSITIVE, "voltage_v", 1.0)
    charge_j = capacity_mah * voltage_v * J_PER_MAH_V
    return np.where(np.isinf(given_j), charge_j, given_j)


def _level_j(share: Floats, capacity_j: Floats) -> Floats:
    # A share of 0 of an infinite capacity would be nan: leave it at 0.
    return np.multiply(share, capacity_j, out=np.zeros(len(share)), where=share > 0)


class _Window(NamedTuple):
    """One charging window of each device [devices]."""

    power_w: Floats
    from_s: Floats
    length_s: Floats


def _charging_windows(devices: Devices, streams: Streams) -> dict[str, Floats]:
    """Return the columns of `BatteryParameters` about charging.

    Devices with fewer windows than others get extra ones of length 0 after their last.

    Raises:
        InputError: a device draws a value that is not allowed, or windows that overlap.
    """
    counts = _windows_per_device(devices)
    most = int(counts.max())
    drawn = [_draw_window(devices, streams, number) for number in range(most)]
    power_w = np.stack([window.power_w for window in drawn], axis=1)  # [devices, windows]
    from_s = np.stack([window.from_s for window in drawn], axis=1)
    window_s = np.stack([window.length_s for window in drawn], axis=1)

    # Sort the windows by time of day; windows that a device does not have come last.
    exists = np.arange(most) < counts[:, None]
    order = np.argsort(np.where(exists, from_s, np.inf), axis=1, kind="stable")
    power_w = np.take_along_axis(power_w, order, axis=1)
    from_s = np.take_along_axis(from_s, order, axis=1)
    window_s = np.take_along_axis(window_s, order, axis=1)

    # A cycle lasts from each window to the next, and from the last one to the first of the next day.
    cycle_s = np.diff(from_s, axis=1, append=0.0)
    rows = np.arange(len(counts))
    last = counts - 1
    cycle_s[rows, last] = DAY_S - (from_s[rows, last] - from_s[:, 0])

    overlaps = (exists & (window_s > cycle_s)).any(axis=1)
    if overlaps.any():
        device = np.flatnonzero(overlaps)[0]
        raise InputError(f"devices.battery.charging: windows of device {device} overlap: set them apart, or join them")
    return {
        "from_s": from_s[:, 0],
        "charging_w": power_w,
        "window_s": np.where(exists, window_s, 0.0),
        "cycle_s": np.where(exists, cycle_s, 0.0),
    }


def _windows_per_device(devices: Devices) -> Ints:
    """Return how many windows [devices] a day has for each device; at least one, which may have no power."""
    counts = []
    for hardware, (first, end) in zip(devices.made_of, devices.borders, strict=True):
        count = 1  # a device without windows has one without power
        if hardware.battery is not None:
            count = max(len(hardware.battery.charging), 1)
        counts.append(np.full(end - first, count))
    return np.concatenate(counts)


def _draw_window(devices: Devices, streams: Streams, number: int) -> _Window:
    """Return window `number`, from 0, of each device; a device without that window gets 0 W for a whole day."""
    # Later windows draw from separate streams, so that the first one draws as if it were the only one.
    keyed = streams.apart(f"window {number + 1}") if number else streams

    def draw(name: str, bound: PerDevice, key: str) -> Floats:
        def value(hardware: Hardware) -> Distribution | float:
            if hardware.battery is None or number >= len(hardware.battery.charging):
                return 0.0
            source: Distribution | float = getattr(hardware.battery.charging[number], key)
            return source

        return devices.draw(name, bound, keyed, value)

    begin_h = draw("from_h", HOUR, "from_h")
    end_h = draw("to_h", HOUR, "to_h")
    length_h = (end_h - begin_h) % DAY_H  # a window may last past midnight
    length_h = np.where(length_h == 0, DAY_H, length_h)
    return _Window(draw("charging_w", POSITIVE, "power_w"), begin_h % DAY_H * HOUR_S, length_h * HOUR_S)
