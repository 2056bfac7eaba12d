"""A calibration: the fit to all rows of a log, and how well fits to some rows predict the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from edgefl.calibration.comparison import Compared, PhaseErrors, compare, errors_by_phase, summary
from edgefl.calibration.fit import Counts, Fit, fit
from edgefl.calibration.fragment import FIRST_WORDS, TIMES_FILE, Calibrated, fragment, profiles
from edgefl.calibration.held_out_errors import held_out_errors
from edgefl.calibration.holdout import LeftOut, left_out
from edgefl.calibration.log import CREATOR, LogRow, NetworkCounts, read_counts, read_log, read_provenance
from edgefl.calibration.remarks import remarks
from edgefl.core.errors import InputError
from edgefl.core.files import write_together
from edgefl.core.own_files import Mark, begins_with, check_writable, first_line_has
from edgefl.core.section import nearest
from edgefl.results.csv_format import csv_bytes

SCENARIO_FILE = "scenario.yaml"
TABLE_FILE = "calibration.csv"
PICTURE_FILE = "calibration.svg"


def _is_picture(head: bytes) -> bool:
    return head.startswith(b"<?xml") and CREATOR.encode() in head


MARKS: dict[str, Mark] = {
    SCENARIO_FILE: begins_with(FIRST_WORDS.encode()),
    TABLE_FILE: first_line_has("network", "round", "phase", "quantity", "predicted", "measured", "error", "left_out"),
    TIMES_FILE: begins_with(b"device,network,batch_size,step_s"),
    PICTURE_FILE: _is_picture,
}


@dataclass(frozen=True)
class Calibration:
    """The results of a log."""

    fitted: Fit  # to all rows
    compared: Sequence[Compared]  # rows left out by a fit without them
    errors: Sequence[PhaseErrors]
    summary: Sequence[str]  # of the errors, in lines
    remarks: Sequence[str]  # unknowns of the log
    scenario: str  # the sections as YAML
    profiles: Mapping[str, str]  # of each type of device as YAML, by the names of their files


def calibrate(
    log: Path, counts: Path | None = None, hold_out: str | None = None, models: Mapping[str, str] | None = None
) -> Calibration:
    """Return the sections of a scenario that a log gives, with the errors on rows left out of a fit.

    Args:
        log: the log.
        counts: a table of what its networks compute.
        hold_out: the rows left out of the fit whose errors are reported (see `holdout.left_out`).
        models: files or names of scenarios whose models are networks of the log, by their names in the log; without
            these and without a table, times hold only for the log's networks.

    Raises:
        InputError: a file cannot be read or is wrong, or `hold_out` or `models` name unknown networks.
    """
    rows = read_log(log)
    known: dict[str, NetworkCounts] | None = None
    if counts is not None or models:
        known = _known(log, rows, counts, models or {})
    fitted = fit(rows, known)
    folds = left_out(rows, hold_out, by_network=known is not None)
    compared = _compared(rows, known, fitted, folds)
    errors = errors_by_phase(compared)
    lines = summary(errors, [out.told for out in folds])
    told = remarks(fitted)
    kinds = {network: counts.kind for network, counts in (known or {}).items() if counts.kind is not None}
    held_out = held_out_errors(compared, kinds, law=known is not None)
    about = Calibrated(fitted, held_out, log.name, lines, told, read_provenance(log))
    return Calibration(fitted, compared, errors, lines, told, fragment(about), profiles(about))


def _compared(rows: Sequence[LogRow], counts: Counts | None, fitted: Fit, folds: Sequence[LeftOut]) -> list[Compared]:
    """Return all numbers: those of rows that are left out by a fit without them, the others by the fit to all rows."""
    anywhere = frozenset[int]().union(*(out.lines for out in folds))
    found = [number for number in compare(rows, counts, fitted, anywhere) if not number.left_out]
    for out in folds:
        part = fit([row for row in rows if row.line not in out.lines], counts)
        found += [number for number in compare(rows, counts, part, out.lines) if number.left_out]
    return sorted(found, key=lambda number: number.row.line)


def _known(log: Path, rows: Sequence[LogRow], path: Path | None, models: Mapping[str, str]) -> dict[str, NetworkCounts]:
    """Return what all networks of a log compute, by a table and by models; each must be in exactly one of these."""
    found = read_counts(path) if path else {}
    lines = {row.network: row.line for row in reversed(rows) if row.phase in {"train", "evaluate"}}
    for network in models:
        if network in found:
            raise InputError(f'--model {network}: "{network}" has a row in {path} already: leave one of them out')
        if network not in lines:
            raise InputError(f'--model {network}: {log} has no network "{network}"{nearest(network, lines)}')
    for network, line in sorted(lines.items(), key=itemgetter(1)):
        if network not in found and network not in models:
            remedy = f"add --model {network}=SCENARIO.yaml"
            if path:
                remedy = f"{remedy}, or a row to {path}"
            raise InputError(f'{log}:{line}: network: "{network}" has no counts: {remedy}')
    if models:
        from edgefl.calibration.models import counts_of_models  # late, as few logs need what it imports

        found |= counts_of_models(models)
    return found


def write(calibration: Calibration, folder: Path, *, overwrite: bool, with_picture: bool) -> list[Path]:
    """Write a calibration's files, and return them.

    Args:
        calibration: the calibration.
        folder: of the files.
        overwrite: replace existing files.
        with_picture: draw it, too, which needs Matplotlib.

    Raises:
        InputError: a file exists and may not be replaced, or cannot be written.
    """
    contents = {SCENARIO_FILE: calibration.scenario.encode(), TABLE_FILE: csv_bytes(_table(calibration.compared))}
    contents |= {name: text.encode() for name, text in calibration.profiles.items()}
    times = _times(calibration.fitted)
    if times["device"]:
        contents[TIMES_FILE] = csv_bytes(times)
    if with_picture and calibration.compared:
        from edgefl.calibration.picture import drawn

        contents[PICTURE_FILE] = drawn(calibration.compared)
    marks = {name: MARKS.get(name, MARKS[SCENARIO_FILE]) for name in contents}
    check_writable(folder, marks, overwrite=overwrite)
    return write_together(folder, contents)


def _table(compared: Sequence[Compared]) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {}
    for name in ("line", "device", "network", "round", "phase"):
        columns[name] = [getattr(number.row, name) for number in compared]
    for name in ("quantity", "predicted", "measured", "error", "left_out"):
        columns[name] = [getattr(number, name) for number in compared]
    return columns


def _times(fitted: Fit) -> dict[str, list[object]]:
    """Return the measured seconds of steps as columns, as `devices.compute.measured` reads them."""
    rows = [
        (device.name, network, batch_size, step_s)
        for device in fitted.types.values()
        if device.measured is not None
        for (network, batch_size), step_s in device.measured.table.items()
    ]
    names = ("device", "network", "batch_size", "step_s")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}
