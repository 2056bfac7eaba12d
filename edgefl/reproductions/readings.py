"""Readings: what is read off a finished run for a recipe's `measures`, such as the rounds to an accuracy.

A reading is a class with one method: `read` returns values by the ending of their column, "" for the value itself. So
a measure `last_50` whose reading returns {"": 98.1, "_std": 0.04} makes the columns last_50 and last_50_std. A value is
a number, a text (`numbers_of` reads the texts of curves), or None where the run has nothing of the kind. A bound, where
a target was not reached, is the text ">300". To add one: a class here, its line in READINGS, and a test with a known
answer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveFloat, PositiveInt

from edgefl.core.catalogue import Catalogue, Member
from edgefl.core.errors import InputError
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.results import metrics
from edgefl.results.csv_format import csv_cell

Value = float | int | str | None
Values = Mapping[str, Value]  # by the ending of the column
Better = Literal["higher", "lower"]
Fraction = Annotated[float, Field(gt=0, le=1)]

LOWER_IS_BETTER = re.compile(r"loss|distance|gradient_norm|_(s|j|bits)$")  # names of columns of rounds.csv
STD = "_std"  # the ending of the column with a value's standard deviation within the run


class Reading(Member):
    """Base of all readings."""

    better: ClassVar[Better] = "higher"  # which of two values is the better one, for a recipe's orders

    @property
    def direction(self) -> Better:
        """Return which of two values of this measure is the better one."""
        return self.better

    def read(self, run: FinishedRun) -> Values:
        """Return what is read off a run.

        Raises:
            InputError: the run has nothing of the kind, or its folder is damaged.
        """
        raise NotImplementedError


class RoundsTo(Reading):
    """The first round with an accuracy, counted over the whole run; ">N" if none of the N rounds has it."""

    better: ClassVar[Better] = "lower"
    accuracy: Fraction
    model: Literal["test", "sel", "all"] = "test"  # the global model, or one of `report.models`

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        if self.model != "test":
            return self._of_other_model(run.column(f"{self.model}_accuracy"))
        found = metrics.reach(run.curve, self.accuracy)
        if found.reached:
            return {"": found.round}
        return {"": f">{found.round}"}

    def _of_other_model(self, accuracies: Sequence[float | None]) -> Values:
        for number, accuracy in enumerate(accuracies, 1):
            if accuracy is not None and accuracy >= self.accuracy:
                return {"": number}
        return {"": f">{len(accuracies)}"}


class AccuracyReading(Reading):
    """Base of readings that return accuracies."""

    percent: bool = True

    @property
    def unit(self) -> float:
        """The factor for an accuracy from 0 to 1."""
        if self.percent:
            return 100.0
        return 1.0


class CostTo(Reading):
    """Base of readings of what a run takes to reach an accuracy; ">C" if it never did, where the whole run takes C."""

    better: ClassVar[Better] = "lower"
    accuracy: Fraction

    def cost(self, found: metrics.Reach) -> float:
        """Return the cost, or that of the whole run."""
        raise NotImplementedError

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        found = metrics.reach(run.curve, self.accuracy)
        cost = self.cost(found)
        if found.reached:
            return {"": cost}
        return {"": f">{csv_cell(cost)}"}


class TimeTo(CostTo):
    """The virtual time [s] until an accuracy; ">T" if it was not reached in the T seconds of the run."""

    def cost(self, found: metrics.Reach) -> float:  # noqa: D102 - the base class says it
        return found.time_s


class EnergyTo(CostTo):
    """The energy [J] of all devices until an accuracy; ">E" if it was not reached for the E joules of the run."""

    def cost(self, found: metrics.Reach) -> float:  # noqa: D102 - the base class says it
        return found.energy_j


class LastMean(AccuracyReading):
    """Mean and standard deviation of the test accuracy over the last tests (FedSSG paper, Table 1: the last 50)."""

    rounds: PositiveInt = 50

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        spread = metrics.last(run.curve, self.rounds)
        _check_tested(run)
        return {"": self.unit * spread.mean, STD: self.unit * spread.std}


class Final(AccuracyReading):
    """The last test accuracy."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        _check_tested(run)
        return {"": self.unit * run.curve.final}


