"""The check of a kind of channel state information."""

from typing import Any

import numpy as np

from edgefl.coordination.csi.base import Csi, Gains, ReportedCsi, RequestedCsi
from edgefl.core.arrays import Floats
from edgefl.testing.calls import Calls, is_array, kind
from edgefl.testing.report import Check, Report

DEVICES = 40
SEED = 11
ROUNDING = 1e-12


def check_csi(csi: type[Csi] | Csi, **keys: Any) -> Report:
    """Check that devices report channels as a server expects of them, and return the report."""
    calls = Calls(csi, keys, Csi, "a kind of channel state information")
    subject = calls.subject
    alone = calls.begin("one of many", "a device's report does not depend on the others")
    mean = calls.begin("mean", "without `instantaneous`, reports say nothing of the fading")
    error = calls.begin("error", "reports are off by `noise_db` times a standard normal number")
    with calls.noting("a report"):
        if isinstance(subject, ReportedCsi):
            _check_reports(calls.on(subject), alone, mean, error)
    for name in ("update_bits", "request_bits"):
        value = getattr(subject, name)
        if not isinstance(value, int) or value < 0:
            calls.wrong(name, f"returned {value!r}, expected a whole number of bits from 0")
    if subject.request_bits and not isinstance(subject, RequestedCsi):
        calls.wrong("request_bits", "is above 0, but the server requests no reports: derive it from RequestedCsi")
    return calls.finished()


def _check_reports(calls: Calls[ReportedCsi], alone: Check, mean: Check, error: Check) -> None:
    """Check the reports of some devices over channels of very different strength."""
    rng = np.random.default_rng(SEED)
    ids = np.sort(rng.choice(1000, DEVICES, replace=False))
    true = Gains(ids, 10 ** rng.uniform(-16, -5, DEVICES), rng.exponential(1.0, DEVICES))
    seen = _report(calls, DEVICES, "observe", true)
    some = np.sort(np.argsort(true.path_gain)[: DEVICES // 2])  # without the strongest: a rank must show
    of_some = _report(calls, some.size, "observe", Gains(ids[some], true.path_gain[some], true.fading[some]))
    same = np.allclose(of_some.path_gain, seen.path_gain[some], rtol=ROUNDING, atol=0.0)
    if not same or not np.allclose(of_some.fading, seen.fading[some], rtol=ROUNDING, atol=0.0):
        calls.note(alone, "observe", f"returns others for {some.size} of {DEVICES} devices than for all")
    if not calls.subject.instantaneous:
        other = _report(calls, DEVICES, "observe", true._replace(fading=rng.exponential(1.0, DEVICES)))
        if (other.path_gain != seen.path_gain).any():
            calls.note(mean, "observe", "returns another path_gain while only the fading is another")
        if (seen.fading != 1.0).any():
            text = "returns a fading besides 1, by which forecasts would multiply: set `instantaneous` to True"
            calls.note(mean, "observe", text)
    _check_error(calls, seen, rng.standard_normal(DEVICES), error)


def _check_error(calls: Calls[ReportedCsi], seen: Gains, normal: Floats, error: Check) -> None:
    off = _report(calls, DEVICES, "disturbed", seen, normal)
    noise_db = calls.subject.noise_db
    expected = seen.path_gain * seen.fading * 10 ** (noise_db * normal / 10)
    if not np.allclose(off.path_gain * off.fading, expected, rtol=1e-9, atol=0.0):
        text = f"returns strengths that are not off by 10^(noise_db n / 10), here with noise_db = {noise_db:g}"
        calls.note(error, "disturbed", text)


def _report(calls: Calls[ReportedCsi], count: int, method: str, *args: Any) -> Gains:
    """Return the reports of some devices.

    Raises:
        Blamed: they have another form, which is noted.
    """
    seen = calls.of(method, *args)
    if not isinstance(seen, Gains):
        calls.reject(method, f"returned {kind(seen)}, expected the Gains that it was given, with what is reported")
    for name in ("path_gain", "fading"):
        values = getattr(seen, name)
        if not is_array(values, (count,)) or (values < 0).any():
            calls.reject(method, f"returned a {name} of {kind(values)}, expected finite numbers [{count}] from 0")
    return seen
