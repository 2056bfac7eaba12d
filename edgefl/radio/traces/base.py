"""Base of the recorded links, which replace path loss, fading and, if they are rates, the band.

A new format is one file in this folder and one line in the folder's table of contents: a class with `recordings`.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, model_validator

from channel.link_traces import Opportunities, SnrSteps, Steps
from edgefl.core.catalogue import Member
from edgefl.core.section import LARGEST_S, fault_at

Recorded = Steps | Opportunities | SnrSteps
HIGHEST_BPS = 1e15
LARGEST_SNR_DB = 200.0


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
    # Band in which SNRs were recorded. The same powers over another band shift them; by default it is the run's band.
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
        return "the trace"
