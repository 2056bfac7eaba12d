"""The control of a run whose server decides on band, powers and clocks by its forecast of the participants.

World and radio ask `HeldDecisions`, and forecasts need world and radio: so decisions are built first, deciders last.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgefl.coordination.decisions import Decider, Decisions, Infeasible
from edgefl.coordination.forecast import Forecast
from edgefl.core.arrays import Bools, Ids
from edgefl.core.errors import RunError
from edgefl.core.returns import Array, Instance, called, check
from edgefl.server.forecaster import Forecaster
from edgefl.server.held_decisions import HeldDecisions
from edgefl.world.control import BY_SCENARIO, Choice, Control

LEAST_SHARE = 1e-12  # with less, a participation would never end


@dataclass(eq=False)
class OptimisedControl(Control):
    """Asks a decider cell by cell when devices are chosen; its decisions hold until they are chosen again.

    Devices whose channel is unknown, or carries nothing, get an equal share of their cell's band, full power and the
    highest clock; the decider divides the rest.
    """

    decider: Decider  # the optimiser, or the allocation that needs forecasts
    forecaster: Forecaster  # makes the forecasts
    held: HeldDecisions  # keeps what was decided
    choosing: Control = BY_SCENARIO  # chooses participants; by default the scenario does

    def __post_init__(self) -> None:
        self.decides = self.choosing.decides

    # Participants

    def decide(self, choice: Choice) -> Generator[Any, Any, None]:
        yield from self.choosing.decide(choice)

    def choose(self, free: Ids, wanted: int) -> Ids | None:
        return self.choosing.choose(free, wanted)

    def note_chosen(self, ids: Ids, index: int) -> None:
        """Decide on the devices that take part now.

        Raises:
            RunError: no decision meets the decider's limits.
        """
        self.choosing.note_chosen(ids, index)
        if not len(ids):
            return
        forecast = self.forecaster.forecast(np.sort(ids), index)
        for cell in np.unique(forecast.cell):
            of_cell = forecast.only(np.flatnonzero(forecast.cell == cell))
            try:
                self._decide(of_cell)
            except Infeasible as error:
                raise RunError(f"round {index + 1}: {error}") from error
        if not len(self.held.taking_part(ids)):
            text = f"none of {len(ids)} participants can be served within the limits of radio.allocation"
            raise RunError(f"round {index + 1}: {text}: relax them, or choose more devices")

    def taking_part(self, ids: Ids) -> Ids:
        return self.held.taking_part(ids)

    # Decisions

    def _decide(self, forecast: Forecast) -> None:
        """Decide on the participants [n] of one cell, and keep the decisions."""
        usable = _usable(forecast)
        decided = Decisions()
        rows = np.flatnonzero(usable)
        if len(rows):
            among = _on_part_of_band(forecast.only(rows), len(rows) / len(forecast))
            must = Instance(Decisions, "Decisions of edgefl.coordination.decisions")
            decided = called(self.decider.decide, must, among)
            self._check(decided, len(rows))
        self.held.hold(decided, forecast.ids, rows)

    def _check(self, decided: Decisions, count: int) -> None:
        musts = {"up_interference_w_hz": Array((count,), "an up_interference_w_hz [n] from 0", least=0.0)}
        for name in ("up_share", "down_share", "power_share", "clock_share"):
            musts[name] = Array((count,), f"a {name} [n] above 0, at most 1", least=LEAST_SHARE, most=1.0)
        for name, must in musts.items():
            values = getattr(decided, name)
            if values is not None:
                check(self.decider, "decide", values, must)


def _usable(forecast: Forecast) -> Bools:
    """Return which candidates [n] have a known channel that carries something."""
    least_snr_hz = np.minimum(forecast.down_snr_hz, forecast.up_snr_hz)
    return np.asarray(least_snr_hz > 0)  # false for nan


def _on_part_of_band(forecast: Forecast, part: float) -> Forecast:
    """Return the forecast of devices [n] that share a part of their cell's band, or of its turns."""
    return replace(
        forecast,
        share=1.0 / len(forecast),
        down=replace(forecast.down, free_share=part),
        up=replace(forecast.up, free_share=part),
    )
