"""The log of a testbed, and the table of counts of its networks: two CSV files that users write."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, cast, get_args

from edgefl.core.data_files import COMMENT, CsvRow, NotReadable, csv_rows, faults_in, number_in, utf8_lines
from edgefl.core.errors import InputError
from edgefl.core.packed_files import unpacked
from edgefl.core.section import nearest, shown
from edgefl.world.compute_law import USUAL_PASSES, ForwardCounts
from edgefl.world.held_out import NetworkKind

CREATOR = "edgefl calibrate"  # this name in a file says that edgefl has written it
PHASES = ("setup", "download", "train", "evaluate", "upload", "idle")
TEXTS = ("device", "phase", "network", "round")
NUMBERS = ("seconds", "bytes", "joules", "batch_size", "steps", "samples", "clients", "clock_hz")
REQUIRED = ("device", "phase", "seconds")
ABOVE_ZERO = ("seconds", "bytes", "batch_size", "steps", "samples", "clients", "clock_hz")
LARGEST = 1e18  # of any number in a log or a table of counts
BITS = 8  # of a byte
MOST_CHARACTERS = 100  # of a name
MOST_FAULTS = 20  # that an error lists

COUNTS = ("macs", "depthwise_macs", "matmul_macs", "conv1x1_macs", "convkxk_macs", "activation_bytes", "conv_groups")
LAYERS = "layers"  # an optional column: tables without it know no times of layers
KIND = "kind"  # an optional column: of samples, see `kind_of_network`


@dataclass(frozen=True)
class LogRow:
    """A measured phase of a device; None where a cell is empty."""

    line: int  # of the file
    device: str  # a type, or `type/unit`
    phase: str  # one of PHASES
    network: str
    round: str
    seconds: float
    bytes: float | None = None  # of the message
    joules: float | None = None
    batch_size: float | None = None
    steps: float | None = None
    samples: float | None = None  # in training those of all epochs
    clients: float | None = None  # exchanging messages at the same time
    clock_hz: float | None = None

    @property
    def type(self) -> str:
        """The type of the device: what stands before a slash."""
        return self.device.partition("/")[0]

    @property
    def power_w(self) -> float | None:
        """The mean power during the phase."""
        if self.joules is None:
            return None
        return self.joules / self.seconds

    @property
    def mbit_s(self) -> float:
        """The rate of a message."""
        return BITS * (self.bytes or 0.0) / self.seconds / 1e6


class NetworkCounts(NamedTuple):
    """What a network computes for a sample."""

    forward: ForwardCounts
    passes: float = USUAL_PASSES  # forward passes that training on the sample costs
    kind: NetworkKind | None = None  # by the samples that it takes; None: not known


def read_log(path: Path) -> list[LogRow]:
    """Return the rows of a log in the order of the file.

    Raises:
        InputError: it cannot be read, or is wrong.
    """
    faults: list[str] = []
    rows: list[LogRow] = []
    with faults_in(path):
        for row in csv_rows(path, REQUIRED, (*TEXTS, *NUMBERS)):
            try:
                rows.append(_log_row(row))
            except NotReadable as error:  # so that one fault does not hide those of other rows
                faults.append(f"{path}:{row.line}: {error}")
    if faults:
        raise InputError(*faults[:MOST_FAULTS])
    if not rows:
        raise InputError(f"{path}: has no rows: write one for each measured phase")
    return rows


def read_provenance(path: Path) -> dict[str, str]:
    """Return what the lines `# key: value` above a log's header say; `edgefl measure` writes them.

    Raises:
        InputError: the log cannot be read.
    """
    found: dict[str, str] = {}
    with faults_in(path), unpacked(path) as stream:
        for line in utf8_lines(stream):
            if not line.startswith(COMMENT):
                break
            key, colon, value = line.lstrip(COMMENT).partition(":")
            if colon:
                found[key.strip()] = value.strip()
    return found


def read_counts(path: Path) -> dict[str, NetworkCounts]:
    """Return what each network of a table computes, by its name.

    Raises:
        InputError: the table cannot be read, or is wrong.
    """
    found: dict[str, NetworkCounts] = {}
    with faults_in(path):
        for row in csv_rows(path, ("network", *COUNTS), (LAYERS, KIND)):
            name = row.cells["network"]
            if not name or name in found:
                what = f'"{name}" has a row already' if name else "is empty"
                raise NotReadable(f"network: {what}: write one row for each network", row.line)
            numbers: dict[str, float] = {}
            for column in (*COUNTS, LAYERS) if row.cells.get(LAYERS) else COUNTS:
                numbers[column] = number_in(row, column, least=0.0, most=LARGEST, remedy="write 0 if it has none")
            convolution = numbers["conv1x1_macs"] + numbers["convkxk_macs"]
            if not math.isclose(convolution + numbers["matmul_macs"], numbers["macs"], rel_tol=1e-6):
                raise NotReadable("macs: must be matmul_macs + conv1x1_macs + convkxk_macs", row.line)
            forward = ForwardCounts(
                convolution_macs=convolution,
                matmul_macs=numbers["matmul_macs"],
                grouped_macs=numbers["depthwise_macs"],
                activation_bytes=numbers["activation_bytes"],
                groups=numbers["conv_groups"],
                layers=numbers.get(LAYERS, 0.0),
            )
            kind = row.cells.get(KIND) or None
            if kind is not None and kind not in get_args(NetworkKind):
                raise NotReadable(f"{KIND}: must be one of {', '.join(get_args(NetworkKind))}, got {shown(kind)}")
            found[name] = NetworkCounts(forward, kind=cast("NetworkKind | None", kind))
    return found


def _log_row(row: CsvRow) -> LogRow:
    cells = {name: row.cells.get(name, "") for name in TEXTS}
    numbers = {name: _number(row, name) for name in NUMBERS}
    for name, text in cells.items():
        if not text.isprintable() or len(text) > MOST_CHARACTERS:
            raise NotReadable(f"{name}: must be at most {MOST_CHARACTERS} characters in one line: write a shorter name")
    if not cells["device"] or cells["device"].startswith("/"):
        raise NotReadable("device: has no type: write one, such as pi4 or pi4/a")
    phase = cells["phase"]
    if phase not in PHASES:
        text = f"must be one of {', '.join(PHASES)}, got {shown(phase)}"
        raise NotReadable(f"phase: {text}{nearest(phase, PHASES)}")
    seconds = numbers.pop("seconds")
    if seconds is None:
        raise NotReadable("seconds: is empty: write how long the phase took")
    if phase in {"download", "upload"} and numbers["bytes"] is None:
        raise NotReadable(f"bytes: is empty in a row of phase {phase}: write the bytes of the message")
    if phase in {"train", "evaluate"} and not cells["network"]:
        raise NotReadable(f"network: is empty in a row of phase {phase}: write the network's name")
    given = [name for name in ("batch_size", "steps", "samples") if numbers[name] is not None]
    if phase == "train" and len(given) < 2:
        raise NotReadable("steps: a row of phase train needs two of batch_size, steps and samples")
    _fill_steps(numbers)
    return LogRow(row.line, cells["device"], phase, cells["network"], cells["round"], seconds, **numbers)


def _fill_steps(numbers: dict[str, float | None]) -> None:
    """Fill in the batch size, or the number of steps, that follows from the other numbers of a row."""
    batch_size = numbers["batch_size"]
    steps = numbers["steps"]
    samples = numbers["samples"]
    if steps is None and samples is not None and batch_size is not None:
        numbers["steps"] = float(math.ceil(samples / batch_size))
    if batch_size is None and samples is not None and steps is not None:
        numbers["batch_size"] = samples / steps


def _number(row: CsvRow, name: str) -> float | None:
    if not row.cells.get(name):
        return None
    value = number_in(row, name)
    if name in ABOVE_ZERO and not 0 < value <= LARGEST:
        raise NotReadable(f"{name}: must be > 0 and at most {LARGEST:g}, got {row.cells[name]}")
    if not 0 <= value <= LARGEST:
        raise NotReadable(f"{name}: must be from 0 to {LARGEST:g}, got {row.cells[name]}")
    return value
