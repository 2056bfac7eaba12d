"""Control of a run from outside, instead of the scenario.

The server asks before it chooses devices; the world asks for clocks and transmit powers, the radio for shares of the
band. `Control` itself leaves all decisions to the scenario. Agents (room `gym`) and optimisers
(`server/optimised_control.py`) are subclasses.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from edgefl.core.arrays import Floats, Ids


class Choice(NamedTuple):
    """The devices that can be chosen now."""

    number: int  # of the selection, from 0; it keys the channel of the devices that are chosen
    free: Ids  # [n] that are present and not busy, ascending
    wanted: int  # number of devices that the scenario asks for, at most n
    by_scenario: Callable[[], Ids]  # returns the ids that the scenario's selection would choose, in order


class Control:
    """Base class of all controls; it leaves every decision to the scenario."""

    decides: bool = False  # whether the server has to ask for participants
    fills_band: bool = True  # whether weights divide all of a band; False: they are parts of it, 1 in all or less

    def decide(self, choice: Choice) -> Generator[Any, Any, None]:
        """Wait, as a part of a SimPy process, until all decisions are made."""
        yield from ()

    def choose(self, free: Ids, wanted: int) -> Ids | None:
        """Return the ids of the devices that take part, in order, all in `free` [n]; None: the selection chooses."""
        return None

    def note_chosen(self, ids: Ids, index: int) -> None:
        """Note that devices [n], chosen by selection `index`, take part from now on, by what was decided now."""

    def taking_part(self, ids: Ids) -> Ids:
        """Return the chosen devices [n] that do take part, in their order."""
        return ids

    def clock_share(self, ids: Ids) -> Floats | None:
        """Return the clocks [n] of devices [n] over their highest ones, in (0, 1]; None: `devices.dvfs` decides."""
        return None

    def power_share(self, ids: Ids) -> Floats | None:
        """Return the transmit powers [n] over `devices.tx_power_dbm`, in (0, 1]; None: devices send at that power."""
        return None

    def bandwidth_weight(self, ids: Ids, *, uplink: bool) -> Floats | None:
        """Return the weights [n] > 0 of devices [n] that divide a band among transfers; None: `radio.allocation`'s."""
        return None

    def uplink_interference_w_hz(self, ids: Ids) -> Floats | None:
        """Return the density [n] of interference with uploads of devices [n]; None: that of other cells only."""
        return None


BY_SCENARIO = Control()
"""The control of a run where the scenario decides."""
