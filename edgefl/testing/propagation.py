"""The check of a propagation model."""

from __future__ import annotations

from typing import Any

import numpy as np

from channel.tr38901 import LOS, O2I
from edgefl.radio.propagation import Propagation
from edgefl.radio.propagation.base import LargeScale, PathDraws
from edgefl.testing.calls import Calls, kind
from edgefl.testing.keys import check_keys
from edgefl.testing.report import Report, made, noting

PATHS = 60
SEED = 8
NEAR_M = 12.0
FAR_M = 900.0


def check_propagation(propagation: type[Propagation] | Propagation, **keys: Any) -> Report:
    """Check that a propagation model gives channels that can be, and return the report.

    Args:
        propagation: the class, or an instance.
        keys: the keys with which the class is checked.

    Raises:
        ConformanceError: something is wrong.
    """
    subject: Propagation = made(propagation, keys, Propagation, "a propagation model")
    report = Report.of(subject)
    calls = Calls(report)
    grows = report.begin("distance", "path loss never falls with distance, on paths that are all in line of sight")
    with noting(calls.returns, "a channel"):
        validity = subject.validity()
        carrier_hz = float(np.clip(3.5e9, *validity.carrier_hz))
        bs_height_m = float(np.clip(10.0, *validity.bs_height_m))
        ut_height_m = np.full(PATHS, float(np.clip(1.5, *validity.ut_height_m)))
        shortest, longest = subject.ground_range_m(carrier_hz, bs_height_m, ut_height_m)
        distance_m = np.geomspace(max(NEAR_M, shortest.max()), min(FAR_M, longest.min()), PATHS)
        rng = np.random.default_rng(SEED)
        for name, los in (("line of sight", np.full(PATHS, 1e-9)), ("any path", rng.random(PATHS))):
            draws = PathDraws(
                los=los,
                indoor=np.full(PATHS, 1 - 1e-9),
                indoor_distance=rng.random((PATHS, 2)),
                building=rng.random(PATHS),
                penetration=rng.normal(size=PATHS),
                environment=np.full(PATHS, 0.5),
                path_depth=rng.random(PATHS),
                floor=rng.random((PATHS, 2)),
                device=np.zeros(PATHS, dtype=np.int64),
            )
            found = calls.of(subject, "large_scale", distance_m, carrier_hz, bs_height_m, ut_height_m, draws)
            if not _check_channel(calls, subject, found):
                break
            if name == "line of sight" and found.los.all() and (np.diff(found.path_loss_db) < -1e-9).any():
                calls.note(grows, subject, "large_scale", "returned a path loss that falls with distance")
    check_keys(report, subject)
    return report.raise_faults()


def _check_channel(calls: Calls, propagation: Propagation, found: Any) -> bool:
    """Check the channel of all paths; return whether it has the form that it must."""
    if not isinstance(found, LargeScale):
        calls.wrong(propagation, "large_scale", f"returned {kind(found)}, expected a LargeScale: see `by_state`")
        return False
    for name in ("state", "los", "path_loss_db", "shadowing_std_db", "decorrelation_m"):
        value = getattr(found, name)
        if not isinstance(value, np.ndarray) or value.shape != (PATHS,) or not np.isfinite(value).all():
            calls.wrong(
                propagation, "large_scale", f"returned {kind(value)} as {name}, expected finite numbers [{PATHS}]"
            )
            return False
    if not ((found.state >= LOS) & (found.state <= O2I)).all():
        calls.wrong(propagation, "large_scale", "returned a state that is none of LOS, NLOS and O2I")
    if (found.shadowing_std_db < 0).any() or (found.decorrelation_m <= 0).any():
        text = "returned a deviation of the shadowing below 0, or a decorrelation distance that is not positive"
        calls.wrong(propagation, "large_scale", text)
    return True
