"""The files of a result folder: one list, which the writer, the readers, digests, pages and the guard of bytes read.

To add a table: its columns in `columns.py`, an entry here, and a statement that gives its rows to the ledger
(`Ledger.enter_rows`). Nothing else is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgefl.records import columns
from edgefl.records.columns import ResultColumn


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file of a result folder."""

    name: str
    meaning: str  # Markdown
    digested: bool = True  # the same scenario gives the same bytes again, which the manifest's digests are about
    columns: tuple[ResultColumn, ...] = ()  # of a table
    by_rows: bool = False  # the ledger keeps its rows under its name, and it is written where there are any


CONTRIBUTIONS = "contributions.csv"
DEVICE_LOSSES = "device_losses.csv"
DEVICE_ACCURACY = "device_accuracy.csv"
PREDICTIONS = "predictions.csv"
LABELS_BY_ROUND = "labels_by_round.csv"
LABELS = "labels.csv"
TRACKS = "tracks.csv"

RESULT_FILES = (
    ResultFile(
        "scenario.yaml", "the complete scenario with every default filled in; running it again gives the same bytes"
    ),
    ResultFile(
        "manifest.json",
        "versions, platform, device, git revision, start, wall time, status, SHA-256 digests",
        digested=False,
    ),
    ResultFile(
        "rounds.csv",
        "one row for each global round: virtual time, energy, bytes, losses, accuracy",
        columns=columns.ROUND_COLUMNS,
    ),
    ResultFile(
        "devices.csv",
        "one row for each participant and round: position, path loss, durations, energies, status",
        columns=columns.DEVICE_COLUMNS,
    ),
    ResultFile(
        CONTRIBUTIONS,
        "what each participant added, where `report.contributions` asks for it (`docs/evaluation.md`)",
        columns=columns.CONTRIBUTION_COLUMNS,
        by_rows=True,
    ),
    ResultFile(
        DEVICE_LOSSES,
        "losses before and after local training, where `report.device_losses` asks for them",
        columns=columns.DEVICE_LOSS_COLUMNS,
        by_rows=True,
    ),
    ResultFile(
        DEVICE_ACCURACY,
        "accuracy of the final model on each device's own samples (`docs/evaluation.md`)",
        columns=columns.DEVICE_ACCURACY_COLUMNS,
    ),
    ResultFile(
        PREDICTIONS,
        "which classes the model predicts in some rounds, where `report.predictions` names them",
        columns=columns.PREDICTION_COLUMNS,
        by_rows=True,
    ),
    ResultFile(LABELS, "how many samples of each label each device holds", columns=columns.LABEL_COLUMNS),
    ResultFile(
        LABELS_BY_ROUND,
        "the same in each round for its participants, where `report.labels_by_round` asks for it",
        columns=columns.LABELS_BY_ROUND_COLUMNS,
        by_rows=True,
    ),
    ResultFile(
        TRACKS, "where up to 30 devices moved, where any device moves (`docs/report.md`)", columns=columns.TRACK_COLUMNS
    ),
    ResultFile("events.parquet", "the event log", columns=columns.EVENT_COLUMNS),
    ResultFile(
        "summary.json",
        "totals, costs of reaching the targets, last tests (`docs/metrics.md`), fairness, wall-clock times",
        digested=False,
    ),
    ResultFile(
        "parameters.npy",
        "the final global model, flat float32; `model: {init: {kind: file, path: ...}}` starts from it",
    ),
    ResultFile(
        "model.safetensors",
        "the same model: tensors by name, with the statistics of batch normalisation (`docs/python.md`)",
    ),
    ResultFile(
        "what_if.csv",
        "costs with other values of some keys, where they were asked for (`docs/what-if.md`)",
        digested=False,
    ),
    ResultFile("report.html", "one self-contained page (`docs/report.md`)", digested=False),
)
COLUMNS_OF = {file.name: file.columns for file in RESULT_FILES if file.columns}
BY_ROWS = tuple(file.name for file in RESULT_FILES if file.by_rows)
