"""Warnings about valid but suspicious values, such as a processor of 1.5 Hz. They change nothing."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Unknown
from edgefl.core.distributions import Distribution
from edgefl.core.errors import InputError
from edgefl.core.plugin_import import NotImported
from edgefl.core.returns import is_trusted
from edgefl.core.words import words_of
from edgefl.learning.algorithms.properties import divides_by_lr
from edgefl.radio.multiple_access import MULTIPLE_ACCESS
from edgefl.radio.tdd import Tdd
from edgefl.scenario.sections import Sections
from edgefl.scenario.usual_efficiency import median_bps_hz

MOST_BITS_PER_S_AND_HZ = 30.0  # a link with a signal-to-noise ratio of 90 dB
NR_LAYER_BPS_HZ = 8 * 948 / 1024  # 256QAM at its highest code rate
SHORTEST_SLOT_S = 1e-3 / 64  # 960 kHz between subcarriers (3GPP TS 38.211, Table 4.2-1)
LONGEST_SLOT_S = 1e-3  # 15 kHz
LEAST_UNUSED = 1e-6  # of the time: less is rounding
SAME_SLOT = 1e-3  # relative: a slot may be rounded to few digits, such as 3.13e-5

Warnings = Iterator[str]


class Expected(NamedTuple):
    """A number that physics or standards bound, and the warning about a value outside these bounds."""

    key: str
    least: float
    most: float
    unit: str
    text: str  # why a value outside is suspicious, with the source, and what was probably meant
    also: float | None = None  # a value outside that has a special meaning


@cache
def expected_numbers() -> tuple[Expected, ...]:
    """Return the rows of `plausible_numbers.yaml`."""
    rows = words_of(__file__, "plausible_numbers.yaml")
    return tuple(Expected(**{"least": -inf, "most": inf, "unit": ""} | row) for row in rows)


def implausible(scenario: Sections) -> list[str]:
    """Return a line for each implausible value: its key, why it is suspicious, and what may have been meant."""
    found: list[str] = []
    for check in CHECKS:
        with suppress(NotImported):  # what it looks at depends on code from outside
            found += check(scenario)
    return found


def check_numbers(scenario: Sections) -> Warnings:
    """Warn of numbers outside the bounds of physics or standards."""
    for row in expected_numbers():
        outside = [end for end in ends_of(scenario, row.key) if not row.least <= end <= row.most and end != row.also]
        if outside:
            value = f"{outside[0]:g} {row.unit}".rstrip()
            yield f"{row.key}: {value} {row.text}"


def ends_of(scenario: Sections, key: str) -> list[float]:
    """Return the least and the greatest value of a key in each group of devices; [] where shipped members lack it."""
    section, *names = key.split(".")
    owners: list[Any] = [getattr(scenario, section)]
    if section == "devices":
        owners = list(scenario.devices.made_of)
    for name in names:
        # A plug-in's key of the same name may mean something else, and the keys of one not imported are unknown.
        owners = [owner for owner in owners if is_trusted(owner) and not isinstance(owner, Unknown)]
        owners = [getattr(owner, name) for owner in owners if hasattr(owner, name)]
    ends: list[float] = []
    for value in owners:
        if isinstance(value, Distribution):
            ends += value.span()
        elif value is not None:
            ends.append(value)
    return [end for end in ends if math.isfinite(end)]


def check_energy(scenario: Sections) -> Warnings:
    """Warn of base stations that send their whole power several times."""
    radio = scenario.radio
    if scenario.cells.energy and radio.server_power == "per_device" and radio.downlink == "unicast":
        text = "with radio.server_power: per_device a base station sends its power on each share at the same time"
        yield f"cells.energy: {text}: total divides one power among them"


def check_world(scenario: Sections) -> Warnings:
    """Warn of links that carry more than any radio does, such as Shannon's bound at a few metres and without losses."""
    try:
        most = max(median_bps_hz(scenario).values(), default=0.0)
    except (NotImported, InputError, ValueError):
        return  # a member was not imported, or is refused elsewhere
    if most > NR_LAYER_BPS_HZ:
        text = (
            f"half of the transfers in one direction carry about {most:.1f} bit/s/Hz or more, one layer of NR at most"
        )
        source = f"{NR_LAYER_BPS_HZ:.2f} (256QAM, 3GPP TS 38.214, Table 5.1.3.1-2)"
        yield f"radio.rate: {text} {source}: radio: {{preset: nr}} is a cell as engineers set it"


def check_learning_rate(scenario: Sections) -> Warnings:
    """Warn of a learning rate that trains nothing."""
    if scenario.training.lr == 0:
        yield "training.lr: 0 trains nothing: devices return the model that they received"


def check_optimizer(scenario: Sections) -> Warnings:
    """Warn of an algorithm that takes a move over the learning rate for a mean gradient, which it is only with SGD."""
    optimizer = scenario.training.optimizer
    if optimizer != "sgd" and divides_by_lr(scenario.algorithm):
        text = "the algorithm divides moves by the learning rate, which gives gradients only with sgd"
        yield f"training.optimizer: {text}, not with {optimizer}"