class Best(AccuracyReading):
    """The highest test accuracy."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        _check_tested(run)
        return {"": self.unit * run.curve.best}


class FirstRoundsMean(AccuracyReading):
    """The mean test accuracy over the first rounds of a session (dynamic-devices paper, Table X: the first 10)."""

    session: PositiveInt  # from 1
    rounds: PositiveInt = metrics.INITIAL_ROUNDS

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        for session in metrics.sessions(run.curve):
            if session.session[0] == self.session:
                spread = metrics.initial(session, self.rounds)
                return {"": self.unit * spread.mean, STD: self.unit * spread.std}
        raise InputError(f"{run.folder}: has no session {self.session}")


class ColumnReading(Reading):
    """Base of readings of one column of rounds.csv; empty cells do not count."""

    column: str
    scale: float = 1.0  # the values are multiplied by it: 1e-3 for kJ of a column in J

    @property
    def direction(self) -> Better:
        """See Reading: of losses, distances, times and energies the lower value is better."""
        if LOWER_IS_BETTER.search(self.column):
            return "lower"
        return "higher"

    def values(self, run: FinishedRun) -> npt.NDArray[np.float64]:
        """Return the values of the column that are numbers, in order.

        Raises:
            InputError: there are none.
        """
        numbers = [value for value in run.column(self.column) if isinstance(value, (int, float))]
        if not numbers:
            raise InputError(f"{run.folder}/rounds.csv: the column {self.column} has no numbers")
        return self.scale * np.array(numbers, dtype=np.float64)


class ColumnMean(ColumnReading):
    """Mean and standard deviation of a column of rounds.csv, such as duration_s or round_energy_j."""

    last: PositiveInt | None = None  # only its last values

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        values = self.values(run)
        if self.last is not None:
            values = values[-self.last :]
        if len(values) == 1:
            return {"": float(values[0]), STD: None}
        return {"": float(values.mean()), STD: float(values.std(ddof=1))}


class RoundsIn(Reading):
    """The number of rounds that fit into a time if each takes as long as the run's rounds in the mean."""

    time_s: PositiveFloat

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        mean = ColumnMean(column="duration_s").read(run)
        return {"": self.time_s / float(mean[""] or np.nan)}


class ColumnMaximum(ColumnReading):
    """The largest value of a column of rounds.csv."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return {"": float(self.values(run).max())}


class ColumnMinimum(ColumnReading):
    """The least value of a column of rounds.csv."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return {"": float(self.values(run).min())}


