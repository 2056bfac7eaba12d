"""Base of the recorded links, which replace path loss, fading and, if they are rates, the band.

A new format is one file in this folder and one line in its `members.csv`: a class with `recordings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from channel.link_traces import Opportunities, SnrSteps, Steps
from edgefl.core.catalogue import Member
from edgefl.core.section import LARGEST_S, fault_at

Recorded = Steps | Opportunities | SnrSteps
HIGHEST_BPS = 1e15
LARGEST_SNR_DB = 200.0
LOW_SNR_DB = -40.0  # no link works below it; received powers do
LOW_BPS = 1e4  # few links are slower
MBPS_BELOW = 1e3  # few rates in Mbit/s are above it
HIGH_BPS = 1e10  # no phone's link is faster
ALONE_S = 1.0  # length of a recording of one value; as it repeats, any length is right


class Recording(NamedTuple):
    """A recording of one device's link, from its own time 0."""

    name: str  # of the device in the file, or of the files
    down: Recorded
    up: Recorded


class LinkTrace(Member):
    """Base of all recorded links."""

    # Whether device i has the i-th recording (by_number), or each draws one (pool).
    assign: Literal["by_number", "pool"] = "by_number"
    begin_s: Annotated[float, Field(ge=0, le=LARGEST_S)] = 0.0  # Time in the recordings at which the run begins.
    # Whether the recording begins again at its end, or the run ends with an error.
    at_end: Literal["repeat", "error"] = "repeat"
    # Transmit power of the devices when uplink SNRs were recorded. Another power shifts them; by default it is the
    # power of the run.
    tx_power_dbm: Annotated[float, Field(ge=-300, le=300)] | None = None
    # Band where SNRs were recorded. The same powers over another band shift them; by default it is the run's band.
    bandwidth_hz: Annotated[float, Field(ge=1, le=1e15)] | None = None

    @model_validator(mode="after")
    def _check_begin(self) -> LinkTrace:
        if self.begin_s and self.assign == "pool":
            raise fault_at(("begin_s",), "each device of a pool draws where it begins: leave it out")
        return self

    def recordings(self) -> list[Recording]:
        """Return the recordings in a fixed order; all are rates [bit/s], or all are SNRs.

        Raises:
            InputError: a file cannot be read, or is wrong.
        """
        raise NotImplementedError

    def notes(self) -> list[str]:
        """Return lines for the user about recordings that were read, but not as they are."""
        return []

    @property
    def source(self) -> str:
        """Return the name of the recordings in messages, the path of their file."""
        return str(getattr(self, "path", "the trace"))


def held(
    name: str, times_s: Sequence[float], down: Sequence[float], up: Sequence[float], *, are_snrs: bool
) -> Recording:
    """Return a recording of values [n] that hold until the next time, the last as long as the one before it.

    It begins at the first of `times_s` [n], which rise.
    """
    begin_s = np.array(times_s) - times_s[0]
    last_s = ALONE_S
    if len(begin_s) > 1:
        last_s = float(begin_s[-1] - begin_s[-2])
    end_s = float(begin_s[-1] + last_s)

    def recorded(values: Sequence[float]) -> Recorded:
        if are_snrs:
            return SnrSteps(begin_s, np.array(values), end_s)
        return Steps(begin_s, np.array(values), end_s)

    return Recording(name, recorded(down), recorded(up))


def unit_notes(place: object, values: Sequence[float], *, are_snrs: bool) -> list[str]:
    """Return a line for the user if values [n], in dB or bit/s, are such that another unit is likely."""
    if are_snrs:
        highest = max(values)
        if highest >= LOW_SNR_DB:
            return []
        meant = "are these received powers in dBm? An SNR is the power above noise and interference"
        return [f"{place}: no SNR is above {highest:.4g} dB: {meant}"]
    median_bps = float(np.median([value for value in values if value > 0] or [np.nan]))
    remedy = ""
    if median_bps < MBPS_BELOW:
        remedy = "are they in Mbit/s? Multiply them by 1e6"
    elif median_bps < LOW_BPS:
        remedy = "are they in kbit/s? Multiply them by 1e3"
    elif median_bps > HIGH_BPS:
        remedy = "were they in bit/s before they were multiplied? Divide them by 1e3"
    if not remedy:
        return []
    return [f"{place}: the median of its rates is {median_bps:.4g} bit/s: {remedy}"]
