"""Logs and tables of counts that a program writes, in the form that `edgefl.calibration.log` reads."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from edgefl.calibration.log import COUNTS, LAYERS, NUMBERS, TEXTS, LogRow, NetworkCounts
from edgefl.core.data_files import COMMENT
from edgefl.core.errors import InputError
from edgefl.results.csv_format import csv_bytes
from edgefl.world.compute_law import ForwardCounts

COLUMNS = (*TEXTS, *NUMBERS)


def log_bytes(rows: Sequence[LogRow], provenance: Mapping[str, str]) -> bytes:
    """Return a log, above its header a line `# key: value` for each entry of its provenance."""
    columns = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    return _heading(provenance) + csv_bytes(columns)


def counts_bytes(counts: Mapping[str, NetworkCounts], provenance: Mapping[str, str]) -> bytes:
    """Return a table of counts, headed by its provenance; convolutions of all kernels are together."""
    columns: dict[str, list[object]] = {"network": list(counts)}
    columns |= {name: [_count(one.forward, name) for one in counts.values()] for name in (*COUNTS, LAYERS)}
    return _heading(provenance) + csv_bytes(columns)


def _count(one: ForwardCounts, column: str) -> float:
    of_column = {
        "macs": one.convolution_macs + one.matmul_macs,
        "depthwise_macs": one.grouped_macs,
        "conv1x1_macs": 0.0,
        "convkxk_macs": one.convolution_macs,
        "conv_groups": one.groups,
    }
    if column in of_column:
        return of_column[column]
    return float(getattr(one, column))


def _heading(provenance: Mapping[str, str]) -> bytes:
    lines = [f"{COMMENT} {key}: {' '.join(value.split())}\n" for key, value in provenance.items()]
    return "".join(lines).encode()


def append(path: Path, rows: Sequence[LogRow]) -> None:
    """Add rows to a log, which several programs may do at the same time; make it if it does not exist.

    Raises:
        InputError: it cannot be written, or has other columns.
    """
    import fcntl  # late, as Windows has none

    text = csv_bytes({name: [getattr(row, name) for row in rows] for name in COLUMNS})
    header, _, body = text.partition(b"\n")
    try:
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the lock ends with the file
            file.seek(0)
            present = [line for line in file if not line.startswith(COMMENT.encode())][:1]
            if present and present[0].rstrip() != header:
                raise InputError(f"{path}: has other columns than {header.decode()}: choose another file")
            file.write(body if present else text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
