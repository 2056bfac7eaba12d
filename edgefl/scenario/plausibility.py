"""Warnings about values that are allowed and hardly meant, such as a processor of 1.5 Hz. They change nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.distributions import Distribution
from edgefl.core.plugin_import import NotImported
from edgefl.radio.multiple_access import MULTIPLE_ACCESS
from edgefl.scenario.sections import Sections

SLOWEST_CPU_HZ = 1e6
STRONGEST_DEVICE_DBM = 60.0  # 1 kW
STRONGEST_SERVER_DBM = 90.0  # 1 MW
SUBCARRIER_HZ = 15e3  # the least of 3GPP TS 38.211, Table 4.2-1
LOWEST_CARRIER_HZ = 1e6
HIGHEST_CARRIER_HZ = 1e12
HIGHEST_LR = 100.0
SPEED_OF_SOUND_MPS = 343.0
MOST_BITS_PER_S_AND_HZ = 30.0  # a link with a signal-to-noise ratio of 90 dB

Warnings = Iterator[str]


def implausible(scenario: Sections) -> list[str]:
    """Return a line for each implausible value: its key, what is odd, and what may have been meant."""
    return [line for check in CHECKS for line in check(scenario)]


def check_clock(scenario: Sections) -> Warnings:
    """Warn of processors slower than those of the 1970s: the number was meant in GHz."""
    slowest_hz, _ = scenario.devices.span("cpu_hz")
    if math.isfinite(slowest_hz) and slowest_hz < SLOWEST_CPU_HZ:
        yield f"devices.cpu_hz: {slowest_hz:g} Hz is less than 1 MHz: 1.5 GHz is written 1.5e9"


def check_powers(scenario: Sections) -> Warnings:
    """Warn of transmitters that no licence allows: the number was meant in milliwatts."""
    _, strongest_dbm = scenario.devices.span("tx_power_dbm")
    if math.isfinite(strongest_dbm) and strongest_dbm > STRONGEST_DEVICE_DBM:
        yield f"devices.tx_power_dbm: {strongest_dbm:g} dBm is more than 1 kW: 200 mW are 23 dBm"
    server_dbm = scenario.radio.server_tx_power_dbm
    if server_dbm > STRONGEST_SERVER_DBM:
        yield f"radio.server_tx_power_dbm: {server_dbm:g} dBm is more than 1 MW: 20 W are 43 dBm"
    radio = scenario.radio
    if scenario.cells.energy and radio.server_power == "per_device" and radio.downlink == "unicast":
        text = "with radio.server_power: per_device a base station sends its power on each share at the same time"
        yield f"cells.energy: {text}: total divides one power among them"


def check_learning_rate(scenario: Sections) -> Warnings:
    """Warn of learning rates that train nothing, or make everything infinite."""
    lr = scenario.training.lr
    if lr == 0:
        yield "training.lr: 0 trains nothing: devices send back what they have received"
    elif lr > HIGHEST_LR:
        yield f"training.lr: {lr:g} is more than {HIGHEST_LR:g}: training will hardly converge"


def check_band(scenario: Sections) -> Warnings:
    """Warn of bands and carriers that were meant in MHz or GHz."""
    radio = scenario.radio
    if radio.bandwidth_hz < SUBCARRIER_HZ:
        text = f"{radio.bandwidth_hz:g} Hz is less than one subcarrier, {SUBCARRIER_HZ:g} Hz"
        yield f"radio.bandwidth_hz: {text}: 20 MHz are written 20e6"
    if not LOWEST_CARRIER_HZ <= radio.carrier_hz <= HIGHEST_CARRIER_HZ:
        yield f"radio.carrier_hz: {radio.carrier_hz:g} Hz is no radio carrier: 3.5 GHz are written 3.5e9"


def check_walls(scenario: Sections) -> Warnings:
    """Warn of keys of walls that count for nothing, as below 6 GHz all buildings have one loss."""
    from edgefl.radio.propagation.urban import Urban

    propagation = scenario.radio.propagation
    if not isinstance(propagation, Urban) or not propagation.has_one_wall(scenario.radio.carrier_hz):
        return
    idle = {"high_loss": propagation.high_loss > 0, "release": propagation.release != Urban().release}
    for key in (name for name, is_set in idle.items() if is_set):
        text = "counts for nothing below 6 GHz, where TR 38.901 (Table 7.4.3-3) has one loss for all buildings"
        yield f"radio.propagation.{key}: {text}; with walls: materials it counts"


def check_overlapping_uploads(scenario: Sections) -> Warnings:
    """Warn of uploads that are heard for the whole round, however soon they have ended."""
    radio = scenario.radio
    with suppress(NotImported):
        overlap = not radio.uplink.orthogonal and not radio.uplink.receives_sum
        together = scenario.participants > 1 and scenario.server.policy.averages  # else they upload in turn
        if overlap and together and radio.sharing == "fixed":
            name = MULTIPLE_ACCESS.name_of(radio.uplink)
            text = f"with radio.uplink: {name} fixed shares let each upload hear the others for the whole round"
            yield f"radio.sharing: {text}, also those that have ended: processor does not"


def check_sites(scenario: Sections) -> Warnings:
    """Warn of a correlation between base stations where there is one."""
    if scenario.radio.site_correlation > 0 and scenario.cells.sites == 1:
        yield "radio.site_correlation: counts for nothing with one base station: set cells.layout to hexagonal"


def check_speed(scenario: Sections) -> Warnings:
    """Warn of devices that move faster than sound: the number was meant in km/h, or in mm/s."""
    speed = getattr(scenario.mobility, "speed_mps", None)
    if not scenario.mobility.moves or not isinstance(speed, Distribution):
        return
    _, fastest_mps = speed.span()
    if math.isfinite(fastest_mps) and fastest_mps > SPEED_OF_SOUND_MPS:
        yield f"mobility.speed_mps: {fastest_mps:g} m/s is faster than sound: 50 km/h are 13.9 m/s"


def check_idle_power(scenario: Sections) -> Warnings:
    """Warn of devices whose batteries may lose less while they take part than while they do not."""
    for hardware in scenario.devices.made_of:
        if hardware.battery is None:
            continue
        _, idle_w = hardware.battery.idle_w.span()
        for key, power in (("idle_power_w", hardware.idle_power_w), ("rx_power_w", hardware.rx_power_w)):
            least_w, _ = power.span()
            if math.isfinite(least_w) and least_w < idle_w:
                text = f"stops while a device takes part, and may be more than it then draws ({key}: {least_w:g} W)"
                yield f"devices.battery.idle_w: {text}: write what goes on meanwhile as base_w"
                return


CHECKS: tuple[Callable[[Sections], Warnings], ...] = (
    check_clock,
    check_powers,
    check_idle_power,
    check_learning_rate,
    check_band,
    check_walls,
    check_sites,
    check_overlapping_uploads,
    check_speed,
)


def too_late(scenario: Sections, flops: Floats, speed_flops_per_s: Floats, bits: float) -> str | None:
    """Return a line if no device can meet the deadline, whatever its link; None if one can, or there is no deadline.

    Args:
        scenario: has the deadline and the bandwidth.
        flops: [devices] operations of a round.
        speed_flops_per_s: [devices] highest speeds.
        bits: of download and upload together, for one device.
    """
    deadline_s = scenario.server.deadline_s
    if deadline_s is None or scenario.training.stragglers is not None:  # stragglers compute less
        return None
    least_compute_s = float(np.min(flops / speed_flops_per_s))
    least_air_s = bits / (MOST_BITS_PER_S_AND_HZ * scenario.radio.bandwidth_hz)
    if scenario.radio.trace is not None:  # recorded rates know no band
        least_air_s = 0.0
    least_s = least_compute_s + least_air_s
    if least_s <= deadline_s:
        return None
    parts = f"computing takes the fastest device {least_compute_s:.3g} s, and the best link {least_air_s:.3g} s"
    return f"server.deadline_s: nothing can arrive within {deadline_s:g} s: {parts}"
