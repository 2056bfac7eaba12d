"""The beginnings of participations, and the durations of their phases."""

from __future__ import annotations

import numpy as np

from edgefl.core.arrays import Floats, Rows
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import TIME_PHASES


def durations_s(run: Run, rows: Rows) -> Floats:
    """Return how long each phase of participations [rows] took [phase, n]; 0 for a phase that never began."""
    return np.array([np.nan_to_num(run.devices[phase.column][rows]) for phase in TIME_PHASES])


def starts_s(run: Run, rows: Rows, phases_s: Floats) -> Floats:
    """Return when participations [rows] began; folders of earlier versions only say that they ended with their round.

    ``phases_s`` [phase, n] are their phases.
    """
    start_s = run.devices["start_s"][rows]
    round_end_s = run.rounds["time_s"][run.devices["row"][rows]]
    return np.where(np.isfinite(start_s), start_s, round_end_s - phases_s.sum(axis=0))