def check_drift(scenario: Sections) -> Warnings:
    """Warn of data that change after the last round."""
    drift = scenario.data.drift
    sessions = scenario.in_sessions
    rounds = sessions.count * sessions.rounds
    if drift is None or drift.at_round is None or drift.at_round[-1] <= rounds:
        return
    yield f"data.drift.at_round: data do not change before round {drift.at_round[-1]}, as the last round is {rounds}"


def check_slots(scenario: Sections) -> Warnings:
    """Warn of slots that NR does not have; papers without slots may set shorter ones."""
    slot_s = scenario.radio.slot_s
    if slot_s < SHORTEST_SLOT_S:
        return
    mu = max(round(math.log2(LONGEST_SLOT_S / slot_s)), 0)
    nearest_s = LONGEST_SLOT_S / 2**mu
    if not math.isclose(slot_s, nearest_s, rel_tol=SAME_SLOT):
        text = f"{slot_s:g} s is not a slot of NR, 1 ms / 2^mu (3GPP TS 38.211, Table 4.3.2-1)"
        yield f"radio.slot_s: {text}: the nearest is {nearest_s:g}, with {15 * 2**mu} kHz between subcarriers"


def check_shares_of_time(scenario: Sections) -> Warnings:
    """Warn of one direction's share of the time beside the default of the other, if both leave time unused."""
    tdd = scenario.radio.tdd
    if not isinstance(tdd, Tdd) or len(tdd.model_fields_set) != 1:
        return
    unused = 1.0 - tdd.downlink - tdd.uplink
    if unused > LEAST_UNUSED:
        text = f"downlink {tdd.downlink:g} and uplink {tdd.uplink:g} leave {unused:.3g} of the time unused"
        yield f"radio.tdd: {text}: write both shares"


def check_walls(scenario: Sections) -> Warnings:
    """Warn of keys of walls without effect, as below 6 GHz all buildings have the same loss."""
    from edgefl.radio.fading.tdl import Tdl
    from edgefl.radio.propagation.urban import Urban

    radio = scenario.radio
    propagation = radio.propagation
    if not isinstance(propagation, Urban) or not propagation.has_one_wall(radio.carrier_hz):
        return
    names_spreads = isinstance(radio.fading, Tdl) and radio.fading.delay_spread_ns is None
    has_idle_release = propagation.release != Urban().release and not names_spreads
    idle = {"high_loss": propagation.high_loss > 0, "release": has_idle_release}
    for key in (name for name, is_set in idle.items() if is_set):
        text = "has no effect below 6 GHz, where TR 38.901 (Table 7.4.3-3) has one loss for all buildings"
        yield f"radio.propagation.{key}: {text}; set walls: materials to use it"


def check_error_curves(scenario: Sections) -> Warnings:
    """Warn of curves of block errors that link adaptation cannot use."""
    radio = scenario.radio
    with suppress(NotImported, InputError):  # a file that is wrong is refused elsewhere
        for text in radio.errors.warnings(radio.rate):
            yield f"radio.errors.{text}"


def check_overlapping_uploads(scenario: Sections) -> Warnings:
    """Warn of uploads that interfere for the whole round, even after their end."""
    radio = scenario.radio
    with suppress(NotImported):
        overlap = not radio.uplink.orthogonal
        together = scenario.participants > 1 and scenario.server.policy.averages  # else they upload in turn
        if overlap and together and radio.sharing == "fixed":
            name = MULTIPLE_ACCESS.name_of(radio.uplink)
            text = f"with radio.uplink: {name} and fixed shares, uploads interfere for the whole round"
            yield f"radio.sharing: {text}, even after their end: set it to processor"


def check_sites(scenario: Sections) -> Warnings:
    """Warn of a correlation between base stations if there is only one."""
    if scenario.radio.site_correlation > 0 and scenario.cells.sites == 1:
        yield "radio.site_correlation: has no effect with one base station: set cells.layout to hexagonal"


def check_idle_power(scenario: Sections) -> Warnings:
    """Warn of devices whose batteries may lose less while they take part than at other times."""
    for hardware in scenario.devices.made_of:
        if hardware.battery is None:
            continue
        _, idle_w = hardware.battery.idle_w.span()
        for key, power in (("idle_power_w", hardware.idle_power_w), ("rx_power_w", hardware.rx_power_w)):
            least_w, _ = power.span()
            if math.isfinite(least_w) and least_w < idle_w:
                text = f"stops while a device takes part, and may exceed what it then draws ({key}: {least_w:g} W)"
                yield f"devices.battery.idle_w: {text}: write what it always draws as base_w"
                return


CHECKS: tuple[Callable[[Sections], Warnings], ...] = (
    check_numbers,
    check_energy,
    check_idle_power,
    check_learning_rate,
    check_optimizer,
    check_drift,
    check_slots,
    check_shares_of_time,
    check_walls,
    check_sites,
    check_error_curves,
    check_overlapping_uploads,
)


def too_late(scenario: Sections, flops: Floats, speed_flops_per_s: Floats, bits: float) -> str | None:
    """Return a line if no device can meet the deadline on any link; None if one can, or there is no deadline.

    Devices have `flops` [devices] in a round at the highest speed [devices], and one has `bits` for both ways.
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
    parts = f"the fastest device computes for {least_compute_s:.3g} s, and the best link takes {least_air_s:.3g} s"
    return f"server.deadline_s: nothing can arrive within {deadline_s:g} s: {parts}"
