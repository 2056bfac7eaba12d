"""The check of a churn model."""

from itertools import pairwise
from typing import Any

import numpy as np

from edgefl.core.streams import Streams
from edgefl.testing.calls import Calls, is_array, kind
from edgefl.testing.report import Blamed, Check, Report
from edgefl.world.churn import Churn
from edgefl.world.churn.base import Presence

DEVICES = 12
FEW = 5
CLASSES = 3
SEED = 4
TIMES_S = (0.0, 0.7, 5.0, 31.0, 200.0, 3_000.0, 20_000.0)


def check_churn(churn: type[Churn] | Churn, *, depends_on_count: bool = False, **keys: Any) -> Report:
    """Check that devices come and go as the world expects of them, and return the report.

    Args:
        churn: the class, or an instance.
        depends_on_count: whether presence may depend on the number of devices, for example through a common rate.
        keys: the keys with which the class is checked.
    """
    calls = Calls(churn, keys, Churn, "a churn model")
    subject = calls.subject
    stays = calls.begin("stays", "devices stay as long as `stays_until_s` promises, and arrive when `arrivals` says")
    changes = calls.begin("changes", "arrivals and departures lead from one set of present devices to the next")
    reason = subject.check(DEVICES)
    if reason:
        calls.wrong("check", f"refuses {DEVICES} devices ({reason}): check it with other keys")
        return calls.report.raise_faults()
    with calls.noting("a population"):
        _check_present(calls, depends_on_count=depends_on_count)
        if not subject.by_round:
            _check_stays(calls.on(_presence(subject)), stays)
            _check_changes(calls.on(_presence(subject)), changes, _presence(subject))
    return calls.finished()


def _presence(churn: Churn, count: int = DEVICES) -> Presence:
    presence = churn.presence(count, np.arange(count) % CLASSES, CLASSES, Streams(SEED))
    presence.observe_coverage(lambda ids, _: np.ones(len(ids), dtype=bool))  # no device ever leaves the cells
    return presence


def _check_present(calls: Calls[Churn], *, depends_on_count: bool) -> None:
    """Check the present devices, asked in two orders and in a smaller population.

    Raises:
        Blamed: they are wrong, which is noted.
    """
    presence = _presence(calls.subject)
    of_presence = calls.on(presence)
    probabilities = presence.probabilities
    if not is_array(probabilities, (DEVICES,)) or not ((probabilities >= 0) & (probabilities <= 1)).all():
        text = f"has probabilities {kind(probabilities)}, expected {DEVICES} numbers from 0 to 1"
        of_presence.reject("present", text)
    found = []
    for index, time_s in enumerate(TIMES_S):
        ids = presence.present(time_s, index)
        good = isinstance(ids, np.ndarray) and ids.ndim == 1 and np.issubdtype(ids.dtype, np.integer)
        if not good or (np.diff(ids) <= 0).any() or (len(ids) and not 0 <= ids[0] <= ids[-1] < DEVICES):
            of_presence.reject("present", f"returned {kind(ids)}, expected ascending ids of devices (int64)")
        found.append(ids)
    backwards = _presence(calls.subject)
    few = _presence(calls.subject, FEW)
    for index, time_s in reversed(list(enumerate(TIMES_S))):
        if not np.array_equal(backwards.present(time_s, index), found[index]):
            text = "returns other devices when times are asked in another order"
            of_presence.note(calls.repeatable, "present", f"{text}: key every draw by its device")
            raise Blamed
        if not depends_on_count and not np.array_equal(few.present(time_s, index), found[index][found[index] < FEW]):
            text = f"returns others of the first {FEW} devices when there are {DEVICES}"
            remedy = "key every draw by its device, or pass depends_on_count=True if that is meant"
            of_presence.note(calls.repeatable, "present", f"{text}: {remedy}")
            raise Blamed


def _check_stays(calls: Calls[Presence], check: Check) -> None:
    """Check how long present devices stay, and when absent ones arrive."""
    presence = calls.subject
    ids = np.arange(DEVICES)
    for index, time_s in enumerate(TIMES_S[:-1]):
        here = np.isin(ids, presence.present(time_s, index))
        until_s = presence.stays_until_s(ids, time_s)
        if not isinstance(until_s, np.ndarray) or until_s.shape != (DEVICES,) or not (until_s >= time_s).all():
            calls.reject("stays_until_s", f"returned {kind(until_s)}, expected times {[DEVICES]} from now on")
        if (until_s[~here] > time_s).any():
            text = "promises that an absent device stays: return the time that was asked"
            calls.note(check, "stays_until_s", text)
            return
        for device in ids[here].tolist():
            end_s = min(float(until_s[device]), time_s + 1_000.0)
            for at_s in np.linspace(time_s, end_s, 12)[:-1].tolist():
                if device not in presence.present(at_s, index):
                    text = f"promises that device {device} stays from {time_s:g} to {until_s[device]:.6g} s"
                    calls.note(check, "stays_until_s", f"{text}, but it is away at {at_s:.6g} s")
                    return
        if here.all():
            continue
        at_s, coming = presence.arrivals(time_s)
        if not at_s >= time_s or (np.isfinite(at_s) and not set(coming.tolist()) <= set(ids[~here].tolist())):
            text = f"returned devices {coming} at {at_s:g} s, where {ids[~here]} were away at {time_s:g} s"
            calls.note(check, "arrivals", text)
            return


def _check_changes(calls: Calls[Presence], check: Check, asked: Presence) -> None:
    """Check that changes lead to the devices that are then present."""
    for before_s, after_s in pairwise(TIMES_S):
        members = set(asked.present(before_s, 0).tolist())
        happened = calls.subject.changes(before_s, after_s)
        for device, came in zip(happened.ids.tolist(), happened.came.tolist(), strict=True):
            if came == (device in members):
                text = f"lets device {device} {'arrive while it is present' if came else 'leave while it is away'}"
                calls.note(check, "changes", f"{text}, between {before_s:g} and {after_s:g} s")
                return
            members ^= {device}
        if members != set(asked.present(after_s, 0).tolist()):
            text = f"leaves {sorted(members)} present at {after_s:g} s"
            calls.note(check, "changes", f"{text}, where `present` returns {asked.present(after_s, 0)}")
            return
