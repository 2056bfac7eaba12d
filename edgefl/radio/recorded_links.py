"""The recorded links of a run's devices."""

from functools import lru_cache

import numpy as np

from channel import units
from channel.link_traces import Opportunities, RecordedLink, SnrSteps, Steps
from edgefl.core.arrays import Floats, Ids
from edgefl.core.errors import InputError
from edgefl.core.returns import Instance, check, is_trusted, wrong
from edgefl.core.sample_times import warn_once
from edgefl.core.section import LARGEST_S
from edgefl.core.streams import Streams
from edgefl.radio.radio_section import Radio
from edgefl.radio.traces import LinkTrace, Recording
from edgefl.radio.traces.base import Recorded
from edgefl.radio.transfers import WAYS, Way

MUST_RETURN = "a list of Recording of edgefl.radio.traces, with Steps or Opportunities, or with SnrSteps only"


def checked_recordings(trace: LinkTrace, count: int) -> list[Recording]:
    """Return the recordings of a trace for `count` devices.

    Raises:
        InputError: a file cannot be read or is wrong, or there are too few recordings.
    """
    found = trace.recordings()
    _check_returned(trace, found)
    if trace.assign == "by_number" and len(found) < count:
        text = f"{trace.source}: has recordings of {len(found)} devices, the scenario has {count}"
        raise InputError(f"{text}: lower devices.count, or let devices draw theirs: assign: pool")
    used = found if trace.assign == "pool" else found[:count]
    for number, recording in enumerate(used):
        shortest_s = min(recording.down.end_s, recording.up.end_s)
        if trace.at_end == "error" and trace.begin_s >= shortest_s:
            text = f"recording {number} ends at {shortest_s:g} s, before begin_s = {trace.begin_s:g} s"
            raise InputError(f"{trace.source}: {text}: set at_end to repeat, or lower begin_s")
    return used


def warn_of_recordings(trace: LinkTrace) -> None:
    """Log what the user should know of recordings."""
    for note in trace.notes():
        warn_once(f"radio.trace: {note}")


def are_snrs(recordings: list[Recording]) -> bool:
    """Return whether recordings are SNRs, which share the band; else they are rates."""
    return isinstance(recordings[0].down, SnrSteps)


def check_carry(trace: LinkTrace, recordings: list[Recording], radio: Radio) -> None:
    """Check that some recorded link carries something in each direction.

    Raises:
        InputError: none ever does, so that no transfer would arrive.
    """
    for name, recorded in (
        ("downlink", [recording.down for recording in recordings]),
        ("uplink", [recording.up for recording in recordings]),
    ):
        if not any(_carries(link, radio) for link in recorded):
            raise InputError(f"{trace.source}: no {name} carries anything at any time: no transfer would arrive")


def _carries(recorded: Recorded, radio: Radio) -> bool:
    if isinstance(recorded, SnrSteps):
        recorded = recorded.spectral_efficiency(radio.rate.efficiency())
    return recorded.total > 0


