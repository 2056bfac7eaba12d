"""Optimisers decide jointly on the uplink's band, the transmit powers and the clocks of a round's participants.

After the server has chosen participants, it makes a forecast from its CSI and asks the optimiser cell by cell.
Decisions hold until devices are chosen again. The downlink is left to `radio.allocation`.

To write an optimiser:

1. One file in this folder with a subclass of `Optimiser`. Its fields are its keys under `server.optimiser`, and the
   first line of its docstring, which names the source, is what `edgefl list optimisers` prints.
2. The flags of `Optimiser` that differ: the `allocation` whose shares it sets, `needs_shannon`.
3. `decide`, from a `Forecast` of a cell's participants to `Decisions`. It is a pure function: no state, no random
   numbers. Equations of physics only are functions of `channel`, arrays in and arrays out.
4. `refusal`, if keys may contradict the devices.
5. One line in the table of contents (`members.csv`), one test in `tests/coordination/`, one row in
   `docs/optimisers.md`.

A rule that decides only on shares of the band is a member of `radio.allocation` with `by_forecast` and the same method
`decide` (`edgefl/radio/allocation/base.py`).
"""

from typing import ClassVar

from edgefl.coordination.decisions import Decisions
from edgefl.coordination.forecast import Forecast
from edgefl.core.arrays import Floats
from edgefl.core.catalogue import Member


class Optimiser(Member):
    """Base class of all joint optimisers."""

    decides: ClassVar[bool] = True
    """It decides something, so that the server needs `server.csi`."""

    allocation: ClassVar[str] = "equal"
    """The `radio.allocation` whose equal shares it replaces in the uplink: `equal` for shares of the band,
    `round_robin` for turns on all of it."""

    needs_shannon: ClassVar[bool] = False
    """Its equations hold for Shannon's rate, `radio.rate: shannon`, only."""

    weighs_clocks: ClassVar[bool] = False
    """Its equations weigh a clock's time only against its energy `xi c f^2`, without `devices.cpu_static_w`."""

    @property
    def needs_deadline(self) -> bool:
        """Return whether it plans for `forecast.deadline_s`, so that there must be a `server.deadline_s`."""
        return False

    def decide(self, forecast: Forecast) -> Decisions:
        """Return the decisions about the participants [n] of a cell.

        Args:
            forecast: of them; `forecast.share` is 1/n of the band, and every channel is known and carries something.

        Raises:
            Infeasible: no decision meets the limits.
        """
        raise NotImplementedError

    def refusal(self, tx_power_w: Floats, cpu_hz: Floats, compute_s: Floats) -> tuple[str, str] | None:
        """Return one of the optimiser's keys and why no run with these devices can have it; None if one can.

        Args:
            tx_power_w: [devices] their full transmit powers.
            cpu_hz: [devices] their highest clocks.
            compute_s: [devices] how long they compute at these.
        """
        return None


def too_high(key: str, least: float, unit: str, highest: Floats) -> tuple[str, str] | None:
    """Return the key and why no run can have it, if a device's highest value [devices] is below the least."""
    device = int(highest.argmin())
    if least <= highest[device]:
        return None
    return key, f"must be <= {highest[device]:g} {unit}, the most of device {device}, got {least:g}"
