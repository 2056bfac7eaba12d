"""A run's radios and processors compared with published ones, by medians over participations."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Bools, Floats
from edgefl.core.catalogue import Member, Unknown
from edgefl.core.distributions import Constant
from edgefl.core.units import NO_NUMBER, digits
from edgefl.radio.allocation.equal import EqualAllocation
from edgefl.radio.allocation.round_robin import RoundRobinAllocation
from edgefl.radio.budget.resources import Resources
from edgefl.radio.multiple_access.orthogonal import Orthogonal
from edgefl.radio.radio_section import Radio
from edgefl.radio.transfers import Way
from edgefl.records.statuses import POLLED
from edgefl.results.published_ranges import RANGES, PublishedRange
from edgefl.results.report.run import nearest_board
from edgefl.results.report.shared.describe import at, kind, known
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import StyledRun
from edgefl.results.report.shared.templates import Html, render
from edgefl.world.devices_section import Devices

SPLIT = "split"  # a policy whose messages alternate, so that tables have their sums only
NO_OPTIMISER = "none"
GIGA = 1e9
BITS = 8  # of a byte
LEAST_BYTES = 1_000  # of a message that is compared: slots and access times outweigh shorter ones
SECONDS = 60  # of a minute
OUTSIDE = Html('<b class="outside" title="outside of what was published">{} outside</b>')


class Plausible(NamedTuple):
    """A quantity of a run with its published range."""

    published: PublishedRange
    value: float

    @property
    def within(self) -> bool:
        """True if it lies in the published range, whose ends are known to three digits."""
        tolerance = 1.001
        return self.published.least / tolerance <= self.value <= self.published.most * tolerance

    @property
    def text(self) -> str:
        """The value with its unit and name, such as ``2.1 bit/s/Hz down``."""
        return f"{digits(self.value)} {self.published.said}"

    @property
    def range_text(self) -> str:
        """The published range, such as ``0.0586 to 7.41``."""
        return f"{digits(self.published.least, 4)} to {digits(self.published.most)}"


class _Transfers(NamedTuple):
    """The transfers of participations [n] in one direction."""

    bits: Floats  # nan of messages that are too short to compare
    duration_s: Floats
    band_share: Floats  # of their cell's band, on average over the transfer; nan where the tables do not tell it
    on_air_s: Floats  # with the radio on; nan as above


def plausibility(run: Run) -> list[Plausible]:
    """Return the quantities of a run's radios and processors that its tables determine."""
    rows = run.participations
    radio = known(Radio, at(run.scenario, "radio"))
    found: list[tuple[str, Floats]] = []
    if radio is not None and rows["status"].size:
        resources = Resources(radio)
        down = _transfers(run, radio, resources, "down")
        up = _transfers(run, radio, resources, "up")
        if radio.trace is None:  # a recording has no band, or does not say how it was used
            found += [("download", _bps_hz(down, resources, "down")), ("upload", _bps_hz(up, resources, "up"))]
        sent_j = rows["tx_energy_j"]
        off_air_s = down.duration_s - down.on_air_s + up.duration_s - up.on_air_s
        found += [
            ("a bit sent", _ratio(sent_j, up.bits / GIGA)),
            ("sending", _ratio(sent_j, up.on_air_s)),
            ("waiting", _ratio(rows["idle_energy_j"], rows["wait_s"] + off_air_s)),
        ]
    found += [("computing", _flops_per_j(run) / GIGA), ("handovers of a device", _handovers_a_minute(run))]
    medians = []
    for name, values in found:
        finite = values[np.isfinite(values)]
        if finite.size:
            medians.append(Plausible(RANGES[name], float(np.median(finite))))
    return medians


def line(quantities: Sequence[Plausible]) -> str:
    """Return the quantities of a run in one line, with the published ranges of those outside; empty without any."""
    inside = [each.text for each in quantities if each.within]
    outside = [f"{each.text} ({each.range_text})" for each in quantities if not each.within]
    parts = [", ".join(inside)]
    if outside:
        parts.append(f"outside of what was published: {', '.join(outside)}")
    return "; ".join(part for part in parts if part)