class ColumnFinal(ColumnReading):
    """The last value of a column of rounds.csv, such as parameter, distance_to_optimum, train_loss or time_s."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return {"": float(self.values(run)[-1])}


class ColumnAt(ColumnReading):
    """The value of a column of rounds.csv in one round, counted over the whole run."""

    round: PositiveInt

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        values = run.column(self.column)
        if self.round > len(values):
            raise InputError(f"{run.folder}/rounds.csv: has {len(values)} rounds, no round {self.round}")
        value = values[self.round - 1]
        if value is None:
            return {"": None}
        return {"": self.scale * value}


class ColumnCurve(ColumnReading):
    """A column of rounds.csv as a text of numbers, for figures and for measures that compare runs; nan where empty."""

    every: PositiveInt = 1  # keep each nth round, and the last one
    digits: PositiveInt = 6

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        values = run.column(self.column)
        kept = [value for number, value in enumerate(values, 1) if number % self.every == 0 or number == len(values)]
        numbers = [np.nan if value is None or np.isinf(value) else self.scale * value for value in kept]
        return {"": " ".join(f"{number:.{self.digits}g}" for number in numbers)}


class LabelDrift(Reading):
    """The differences in shares of classes between rounds (period), or between a round's participants (client).

    A round is compared with the mean of all rounds, a participant with its round. The distance is half the sum of
    absolute differences: 0 for equal shares, 1 if no class is in common. The mean is over rounds, or over
    participations. The scenario needs `report.labels_by_round`.
    """

    of: Literal["period", "client"]

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        held = run.table("labels_by_round.csv")
        classes = int(held["label"].max()) + 1
        keys = np.stack([held["session"], held["round"], held["device"]])
        participations, number = np.unique(keys, axis=1, return_inverse=True)
        counts = np.zeros((participations.shape[1], classes))
        np.add.at(counts, (number.ravel(), held["label"].astype(np.int64)), held["samples"])
        rounds, of_round = np.unique(participations[:2], axis=1, return_inverse=True)
        pools = np.zeros((rounds.shape[1], classes))
        np.add.at(pools, of_round.ravel(), counts)
        pool_shares = pools / pools.sum(axis=1, keepdims=True)
        if self.of == "period":
            differences = pool_shares - pool_shares.mean(axis=0)
        else:
            differences = counts / counts.sum(axis=1, keepdims=True) - pool_shares[of_round.ravel()]
        return {"": float(np.abs(differences).sum(axis=1).mean() / 2)}


class HeldLabels(Reading):
    """The classes that each participant held, as a text with four numbers an entry: round, device, label, samples."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        held = run.table("labels_by_round.csv")
        table = np.stack([held[name] for name in ("round", "device", "label", "samples")], axis=1)
        return {"": " ".join(f"{number:.0f}" for number in table.ravel())}


class LargestShare(Reading):
    """The mean over devices of the share that the most frequent class has in a device's samples; and all counts.

    The ending `_counts` has the samples of each class that the first devices hold, device by device, as a text.
    """

    devices: PositiveInt = 20  # how many the counts are of

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        devices = run.table("labels.csv")["device"].astype(np.int64)
        labels = run.table("labels.csv")["label"].astype(np.int64)
        counts = np.zeros((devices.max() + 1, labels.max() + 1))
        np.add.at(counts, (devices, labels), run.table("labels.csv")["samples"])
        counts = counts[counts.sum(axis=1) > 0]
        largest = counts.max(axis=1) / counts.sum(axis=1)
        shown = " ".join(f"{count:.0f}" for count in counts[: self.devices].ravel())
        return {"": float(largest.mean()), "_counts": shown}


