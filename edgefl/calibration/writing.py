"""Logs and tables of counts that a program writes, in the form that `edgefl.calibration.log` reads."""

from collections.abc import Mapping, Sequence
from os import SEEK_END
from pathlib import Path

from edgefl.calibration.log import COUNTS, KIND, LAYERS, NUMBERS, TEXTS, LogRow, NetworkCounts
from edgefl.core.data_files import COMMENT
from edgefl.results.csv_format import csv_bytes


def log_bytes(rows: Sequence[LogRow], provenance: Mapping[str, str]) -> bytes:
    """Return a log, above its header a line `# key: value` for each entry of its provenance."""
    columns = {name: [getattr(row, name) for row in rows] for name in (*TEXTS, *NUMBERS)}
    return _heading(provenance) + csv_bytes(columns)


def counts_bytes(counts: Mapping[str, NetworkCounts], provenance: Mapping[str, str]) -> bytes:
    """Return a table of counts, headed by its provenance; convolutions of all kernels are together."""
    columns: dict[str, list[object]] = {name: [] for name in ("network", *COUNTS, LAYERS, KIND)}
    for network, (forward, _, kind) in counts.items():
        row: dict[str, object] = {
            **forward._asdict(),
            "network": network,
            KIND: kind,
            "macs": forward.convolution_macs + forward.matmul_macs,
            "depthwise_macs": forward.grouped_macs,
            "conv1x1_macs": 0.0,
            "convkxk_macs": forward.convolution_macs,
            "conv_groups": forward.groups,
        }
        for name, cells in columns.items():
            cells.append(row[name])
    return _heading(provenance) + csv_bytes(columns)


def _heading(provenance: Mapping[str, str]) -> bytes:
    lines = [f"{COMMENT} {key}: {' '.join(value.split())}\n" for key, value in provenance.items()]
    return "".join(lines).encode()


def append(path: Path, rows: Sequence[LogRow]) -> None:
    """Add rows to a log with these columns, which several programs may do at the same time; make it if it is not there.

    Raises:
        OSError: it cannot be written.
    """
    import fcntl  # late, as Windows has none

    header, _, body = log_bytes(rows, {}).partition(b"\n")
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        if file.seek(0, SEEK_END) == 0:
            file.write(header + b"\n")
        file.write(body)
