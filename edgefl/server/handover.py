"""Handover: devices change their base stations while they take part."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import simpy

from edgefl.core.arrays import Floats
from edgefl.core.times import steps_begun, steps_completed
from edgefl.radio.carriers.roaming import RoamingCarrier
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.records.ledger import Ledger
from edgefl.server.participation import ParticipantProcess, Participation, ProcessFactory
from edgefl.server.radio_link_monitor import RadioLinkMonitor
from edgefl.world.cells_section import Handover
from edgefl.world.world import World

LEAST_AHEAD = 64  # measurements that are made ahead of the clock in one go, when a device begins
MOST_AHEAD = 1024  # the same, when it has been under way for long


@dataclass(frozen=True)
class Roaming:
    """Hands devices over while they take part.

    The power that a device receives is a function of (device, time). So the next handover can be searched ahead of the
    clock, many measurements at a time, without an event for each measurement.
    """

    env: simpy.Environment
    ledger: Ledger
    world: World
    link: Link
    section: Handover

    def during(self, processes: ProcessFactory, carrier: RoamingCarrier) -> ProcessFactory:
        """Return the same processes, each with handovers for as long as it lasts."""

        def roaming(part: Participation) -> ParticipantProcess:
            over = self.env.event()  # stops the search for handovers when the participation ends
            self.env.process(self._follow(part, carrier, over))
            outcome = yield from processes(part)
            over.succeed()
            return outcome

        return roaming

    def _follow(
        self, part: Participation, carrier: RoamingCarrier, over: simpy.Event
    ) -> Generator[simpy.Event, Any, None]:
        section = self.section
        # A neighbour must have been better at this many measurements before the one that reports it.
        waited = steps_begun(section.time_to_trigger_s, section.measure_s)
        ahead = PowersAhead(partial(self._received_db, part.device, carrier.index))
        measured = Measurements(section.filter_share)
        monitor = self._monitor()
        first = self._next_measurement(self.env.now)
        while True:
            powers_db = ahead.after(first)
            measured.add(self._with_errors(part.device, first, powers_db))
            handover = triggered(
                measured.levels_db, part.serving, section.hysteresis_db + section.offset_db, waited, self._offsets_db
            )
            last = len(powers_db) - 1
            if handover is not None:
                last -= len(measured.levels_db) - 1 - handover[0]
            failure = self._failure(monitor, powers_db[: last + 1], part.serving)
            if failure is not None:
                if failure < last:
                    handover = None  # the link fails before
                last = failure
            # Sleep until the handover or failure, or else until the last measurement that was searched.
            yield self.env.timeout((first + last) * section.measure_s - self.env.now) | over
            if over.triggered:
                return
            if handover is not None:
                self._hand_over(part, carrier, handover[1])
                measured.cut_after(handover[0])
                first = self._next_measurement(self.env.now + section.pause_s)
                monitor = self._monitor()
            elif failure is not None:
                if not (yield from self._reestablish(part, carrier, ahead, over)):
                    return
                measured = Measurements(section.filter_share)  # measuring starts again
                first = self._next_measurement(self.env.now)
                monitor = self._monitor()
            else:
                measured.keep(waited)  # the time to trigger may have begun within these measurements
                first += last + 1

    def _monitor(self) -> RadioLinkMonitor | None:
        if self.section.radio_link_failure is None:
            return None
        return RadioLinkMonitor(self.section.radio_link_failure, self.section.measure_s)

    def _failure(self, monitor: RadioLinkMonitor | None, powers_db: Floats, cell: int) -> int | None:
        """Return the measurement [t] at which the link to a cell fails; None if it does not."""
        if monitor is None:
            return None
        return monitor.failure(self.link.sinr_db(powers_db, cell))

    def _reestablish(
        self, part: Participation, carrier: RoamingCarrier, ahead: PowersAhead, over: simpy.Event
    ) -> Generator[simpy.Event, Any, bool]:
        """Lose a device's link, and re-establish it at the strongest cell that is good enough.

        Return False if its participation ends before.
        """
        section = self.section.radio_link_failure
        if section is None:
            raise AssertionError("without this section no link fails")
        self.ledger.event(self.env.now, "radio_link_failure", part.device, part.serving)
        part.lose_link()
        carrier.lose(part.row)
        number = steps_begun(self.env.now + section.reestablish_s, self.section.measure_s)
        cell = None
        while cell is None:
            powers_db = ahead.after(number)
            strongest = np.argmax(powers_db, axis=1)
            good = np.flatnonzero(self.link.sinr_db(powers_db, strongest) >= section.in_sync_db)
            if good.size:
                number += int(good[0])
                cell = int(strongest[good[0]])
            else:
                number += len(powers_db) - 1
            yield self.env.timeout(max(number * self.section.measure_s - self.env.now, 0.0)) | over
            if over.triggered:
                return False
            number += 1
        self.ledger.event(self.env.now, "reestablished", part.device, cell, f"from {part.serving}")
        part.reestablish(cell)
        carrier.regain(part.row, self._drop(part, carrier.index))
        return True

    def _next_measurement(self, time_s: float) -> int:
        return steps_completed(time_s, self.section.measure_s) + 1

    def _received_db(self, device: int, index: int, first: int, count: int) -> Floats:
        """Return the powers [count, cells] that a device receives from measurement `first` on, over those sent [dB]."""
        times_s: Floats = np.asarray((first + np.arange(count)) * self.section.measure_s, dtype=np.float64)
        path_m = self.world.path_m(device, times_s)
        return self.link.received_db(device, path_m, float(self.world.height_m[device]), index)

    def _with_errors(self, device: int, first: int, powers_db: Floats) -> Floats:
        """Return powers [t, cells] with the errors of measurements from number `first` on [dB]."""
        error_db = self.section.measurement_error_db
        if error_db == 0:
            return powers_db
        # Keyed by the number of the measurement: what a device measures does not depend on how far it looks ahead.
        numbers = first + np.arange(len(powers_db))
        return powers_db + error_db * self.link.measurement_errors(device, numbers)

    @cached_property
    def _offsets_db(self) -> Floats | float:
        """Return the offset of each cell [cells]; 0 if none are given."""
        if not self.section.offsets_db:
            return 0.0
        return np.array(self.section.offsets_db)

    def _hand_over(self, part: Participation, carrier: RoamingCarrier, cell: int) -> None:
        self.ledger.event(self.env.now, "handover", part.device, cell, f"from {part.serving}")
        part.hand_over(cell)
        carrier.hand_over(part.row, self._drop(part, carrier.index))

    def _drop(self, part: Participation, index: int) -> Drop:
        ids = np.array([part.device])
        positions_m = self.world.positions_m(ids, self.env.now)
        return self.link.drop(ids, positions_m, self.world.height_m[ids], index, np.array([part.serving]))


class PowersAhead:
    """The powers that a device will receive, as far as they are known ahead of the clock.

    They do not depend on the base station that serves it, so they outlast a handover. `received_db` returns powers
    [count, cells] from a number on, by that number and the count.
    """

    def __init__(self, received_db: Callable[[int, int], Floats]) -> None:
        self._received_db = received_db
        self._first = 0  # the number of the first measurement that is known
        self._powers_db: Floats = np.empty((0, 0))
        self._count = LEAST_AHEAD

    def after(self, first: int) -> Floats:
        """Return the powers [t, cells], at least one, from number `first` on; `first` never falls."""
        known_db = self._powers_db[first - self._first :]
        if not len(known_db):
            known_db = self._received_db(first, self._count)
            # A device that has been under way for long is likely to stay so for longer.
            self._count = min(2 * self._count, MOST_AHEAD)
        self._first = first
        self._powers_db = known_db
        return known_db


class Measurements:
    """The measurements of one device since it changed its base station, after the layer-3 filter.

    `F_n = (1 - a) F_(n-1) + a M_n` in dB, and F = M at the first one (3GPP TS 38.331, clause 5.5.3.2), with a =
    `share`.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._last_db: Floats | None = None  # [cells] the filter's last output
        self.levels_db: Floats = np.empty((0, 0))  # [t, cells] filtered

    def add(self, powers_db: Floats) -> None:
        """Add powers [t, cells] at the measurements that follow."""
        levels_db = powers_db
        if self._share < 1:
            last_db = powers_db[0] if self._last_db is None else self._last_db
            levels_db = filtered(powers_db, self._share, last_db)
        if self.levels_db.size:
            levels_db = np.concatenate([self.levels_db, levels_db])
        self.levels_db = levels_db
        self._last_db = levels_db[-1]

    def keep(self, count: int) -> None:
        """Forget all but the last measurements."""
        self.levels_db = self.levels_db[len(self.levels_db) - count :]

    def cut_after(self, last: int) -> None:
        """Forget the measurements of the last base station, which end with number `last`; the filter continues."""
        self._last_db = self.levels_db[last]
        self.levels_db = np.empty((0, 0))


