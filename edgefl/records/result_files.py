"""The files that a result folder may have, besides the tables of measures.

The writer, the readers, digests, pages and the guard of bytes read this list, and declare no file themselves. To add a
table of what happens in the world: its columns in `columns.py`, an entry here, and a statement that gives its rows to
the ledger (`Ledger.enter_rows`). What is measured of models and updates is a measure (`edgefl.learning.measures`),
which declares its table itself; `edgefl.results.result_tables` joins both.
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


DEVICE_ACCURACY = "device_accuracy.csv"
LABELS = "labels.csv"
TRACKS = "tracks.csv"

LABELS_BY_ROUND = ResultFile(
    "labels_by_round.csv",
    "how many samples of each label participants held in each round, where `report.labels_by_round` asks for it",
    columns=columns.LABELS_BY_ROUND_COLUMNS,
)

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
        DEVICE_ACCURACY,
        "accuracy of the final model on each device's own samples (`docs/evaluation.md`)",
        columns=columns.DEVICE_ACCURACY_COLUMNS,
    ),
    ResultFile(LABELS, "how many samples of each label each device holds", columns=columns.LABEL_COLUMNS),
    LABELS_BY_ROUND,
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