class RecordedLinks:
    """The recorded links of devices.

    Args:
        radio: the section `radio`, which has a trace.
        count: of the devices.
        streams: keyed randomness; the same for all links of a run, so that polls see the same recordings.
        tx_power_dbm: [count] the devices' full powers.
    """

    def __init__(self, radio: Radio, count: int, streams: Streams, tx_power_dbm: Floats) -> None:
        if radio.trace is None:
            raise AssertionError("recorded links need radio.trace")
        self.trace = radio.trace
        self.repeats = self.trace.at_end == "repeat"
        self._efficiency = radio.rate.efficiency()
        self._recordings = checked_recordings(self.trace, count)
        warn_of_recordings(self.trace)
        self.are_snrs = are_snrs(self._recordings)
        self._which = np.arange(count)
        self._begin_s = np.full(count, self.trace.begin_s)
        if self.trace.assign == "pool":
            draws = streams.uniform("link_trace", np.arange(count), count=2)
            self._which = (draws[:, 0] * len(self._recordings)).astype(np.int64)
            lengths_s = np.array([recording.down.end_s for recording in self._recordings])
            self._begin_s = draws[:, 1] * lengths_s[self._which]
        self._shift_db = {way: snr_shift_db(radio, way, tx_power_dbm) for way in WAYS}
        self._carrying = lru_cache(maxsize=None)(self._carried_by)

    def link(self, way: Way, device: int) -> RecordedLink:
        """Return a device's link, in bits, or in bits per hertz if SNRs were recorded."""
        return self._carrying(way, int(self._which[device]), float(self._shift_db[way][device]))

    def can_carry(self, way: Way, device: int, amount: float) -> bool:
        """Return whether a device's link carries an amount, in the unit of `link`, within the longest run."""
        link = self.link(way, device)
        return link.total * (LARGEST_S / link.end_s) >= amount

    def time_s(self, device: int, now_s: float) -> float:
        """Return the time within a device's recording."""
        return float(self._begin_s[device] + now_s)

    def ends_s(self, way: Way, device: int) -> float:
        """Return when a device's recording ends on the run's clock; inf if it repeats."""
        if self.repeats:
            return np.inf
        return self.link(way, device).end_s - float(self._begin_s[device])

    def snr(self, way: Way, ids: Ids, now_s: float) -> Floats:
        """Return the linear SNRs [n] of devices; 1 if rates were recorded."""
        found = np.ones(len(ids))
        for row, device in enumerate(ids.tolist()):
            recorded = self._recorded(way, int(self._which[device]))
            if isinstance(recorded, SnrSteps):
                shifted = recorded.shifted(float(self._shift_db[way][device]))
                found[row] = shifted.snr(self.time_s(device, now_s), repeats=self.repeats)
        return found

    def _recorded(self, way: Way, which: int) -> Recorded:
        recording = self._recordings[which]
        return recording.down if way == "down" else recording.up

    def _carried_by(self, way: Way, which: int, shift_db: float) -> RecordedLink:
        recorded = self._recorded(way, which)
        if isinstance(recorded, SnrSteps):
            return recorded.shifted(shift_db).spectral_efficiency(self._efficiency)
        return recorded


def snr_shift_db(radio: Radio, way: Way, tx_power_dbm: Floats) -> Floats:
    """Return by how much the SNRs of devices [n] are above the recorded ones, as powers or band have changed [dB].

    A device's signal follows its power. Noise and interference follow the band, over which they are taken as flat.

    Args:
        radio: the section `radio`, which has a trace.
        way: the direction.
        tx_power_dbm: [n] the devices' full powers.
    """
    shift_db = np.zeros(len(tx_power_dbm))
    trace = radio.trace
    if trace is None:
        return shift_db
    if way == "up" and trace.tx_power_dbm is not None:
        shift_db += tx_power_dbm - trace.tx_power_dbm
    if trace.bandwidth_hz is not None:
        shift_db -= units.linear_to_db(radio.bandwidth_hz / trace.bandwidth_hz)
    return shift_db


def _check_returned(trace: LinkTrace, found: object) -> None:
    """Check the return value of a trace from outside; raise WrongReturn unless it has recordings of one quantity."""
    if is_trusted(trace):
        return
    check(trace, "recordings", found, Instance(list, MUST_RETURN))
    if not isinstance(found, list) or not found:
        raise wrong(trace, "recordings", "an empty list", MUST_RETURN)
    kinds = set()
    for recording in found:
        if not isinstance(recording, Recording):
            raise wrong(trace, "recordings", f"a list with a {type(recording).__name__}", MUST_RETURN)
        for recorded in (recording.down, recording.up):
            if not isinstance(recorded, Steps | Opportunities | SnrSteps):
                raise wrong(trace, "recordings", f"a recording with a {type(recorded).__name__}", MUST_RETURN)
            kinds.add(isinstance(recorded, SnrSteps))
    if len(kinds) > 1:
        raise wrong(trace, "recordings", "both rates and SNRs", MUST_RETURN)