# Transfers


def _transfers(run: Run, radio: Radio, resources: Resources, way: Way) -> _Transfers:
    rows = run.participations
    column = "upload_s"
    if way == "down":
        column = "download_s"
    duration_s = np.nan_to_num(rows[column])
    band_share = _band_shares(run, radio, way)
    if radio.subcarrier_spacing_hz:  # where transfers outnumber the blocks, some wait, and their shares are not equal
        band_share = np.where(band_share * radio.blocks < 1, np.nan, band_share)
    on_air = np.full(duration_s.shape, resources.time_share(way))
    allocation: Member = radio.allocation
    if isinstance(allocation, Unknown):  # pages import nothing from outside, so it may or may not take turns
        on_air[:] = np.nan
    elif radio.allocation.in_turn and not _is_broadcast(radio, way):
        on_air *= band_share  # a share of the band is one of the time
    on_air_s = np.where(duration_s > 0, on_air * duration_s, 0.0)
    size_bytes = rows[f"bytes_{way}"]
    bits = np.where(size_bytes >= LEAST_BYTES, BITS * size_bytes, np.nan)
    return _Transfers(bits, duration_s, band_share, on_air_s)


def _bps_hz(transfers: _Transfers, resources: Resources, way: Way) -> Floats:
    """Return the bits [n] a second and hertz of each share, while the time is its direction's."""
    return _ratio(
        transfers.bits, transfers.duration_s * transfers.band_share * resources.band_hz * resources.time_share(way)
    )


def _is_broadcast(radio: Radio, way: Way) -> bool:
    return way == "down" and radio.downlink == "broadcast"


def _band_shares(run: Run, radio: Radio, way: Way) -> Floats:
    """Return the shares [n] of a cell's band that transfers have, on average over their time.

    No column has them. They follow from the number of transfers where all transfers of a cell have equal shares.
    """
    rows = run.participations
    count = rows["status"].size
    if _is_broadcast(radio, way):
        return np.ones(count)
    unknown = np.full(count, np.nan)
    equal = isinstance(radio.allocation, EqualAllocation | RoundRobinAllocation) and radio.background is None
    if way == "up":
        equal &= isinstance(radio.uplink, Orthogonal) and kind(run.scenario, "server.optimiser") == NO_OPTIMISER
    if not equal:
        return unknown
    taking_part = np.isfinite(rows["start_s"])
    if way == "up":  # an answer to a poll is a separate message
        taking_part &= rows["status"] != POLLED
    if radio.sharing == "fixed":
        return _of_those_who_begin_together(run, taking_part)
    # No table has the cells of transfers that are handed over, nor the times of alternating messages.
    if at(run.scenario, "cells.handover") or kind(run.scenario, "server.policy") == SPLIT:
        return unknown
    if way == "up" and not taking_part.all():
        return unknown
    return _of_those_under_way(run, taking_part, way)


def _of_those_who_begin_together(run: Run, taking_part: Bools) -> Floats:
    """Return one over the number [n] of participations that begin at the same time in the same cell."""
    rows = run.participations
    share = np.full(taking_part.shape, np.nan)
    together = np.stack([rows["start_s"][taking_part], rows["cell"][taking_part]])
    _, group, counts = np.unique(together, axis=1, return_inverse=True, return_counts=True)
    share[taking_part] = 1.0 / counts[group.reshape(-1)]
    return share


