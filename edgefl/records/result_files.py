"""The files of a result folder, besides the tables of measures.

The writer, the readers, digests, pages and the guard of bytes all read this list. To add a table of events in the
world, declare its columns in `columns.csv`, add an entry here, and give its rows to `Ledger.enter_rows`. A measure of
models and updates (`edgefl.learning.measures`) declares its own table; `edgefl.results.result_tables` joins both.
"""

from dataclasses import dataclass

from edgefl.records.columns import COLUMNS, ResultColumn


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file of a result folder."""

    name: str
    meaning: str  # Markdown
    digested: bool = True  # the same scenario gives the same bytes, and the manifest has their digest
    columns: tuple[ResultColumn, ...] = ()  # of a table


DEVICE_ACCURACY = "device_accuracy.csv"
LABELS = "labels.csv"
TRACKS = "tracks.csv"

LABELS_BY_ROUND = ResultFile(
    "labels_by_round.csv",
    "how many samples of each label participants held in each round, with `report.labels_by_round`",
    columns=COLUMNS["labels_by_round"],
)

CELL_LOAD = ResultFile(
    "cell_load.csv",
    "how much of its band each cell used in each round, of several cells (`docs/metrics.md`)",
    columns=COLUMNS["cell_load"],
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
        columns=COLUMNS["rounds"],
    ),
    ResultFile(
        "devices.csv",
        "one row for each participant and round: position, path loss, durations, energies, status",
        columns=COLUMNS["devices"],
    ),
    ResultFile(
        DEVICE_ACCURACY,
        "accuracy of the final model on each device's own samples (`docs/evaluation.md`)",
        columns=COLUMNS["device_accuracy"],
    ),
    ResultFile(LABELS, "how many samples of each label each device holds", columns=COLUMNS["labels"]),
    LABELS_BY_ROUND,
    CELL_LOAD,
    ResultFile(TRACKS, "the tracks of up to 30 devices, if devices move (`docs/report.md`)", columns=COLUMNS["tracks"]),
    ResultFile("events.parquet", "the event log", columns=COLUMNS["events"]),
    ResultFile(
        "summary.json",
        "totals, costs of reaching the targets, last tests (`docs/metrics.md`), fairness, wall-clock times",
        digested=False,
    ),
    ResultFile(
        "model.safetensors",
        "the final global model: tensors by name, with the statistics of batch normalisation (`docs/python.md`); "
        "`model: {init: {kind: file, path: ...}}` starts from it",
    ),
    ResultFile(
        "best_model.safetensors",
        "the best evaluated model in the same format, with `report.best_model` (`docs/evaluation.md`)",
    ),
    ResultFile(
        "what_if.csv", "costs with other values of some keys, if any were priced (`docs/what-if.md`)", digested=False
    ),
    ResultFile("report.html", "one self-contained page (`docs/report.md`)", digested=False),
)
