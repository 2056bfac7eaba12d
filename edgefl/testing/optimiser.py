"""The check of an optimiser."""

from dataclasses import replace
from typing import Any

import numpy as np

from edgefl.coordination.decisions import Decisions, Infeasible
from edgefl.coordination.forecast import Forecast
from edgefl.coordination.optimisers import Optimiser
from edgefl.testing.calls import Calls, is_array, kind
from edgefl.testing.forecasts import made_up_forecast
from edgefl.testing.report import Report

COUNTS = (1, 2, 7, 50)  # of participants
DEADLINE_S = 600.0
ROUNDING = 1e-9
BAND_SHARES = {"up_share", "down_share"}


def check_optimiser(optimiser: type[Optimiser] | Optimiser, **keys: Any) -> Report:
    """Check that an optimiser decides on participants as the server expects of it, and return the report.

    It decides on up to 50 participants whose channels and work differ by orders of magnitude, with 600 s for a round,
    on the whole of a band and on half of it.
    """
    calls = Calls(optimiser, keys, Optimiser, "an optimiser")
    rng = np.random.default_rng(3)
    for count in COUNTS:
        for free_share in (1.0, 0.5):
            forecast = _forecast(count, rng, free_share, in_turn=calls.subject.allocation == "round_robin")
            with calls.noting("a decision"):
                _check_decisions(calls, forecast)
    return calls.finished()


def _forecast(count: int, rng: np.random.Generator, free_share: float, *, in_turn: bool) -> Forecast:
    """Return a forecast of all of a cell's participants."""
    forecast = made_up_forecast(np.arange(count, dtype=np.int64), rng, DEADLINE_S)
    down = replace(forecast.down, free_share=free_share, in_turn=in_turn)
    up = replace(forecast.up, free_share=free_share, in_turn=in_turn)
    return replace(forecast, down=down, up=up, share=1.0 / count)


def _check_decisions(calls: Calls[Optimiser], forecast: Forecast) -> None:
    try:
        calls.subject.decide(forecast)
    except Infeasible:
        return  # a run would end with that line
    decisions = calls.of("decide", forecast)
    if not isinstance(decisions, Decisions):
        calls.reject("decide", f"returned {kind(decisions)}, expected Decisions of coordination.decisions")
    shape = (len(forecast),)
    for name in ("up_share", "down_share", "power_share", "clock_share"):
        values = getattr(decisions, name)
        if values is None:
            continue
        if not is_array(values, shape):
            calls.wrong("decide", f"returned {kind(values)} as {name}, expected numbers {list(shape)}")
        elif (values <= 0).any() or (values > 1).any():
            calls.wrong("decide", f"returned a {name} that is not above 0 and at most 1")
        elif name in BAND_SHARES and abs(values.sum() - 1) > ROUNDING:
            calls.wrong("decide", f"returned {name} that add up to {values.sum():g}, expected 1")
