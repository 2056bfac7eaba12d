"""Measures of participation: updates received and lost, Jain's index of the times chosen, the age of updates."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats, Ints
from edgefl.core.row_store import Block
from edgefl.core.units import quantity
from edgefl.records.statuses import NOT_CHOSEN, RECEIVED

MOST_LOST = 0.05  # of the updates; a run that loses more says so before anything else
CAPACITY_S = 60.0
MODEL_BYTES = 20e6  # of the models that count a cell's capacity
LOSS_CAUSES = ("late", "departed", "failed")  # columns of participations that ended without a used update


class Updates(NamedTuple):
    """How many participations ended with an update that was used, and how many without, by cause."""

    received: int
    late: int
    departed: int
    failed: int
    unfinished: int  # under way when the run ended: neither received nor lost

    @property
    def losses(self) -> dict[str, int]:
        """The number of participations that ended without an update that was used, by cause."""
        return {cause: getattr(self, cause) for cause in LOSS_CAUSES}

    @property
    def ended(self) -> int:
        """The number of participations that ended during the run."""
        return self.received + sum(self.losses.values())

    @property
    def received_share(self) -> float | None:
        """The share of the ended participations whose update was received, 0 to 1; None if none ended."""
        return self.received / self.ended if self.ended else None

    @property
    def many_lost(self) -> bool:
        """Whether so many updates were lost that the other results cannot be read without knowing it."""
        share = self.received_share
        return share is not None and share < 1 - MOST_LOST


NO_UPDATES = Updates(0, 0, 0, 0, 0)


def updates_of(sum_of: Callable[[str], float]) -> Updates:
    """Return the updates of a run, given a function that sums a column of ``rounds.csv``."""
    received = int(sum_of("received"))
    losses = {cause: int(sum_of(cause)) for cause in LOSS_CAUSES}
    # Each participation ends in one way; the rest was still under way.
    unfinished = int(sum_of("selected")) - received - sum(losses.values())
    return Updates(received, **losses, unfinished=unfinished)


def capacity(rounds: Mapping[str, Any], cells: int) -> str:
    """Return how many models a cell carries in a minute of its whole band, as a sentence; empty if that is unknown.

    Args:
        rounds: columns [rounds] of rounds.csv: the bytes over the time that transfers occupied the band.
        cells: number of cells.
    """
    found = []
    for way in ("down", "up"):
        if f"load_{way}" not in rounds:
            continue
        load = np.asarray(rounds[f"load_{way}"], dtype=np.float64)
        on_air_s = cells * float(np.nansum(load * np.asarray(rounds["duration_s"])))
        sent_bytes = float(np.sum(rounds[f"bytes_{way}"]))
        if on_air_s and sent_bytes:
            found.append(f"{quantity(CAPACITY_S * sent_bytes / on_air_s / MODEL_BYTES)} {way}")
    if not found:
        return ""
    return f"{CAPACITY_S:g} s of this cell carry models of {MODEL_BYTES / 1e6:g} MB: {' or '.join(found)}."


class Participation(NamedTuple):
    """The spread of a run's participations over its devices."""

    times: Ints  # [devices] number of times that each was chosen
    ages: Floats  # [devices] mean age of its update over the rounds

    @property
    def jain_index(self) -> float:
        """Jain's index of the times chosen: 1 if all devices were chosen equally often, 1 / devices if one was."""
        return jain_index(self.times)

    @property
    def mean_age(self) -> float:
        """Mean age of update over rounds and devices."""
        return float(self.ages.mean()) if self.ages.size else 0.0


def jain_index(amounts: npt.ArrayLike) -> float:
    """Return Jain's index of fairness of amounts [n], `(sum x)^2 / (n sum x^2)`, from 1/n to 1; NaN if all are 0.

    Source: Jain, Chiu, Hawe, "A quantitative measure of fairness", DEC-TR-301, 1984.
    """
    x = np.asarray(amounts, dtype=np.float64)
    squares = float((x**2).sum())
    if squares == 0:
        return float("nan")
    return float(x.sum() ** 2 / (x.size * squares))


class ParticipationCount:
    """Counts how participations spread over the devices, some rounds at a time.

    The age of a device's update is the number of rounds since its last update was received, or since the run began
    (Yang, Arafa, Quek, Poor, ICASSP 2020).
    """

    def __init__(self, devices: int) -> None:
        self._times = np.zeros(devices, dtype=np.int64)
        self._last = np.zeros(devices, dtype=np.int64)  # round that received the device's last update
        self._age_sums = np.zeros(devices)  # over the rounds before that one

    def add(self, round_of: Ints, device: Ints, status: npt.NDArray[Any]) -> None:
        """Add participations [n] by their rounds [n] over the whole run, from 1, devices [n] and statuses [n].

        No round may come before a round that was added earlier.
        """
        np.add.at(self._times, device[~np.isin(status, NOT_CHOSEN)], 1)
        received = status == RECEIVED
        # Each device's rounds in order, after the last known one: ages restart at each of them.
        ids = np.unique(device[received])
        of_device = np.concatenate([ids, device[received]])
        at_round = np.concatenate([self._last[ids], round_of[received]])
        order = np.lexsort((at_round, of_device))
        gaps = np.diff(at_round[order])
        same_device = np.diff(of_device[order]) == 0
        np.add.at(self._age_sums, of_device[order][1:][same_device], _ages(gaps[same_device]))
        np.maximum.at(self._last, device[received], round_of[received])

    def spread(self, rounds: int) -> Participation:
        """Return how the participations spread over the devices in all `rounds` rounds."""
        sums = self._age_sums + _ages(rounds + 1 - self._last)
        return Participation(self._times, sums / max(rounds, 1))


def _ages(gaps: Ints) -> Floats:
    """Return the sum of the ages in gaps [n] between two updates: in a gap of g rounds they are 0, 1, ..., g - 1."""
    sums: Floats = gaps * (gaps - 1) / 2
    return sums


def participation(round_of: Ints, device: Ints, status: npt.NDArray[Any], devices: int, rounds: int) -> Participation:
    """Return how participations [n] spread over the devices; see `ParticipationCount`."""
    count = ParticipationCount(devices)
    count.add(round_of, device, status)
    return count.spread(rounds)


def of_rounds(blocks: Iterable[Block], devices: int, rounds: int) -> Participation:
    """Return how the participations of a run spread over its devices.

    The `blocks` have the participants' devices and statuses, one block a round, and perhaps one for the participations
    that the end of the run cut off.
    """
    count = ParticipationCount(devices)
    for block in blocks:
        numbers = np.minimum(block.first + 1 + np.arange(len(block.lengths)), rounds)
        count.add(np.repeat(numbers, block.lengths), block.columns["device"], block.columns["status"])
    return count.spread(rounds)