class ClassesHeld(Reading):
    """The largest number of classes that a device holds; `_mean` has the mean over the devices with any sample."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        held = run.table("labels.csv")["samples"] > 0
        _, classes = np.unique(run.table("labels.csv")["device"][held], return_counts=True)
        return {"": int(classes.max()), "_mean": float(classes.mean())}


class LossSpread(Reading):
    """The root mean square of the changes of devices' losses, by local training and by the whole round.

    It is over the participants of the last rounds. The two changes of a device's mean loss are those from the received
    model to the local one, and to the next global one (FedSSG paper, Fig. 2); the endings `_local` and `_global` have
    them as texts. The scenario needs `report.device_losses`.
    """

    better: ClassVar[Better] = "lower"
    last: PositiveInt = 50  # rounds

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        losses = run.table("device_losses.csv")
        keys = np.stack([losses["session"], losses["round"]])
        _, number = np.unique(keys, axis=1, return_inverse=True)
        number = number.ravel()
        counted = number > number.max() - self.last
        local = (losses["local_loss"] - losses["received_loss"])[counted]
        next_one = (losses["next_loss"] - losses["received_loss"])[counted]
        return {
            "": float(np.sqrt(np.mean(local**2 + next_one**2))),
            "_local": " ".join(f"{change:.4g}" for change in local),
            "_global": " ".join(f"{change:.4g}" for change in next_one),
        }


class Confusion(Reading):
    """The accuracy [%] in a round of `report.predictions`, over all test samples; and the confusion matrix.

    The ending `_entries` has the matrix as a text, three numbers for each entry: label, predicted class, samples.
    """

    round: PositiveInt

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        table = run.table("predictions.csv")
        wanted = table["round"] == self.round
        if not wanted.any():
            raise InputError(f"{run.folder}/predictions.csv: has no round {self.round}: name it in report.predictions")
        entries = np.stack([table[name][wanted] for name in ("label", "predicted", "samples")], axis=1)
        right = entries[entries[:, 0] == entries[:, 1], 2].sum()
        text = " ".join(f"{number:.0f}" for number in entries.ravel())
        return {"": float(100 * right / entries[:, 2].sum()), "_entries": text}


class SessionCurve(Reading):
    """A column of the ordinary rounds of a session, as a text of numbers; times, energies since it began."""

    session: PositiveInt  # from 1
    column: Literal["test_accuracy", "time_s", "energy_j"] = "test_accuracy"
    digits: PositiveInt = 6

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        for curve in metrics.sessions(run.curve):
            if curve.session[0] != self.session:
                continue
            of_column = {"test_accuracy": curve.accuracy, "time_s": curve.time_s, "energy_j": curve.energy_j}
            ordinary = of_column[self.column][curve.round >= 1]
            return {"": " ".join(f"{value:.{self.digits}g}" for value in ordinary)}
        raise InputError(f"{run.folder}: has no session {self.session}")


class DeviceColumn(Reading):
    """Base of readings of one column of devices.csv over all participations; empty cells do not count."""

    column: str
    scale: float = 1.0  # the values are multiplied by it: -1 turns losses into gains

    def values(self, run: FinishedRun) -> npt.NDArray[np.float64]:
        """Return the values of the column that are numbers.

        Raises:
            InputError: there are none.
        """
        table = run.table("devices.csv")
        if self.column not in table:
            raise InputError(f"{run.folder}/devices.csv: has no column {self.column}")
        values = np.asarray(table[self.column], dtype=np.float64)
        finite = values[np.isfinite(values)]
        if not len(finite):
            raise InputError(f"{run.folder}/devices.csv: the column {self.column} has no numbers")
        return self.scale * finite


class DevicePercentile(DeviceColumn):
    """A percentile of a column of devices.csv over all participations, such as coupling_loss_db."""

    percentile: Annotated[float, Field(ge=0, le=100)]

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return {"": float(np.percentile(self.values(run), self.percentile))}


class DeviceSum(DeviceColumn):
    """The sum of a column of devices.csv over all participations, such as cpu_energy_j."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return {"": float(self.values(run).sum())}


class DeviceDistribution(DeviceColumn):
    """The percentiles 1 to 99 of a column of devices.csv over all participations, as a text for figures."""

    digits: PositiveInt = 5

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        percentiles = np.percentile(self.values(run), np.arange(1, 100))
        return {"": " ".join(f"{value:.{self.digits}g}" for value in percentiles)}


class DocumentEntry(Reading):
    """Base of readings of a number in one of a run's documents, by its dotted key."""

    file: ClassVar[str]
    key: str
    scale: float = 1.0

    def number(self, run: FinishedRun, document: object) -> Values:
        """Return the number times `scale`; None for null.

        Raises:
            InputError: the document has no such key, or no number there.
        """
        value = document
        for part in self.key.split("."):
            if not isinstance(value, Mapping) or part not in value:
                raise InputError(f"{run.folder}/{self.file}: has no {self.key}")
            value = value[part]
        if value is None:
            return {"": None}
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"{run.folder}/{self.file}: {self.key} is no number")
        return {"": self.scale * value}


class SummaryEntry(DocumentEntry):
    """A number of summary.json by its dotted key, such as fairness.worst_10."""

    file = "summary.json"

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return self.number(run, run.summary)


class ManifestEntry(DocumentEntry):
    """A number of manifest.json by its dotted key, such as resources.cpu_s: it differs from machine to machine."""

    file = "manifest.json"
    better: ClassVar[Better] = "lower"

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return self.number(run, run.documents.manifest)


class ScenarioEntry(DocumentEntry):
    """A number of the complete scenario by its dotted key, such as radio.carrier_hz."""

    file = "scenario.yaml"

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return self.number(run, run.scenario)


