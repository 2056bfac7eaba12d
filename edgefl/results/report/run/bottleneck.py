"""The bottleneck of a run: the phase that takes most of its time, the one that takes most of its energy."""

from collections.abc import Mapping

from edgefl.core.units import TIME, quantity
from edgefl.records.statuses import LATE, POLLED
from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import Run
from edgefl.results.report.why import critical_path, decomposition
from edgefl.results.report.why.critical_path import PHASES
from edgefl.results.report.why.sentences import WORDS

LEAST_SAVED = 0.01  # of a round: less is not mentioned


def sentence(run: Run) -> str:
    """Return the largest phase of time and of energy, and how long rounds would take without that of time.

    An empty text for a run without participations.
    """
    parts = decomposition.whole(run)
    if parts is None or not parts.participations:
        return ""
    energy_of = "of the energy"
    if run.on_batteries:  # which lose energy to other things, too
        energy_of = "of the energy of learning"
    shares: dict[str, list[str]] = {}  # by phase
    for sums, of_what in ((parts.energy_j, energy_of), (parts.time_s, "of the time")):
        total = sum(sums.values())
        if total > 0:
            largest = _largest(sums)
            shares.setdefault(largest, []).append(f"{_percent(sums[largest] / total)} {of_what}")
    if not shares:
        return ""
    text = ", ".join(f"{WORDS[phase]} takes {' and '.join(texts)}" for phase, texts in shares.items())
    text = text[0].upper() + text[1:]
    return f"{text}{_saving(run, _largest(parts.time_s))}."


def _largest(sums: Mapping[str, float]) -> str:
    return max(sums, key=lambda part: sums[part])


def _percent(share: float) -> str:
    """Return a share as a whole percentage, without calling nearly all of it all."""
    if 0.995 <= share < 1 - 1e-9:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def _saving(run: Run, phase: str) -> str:
    """Return how long a round would take without a phase, by the recorded times of all others."""
    if phase not in PHASES or not _others_stay(run, phase):  # waiting follows from other phases
        return ""
    parts = critical_path.participations(run)
    total_s = float(parts.duration_s.sum())
    without_s = critical_path.duration_without(parts, PHASES.index(phase))
    if total_s - without_s < LEAST_SAVED * total_s:
        return ""
    before = quantity(total_s / run.length, TIME)
    after = quantity(without_s / run.length, TIME)
    return f"; without {WORDS[phase]} a round would take {after} instead of {before}"


def _others_stay(run: Run, phase: str) -> bool:
    """Return whether the times of other phases would stay the same if one took no time."""
    status = run.devices["status"]
    if describe.kind(run.scenario, "server.policy") not in {"synchronous", "hierarchical"} or (status == LATE).any():
        return False
    # Devices also wait for the answers of others; which devices a Flower app waits for, only the app knows.
    if (status == POLLED).any() or describe.app(run.scenario):
        return False
    # On a shared band earlier uploads would meet other transfers, and take another time.
    return phase == "upload" or describe.at(run.scenario, "radio.sharing") != "processor"
