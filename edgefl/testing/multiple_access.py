"""The check of a way in which uploads share the uplink."""

from typing import Any

import numpy as np

from edgefl.core.arrays import Floats
from edgefl.radio.multiple_access import MultipleAccess
from edgefl.testing.calls import Calls
from edgefl.testing.report import Report

COUNTS = (1, 2, 3, 8, 50)  # of uploads at a time
SCALE = 1e3  # by which all powers are raised: interference must be raised as much
ROUNDING = 1e-9  # relative


def check_multiple_access(uplink: type[MultipleAccess] | MultipleAccess, **keys: Any) -> Report:
    """Check the groups and the interference of up to 50 uploads, and return the report.

    Their received powers differ by orders of magnitude.
    """
    calls = Calls(uplink, keys, MultipleAccess, "a way to share the uplink")
    rng = np.random.default_rng(7)
    for count in COUNTS:
        received = -np.sort(-(10 ** rng.uniform(-16, -8, count)))
        with calls.noting("groups"):
            _check_groups(calls, received)
        with calls.noting("interference"):
            _check_interference(calls, received)
    return calls.finished()


def _check_groups(calls: Calls[MultipleAccess], received: Floats) -> None:
    count = len(received)
    groups = calls.array("groups", received, shape=received.shape, of="whole numbers")
    if groups.dtype.kind not in "iu":
        calls.reject("groups", f"returned an array of {groups.dtype}, expected whole numbers")
    if (groups < 0).any() or (groups >= count).any():
        calls.wrong("groups", f"returned a group outside of 0 to {count - 1} for {count} uploads")
    if calls.subject.orthogonal and len(np.unique(groups)) < count:
        calls.wrong("groups", "puts uploads together, and is not asked where `orthogonal` is true: set it to False")


def _check_interference(calls: Calls[MultipleAccess], received: Floats) -> None:
    alone = np.zeros_like(received)
    alone[0] = received[0]
    groups = np.stack([received, alone])
    heard = calls.array("interference", groups, shape=groups.shape)
    if (heard < 0).any():
        calls.wrong("interference", "returned a power below 0")
    if heard[1, 0] != 0:
        calls.wrong("interference", "lets an upload hear others that are not there: 0 stands for none")
    if (heard[0] > received.sum() * (1 + ROUNDING)).any():
        calls.wrong("interference", "lets an upload hear more than all of its group send")
    raised = calls.subject.interference(groups * SCALE)
    if not np.allclose(raised, heard * SCALE, rtol=ROUNDING, atol=0):
        calls.wrong("interference", "does not go with the powers: its result must have the unit of its argument")
    first_only = calls.subject.interference(groups[:1])
    if not np.allclose(first_only, heard[:1], rtol=ROUNDING, atol=0):
        calls.wrong("interference", "lets a group hear another one: each row is a group of its own")
