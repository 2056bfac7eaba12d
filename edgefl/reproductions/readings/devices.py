"""Readings of devices: their labels, losses, accuracies and columns of devices.csv."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveInt

from edgefl.core.errors import InputError
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.readings.base import STD, AccuracyReading, Better, Reading, Values
from edgefl.results import metrics


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


class DeviceColumn(Reading):
    """Base of readings of one column of devices.csv over all participations; empty cells do not count."""

    column: str
    scale: float = 1.0  # the values are multiplied by it: -1 turns losses into gains
    status: str | None = None  # only rows with this status: received, evaluated
    plus: str | None = None  # another column to add: the set-up before a download
    per: str | None = None  # another column to divide by: joules over seconds are watts

    def values(self, run: FinishedRun) -> npt.NDArray[np.float64]:
        """Return the numbers of the column; raise `InputError` if there are none."""
        table = run.table("devices.csv")
        if self.column not in table:
            raise InputError(f"{run.folder}/devices.csv: has no column {self.column}")
        values = np.asarray(table[self.column], dtype=np.float64)
        if self.plus is not None:
            values = values + np.asarray(table[self.plus], dtype=np.float64)
        if self.per is not None:
            values = values / np.asarray(table[self.per], dtype=np.float64)
        if self.status is not None:
            values = values[np.asarray(table["status"]) == self.status]
        finite = values[np.isfinite(values)]
        if not len(finite):
            raise InputError(f"{run.folder}/devices.csv: the column {self.column} has no numbers")
        return self.scale * finite


class DevicePercentile(DeviceColumn):
    """A percentile of a column of devices.csv over all participations, such as coupling_loss_db."""

    percentile: Annotated[float, Field(ge=0, le=100)]

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return {"": float(np.percentile(self.values(run), self.percentile))}


class DeviceMean(DeviceColumn):
    """The mean of a column of devices.csv over all participations, such as download_s."""

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return {"": float(self.values(run).mean())}


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

    Shapley values add up to the gain of the round; there is no share of a gain of 0.
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
