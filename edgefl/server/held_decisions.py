"""The decisions of an optimiser, or of an allocation by forecasts, about each device since it was chosen last."""

import numpy as np

from edgefl.coordination.decisions import Decisions
from edgefl.core.arrays import Floats, Ids
from edgefl.world.control import Control


class HeldDecisions(Control):
    """Keeps decisions until devices are chosen again, and answers the world and the radio by them."""

    def __init__(self, count: int) -> None:
        self._held: dict[str, Floats] = {}  # what was decided for each device [devices], once it was
        self._ones = np.ones(count)
        self._left_out = np.zeros(count, dtype=np.bool_)

    def taking_part(self, ids: Ids) -> Ids:
        return ids[~self._left_out[ids]]

    # Questions of the world and the radio

    def clock_share(self, ids: Ids) -> Floats | None:
        return self._of("clock", ids)

    def power_share(self, ids: Ids) -> Floats | None:
        return self._of("power", ids)

    def bandwidth_weight(self, ids: Ids, *, uplink: bool) -> Floats | None:
        return self._of("up" if uplink else "down", ids)

    def uplink_interference_w_hz(self, ids: Ids) -> Floats | None:
        return self._of("interference", ids)

    def _of(self, what: str, ids: Ids) -> Floats | None:
        held = self._held.get(what)
        return None if held is None else held[ids]

    # Decisions

    def hold(self, decided: Decisions, ids: Ids, rows: Ids) -> None:
        """Keep decisions about the devices in some rows [r] of all participants `ids` [n] of a cell.

        The others get an equal share of the band.
        """
        equal = 1.0 / len(ids)
        part = len(rows) / len(ids)  # of the band that is left to the decider
        self._hold("up", decided.up_share, ids, rows, scale=part, otherwise=equal)
        self._hold("down", decided.down_share, ids, rows, scale=part, otherwise=equal)
        self._hold("power", decided.power_share, ids, rows)
        self._hold("clock", decided.clock_share, ids, rows)
        self._hold("interference", decided.up_interference_w_hz, ids, rows, otherwise=0.0)
        self.fills_band = decided.fills_band
        self._left_out[ids] = False
        if decided.takes_part is not None:
            self._left_out[ids[rows]] = ~decided.takes_part

    def _hold(
        self,
        what: str,
        decided: Floats | None,
        ids: Ids,
        rows: Ids,
        scale: float = 1.0,
        otherwise: float = 1.0,
    ) -> None:
        """Keep a decision about the devices in some rows [r] of `ids` [n]; the others get `otherwise`."""
        if what not in self._held:
            if decided is None:
                return
            self._held[what] = self._ones.copy()
        held = self._held[what]
        held[ids] = otherwise
        if decided is not None:
            held[ids[rows]] = decided * scale