def _of_those_under_way(run: Run, taking_part: Bools, way: Way) -> Floats:
    """Return the means over the time of each transfer [n] of one over the transfers then under way in its cell."""
    rows = run.participations
    begin_s = rows["start_s"] + np.nan_to_num(rows["setup_s"])
    duration_s = np.nan_to_num(rows["download_s"])
    if way == "up":
        begin_s += duration_s + np.nan_to_num(rows["compute_s"])
        duration_s = np.nan_to_num(rows["upload_s"])
    end_s = begin_s + duration_s
    share = np.full(begin_s.shape, np.nan)
    sending = taking_part & (duration_s > 0)
    for cell in np.unique(rows["cell"][sending]):
        at_cell = np.flatnonzero(sending & (rows["cell"] == cell))
        times_s = np.unique([begin_s[at_cell], end_s[at_cell]])
        begun = np.searchsorted(np.sort(begin_s[at_cell]), times_s, side="right")
        ended = np.searchsorted(np.sort(end_s[at_cell]), times_s, side="right")
        under_way = (begun - ended)[:-1]  # from each of the times until the next
        # Gaps without a transfer do not count.
        shared_s = np.append(0.0, np.cumsum(np.diff(times_s) / np.maximum(under_way, 1)))
        first = np.searchsorted(times_s, begin_s[at_cell])
        last = np.searchsorted(times_s, end_s[at_cell])
        share[at_cell] = (shared_s[last] - shared_s[first]) / duration_s[at_cell]
    return share


# Processors and handovers


def _flops_per_j(run: Run) -> Floats:
    """Return the operations a joule [n] of participations' processors, from the power that each has drawn.

    At a clock f a processor draws P = capacitance f^3 + cpu_static_w, and does f times its operations a cycle; where
    these differ between devices, those of the median device count.
    """
    rows = run.participations
    found = np.full(rows["status"].shape, np.nan)
    devices = known(Devices, at(run.scenario, "devices"))
    if devices is None:
        return found
    power_w = _ratio(rows["cpu_energy_j"], rows["compute_s"])
    for (first, end), hardware in zip(devices.borders, devices.made_of, strict=True):
        drawn = (hardware.capacitance, hardware.cpu_static_w)
        if not all(isinstance(number, Constant) for number in drawn):
            continue  # of a device whose capacitance was drawn, its clock is not known
        capacitance, static_w = (number.span()[0] for number in drawn)
        flops_per_cycle = hardware.flops_per_cycle.quantile(np.array([0.5]), np.array([first]))[0]
        own = (rows["device"] >= first) & (rows["device"] < end) & (power_w > static_w)
        cpu_hz = np.cbrt((power_w[own] - static_w) / capacitance)
        found[own] = flops_per_cycle * cpu_hz / power_w[own]
    return found


def _handovers_a_minute(run: Run) -> Floats:
    """Return the handovers [1] in a minute of a device's participation; none where cells do not hand over."""
    if not at(run.scenario, "cells.handover"):
        return np.empty(0)
    rows = run.participations
    busy_s = sum(np.nansum(rows[name]) for name in ("setup_s", "download_s", "compute_s", "upload_s"))
    return _ratio(np.array([np.nansum(run.rounds["handovers"])]), np.array([busy_s / SECONDS]))


def _ratio(values: Floats, by: Floats) -> Floats:
    """Return quotients [n]; nan where there is nothing to divide by, or nothing that is known."""
    return np.asarray(np.divide(values, by, out=np.full(by.shape, np.nan), where=by > 0))


# The card


def card(styled_runs: Sequence[StyledRun]) -> Html:
    """Return the card, with a column for every run; an empty text where no run has anything to compare."""
    columns = [{each.published: each for each in plausibility(styled.data)} for styled in styled_runs]
    quantities = list(dict.fromkeys(published for column in columns for published in column))
    runs = styled_runs if len(styled_runs) > 1 else ["this run"]
    return render(
        "run/plausibility.html.j2",
        title="Plausible?",
        head=["", *runs, "published"],
        body=[
            [_name(each), *(_cell(column.get(each)) for column in columns), Plausible(each, each.most).range_text]
            for each in quantities
        ],
        sources=[_source(published) for published in quantities],
        devices=dict.fromkeys(text for styled in styled_runs for text in nearest_board.sentences(styled.data)),
    )


def _name(published: PublishedRange) -> str:
    return f"{published.name} [{published.unit}]"


def _cell(value: Plausible | None) -> str:
    if value is None:
        return NO_NUMBER
    text = digits(value.value)
    if value.within:
        return text
    return OUTSIDE.format(text)


def _source(published: PublishedRange) -> str:
    least = f"{digits(published.least, 4)}: {published.least_source}"
    most = f"{digits(published.most)}: {published.most_source}"
    return f"{_name(published)}: {least}; {most}"
