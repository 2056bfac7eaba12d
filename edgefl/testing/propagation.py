"""The check of a propagation model."""

from typing import Any

import numpy as np

from channel.tr38901 import LOS, O2I
from edgefl.radio.propagation import Propagation
from edgefl.radio.propagation.base import LargeScale, PathDraws
from edgefl.testing.calls import Calls, is_array, kind
from edgefl.testing.report import Report

METHOD = "large_scale"
PATHS = 60
SEED = 8
NEAR_M = 12.0
FAR_M = 900.0


def check_propagation(propagation: type[Propagation] | Propagation, **keys: Any) -> Report:
    """Check that a propagation model gives possible channels, and return the report."""
    calls = Calls(propagation, keys, Propagation, "a propagation model")
    grows = calls.begin("distance", "path loss never falls with distance, on paths that are all in line of sight")
    with calls.noting("a channel"):
        subject = calls.subject
        validity = subject.validity()
        carrier_hz = float(np.clip(3.5e9, *validity.carrier_hz))
        bs_height_m = float(np.clip(10.0, *validity.bs_height_m))
        ut_height_m = np.full(PATHS, float(np.clip(1.5, *validity.ut_height_m)))
        shortest, longest = subject.ground_range_m(carrier_hz, bs_height_m, ut_height_m)
        distance_m = np.geomspace(max(NEAR_M, shortest.max()), min(FAR_M, longest.min()), PATHS)
        rng = np.random.default_rng(SEED)
        for all_los, los in ((True, np.full(PATHS, 1e-9)), (False, rng.random(PATHS))):
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
            found = calls.of(METHOD, distance_m, carrier_hz, bs_height_m, ut_height_m, draws)
            _check_channel(calls, found)
            if all_los and found.los.all() and (np.diff(found.path_loss_db) < -1e-9).any():
                calls.note(grows, METHOD, "returned a path loss that falls with distance")
    return calls.finished()


def _check_channel(calls: Calls[Propagation], found: Any) -> None:
    if not isinstance(found, LargeScale):
        calls.reject(METHOD, f"returned {kind(found)}, expected a LargeScale: see `by_state`")
    for name in ("state", "los", "path_loss_db", "shadowing_std_db", "decorrelation_m"):
        value = getattr(found, name)
        if not is_array(np.asarray(value, dtype=np.float64), (PATHS,)):
            calls.reject(METHOD, f"returned {kind(value)} as {name}, expected finite numbers [{PATHS}]")
    if not ((found.state >= LOS) & (found.state <= O2I)).all():
        calls.wrong(METHOD, "returned a state other than LOS, NLOS and O2I")
    if (found.shadowing_std_db < 0).any() or (found.decorrelation_m <= 0).any():
        text = "returned a deviation of the shadowing below 0, or a decorrelation distance that is not positive"
        calls.wrong(METHOD, text)