def filtered(powers_db: Floats, share: float, last_db: Floats) -> Floats:
    """Return powers [t, cells] after the layer-3 filter, whose last output was `last_db` [cells]."""
    kept = 1 - share
    columns = []
    # Plain floats: a block has few cells, and importing scipy.signal takes longer than the filter does in most runs.
    for new_db, level_db in zip((share * powers_db).T.tolist(), last_db.tolist(), strict=True):
        columns.append([level_db := new + kept * level_db for new in new_db])
    return np.array(columns).T


def triggered(
    powers_db: Floats, cell: int, margin_db: float, waited: int, offsets_db: Floats | float = 0.0
) -> tuple[int, int] | None:
    """Return the first measurement that reports event A3 (3GPP TS 38.331, clause 5.5.4.4), and its strongest cell.

    Args:
        powers_db: levels of each cell at successive measurements [t, cells].
        cell: the serving cell.
        margin_db: by how much a neighbour must be stronger: hysteresis and offset of the event.
        waited: number of measurements before the report at which the neighbour must have been stronger, too.
        offsets_db: [cells] of each cell, added to its level.

    Returns:
        The number of the measurement and the cell; None if no measurement reports it.
    """
    if len(powers_db) <= waited:
        return None
    levels_db = powers_db + offsets_db
    better = levels_db > levels_db[:, cell, None] + margin_db
    better[:, cell] = False  # with a negative margin a cell would be better than itself
    if not better.any():
        return None
    windows = np.lib.stride_tricks.sliding_window_view(better, waited + 1, axis=0)
    stays_better = np.asarray(windows.all(axis=-1))  # [t - waited, cells]
    reports = np.flatnonzero(stays_better.any(axis=1))
    if not reports.size:
        return None
    first = int(reports[0])
    measurement = first + waited
    candidates_db = np.where(stays_better[first], levels_db[measurement], -np.inf)
    return measurement, int(np.argmax(candidates_db))