class DeviceAccuracy(AccuracyReading):
    """Mean and standard deviation over devices of the final model's accuracy on their own samples (FedAR, Table 3)."""

    of: Literal["all", "worst", "best"] = "all"  # the worst or the best tenth of the devices

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        statistics = metrics.fairness(run.device_accuracies)
        if self.of == "all":
            return {"": self.unit * statistics["mean"], STD: self.unit * float(np.sqrt(statistics["variance"]))}
        name = f"{self.of}_10_percent"
        return {"": self.unit * statistics[name], STD: self.unit * statistics[f"{name}_std"]}


class DeviceAccuracies(AccuracyReading):
    """The final model's accuracy for each device, from the lowest on, as a text of numbers (FedAR, Fig. 3)."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return {"": " ".join(f"{self.unit * accuracy:.4g}" for accuracy in np.sort(run.device_accuracies))}


class ContributionShare(Reading):
    """A device's share of all contributions to the model in the last round that has them [%] (FedAR, Fig. 1).

    The share is that of Shapley values, which add up to what the round has gained. It says nothing where that is 0.
    """

    device: Annotated[int, Field(ge=0)]

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        table = run.contributions
        last = table["round"] == table["round"].max()
        values = table["contribution"][last]
        if self.device not in table["device"][last]:
            return {"": None}
        total = float(values.sum())
        if total == 0:
            return {"": None}
        return {"": 100 * float(values[table["device"][last] == self.device][0]) / total}


def numbers_of(text: str) -> list[float]:
    """Return the numbers of a curve that a reading has kept as text."""
    # In CSV files a text that begins with a minus sign is quoted, as spreadsheets would compute it.
    return [float(number) for number in text.removeprefix("'").split()]


def columns_of(name: str, values: Values) -> dict[str, str]:
    """Return the values of the measure of a name by their columns, as texts of a CSV file."""
    return {f"{name}{ending}": _text(value) for ending, value in values.items()}


def _text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.8g}" if np.isfinite(value) else ""  # enough for every comparison, and no noise of a machine
    return csv_cell(value)


def _check_tested(run: FinishedRun) -> None:
    """Check that accuracies were measured.

    Raises:
        InputError: they were not.
    """
    if not run.curve.tests.size:
        raise InputError(f"{run.folder}: has no test accuracy; a recipe that reads it must learn")


def _paths(**classes: type[Reading]) -> dict[str, str]:
    return {name: f"{cls.__module__}:{cls.__qualname__}" for name, cls in classes.items()}


READINGS: Catalogue[Reading] = Catalogue(
    noun="reading",
    members=_paths(
        rounds_to=RoundsTo,
        time_to=TimeTo,
        energy_to=EnergyTo,
        last_mean=LastMean,
        final=Final,
        best=Best,
        first_rounds_mean=FirstRoundsMean,
        rounds_in=RoundsIn,
        column_mean=ColumnMean,
        column_max=ColumnMaximum,
        column_min=ColumnMinimum,
        column_final=ColumnFinal,
        column_at=ColumnAt,
        column_curve=ColumnCurve,
        device_percentile=DevicePercentile,
        device_sum=DeviceSum,
        device_distribution=DeviceDistribution,
        label_drift=LabelDrift,
        held_labels=HeldLabels,
        confusion=Confusion,
        largest_share=LargestShare,
        classes_held=ClassesHeld,
        loss_spread=LossSpread,
        session_curve=SessionCurve,
        summary=SummaryEntry,
        manifest=ManifestEntry,
        scenario=ScenarioEntry,
        device_accuracy=DeviceAccuracy,
        device_accuracies=DeviceAccuracies,
        contribution_share=ContributionShare,
    ),
    base=Reading,
    kind="readings",
)


def orders_better(better: Better, values: Sequence[float]) -> bool:
    """Return whether values go from better to worse, where the higher or the lower ones are better."""
    pairs = itertools.pairwise(values)
    if better == "lower":
        return all(first < second for first, second in pairs)
    return all(first > second for first, second in pairs)
