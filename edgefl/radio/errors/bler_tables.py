"""Tables of block error rates, as link-level simulators write them."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from channel import link_adaptation
from edgefl.core.arrays import Floats
from edgefl.core.data_files import CsvRow, NotReadable, csv_rows, faults_in, number_in

COLUMNS = ("mcs", "snr_db", "bler")
OPTIONAL = ("blocks", "block_bits")  # how many were simulated for a point, and their size
LARGEST_DB = 200.0
# A simulation of N blocks misses an error rate p by about (p (1 - p) / N)^(1/2).
LEAST_BLOCKS = 100  # N where the table does not give it
STANDARD_ERRORS = 3.0
ROUNDING = 1e-9
SINGLE_PRECISION = 1e-6  # an error rate that is so little beyond 0 or 1 is rounded
MOST_DB = 50.0  # no scheme of a standard needs more
SURE_LOSS = 0.99  # a curve that begins with less lets blocks through at any lower SNR


class Curves(NamedTuple):
    """The curves of a file that link adaptation can use, and warnings about the others."""

    of_schemes: Mapping[int, Floats]  # error rates [grid], by index of the scheme
    warnings: tuple[str, ...]


class Curve(NamedTuple):
    """The error rates [p] of one scheme, which never rise, at ascending SNRs [p] in dB."""

    snr_db: Floats
    error_rates: Floats


class Point(NamedTuple):
    """A row of the file."""

    line: int
    scheme: int
    snr_db: float
    error_rate: float
    blocks: float  # simulated
    block_bits: str  # the cell; empty: unknown
    others: Mapping[str, str]  # the cells of the other columns


def read_curves(path: Path, schemes: int, target: float) -> Curves:
    """Return the curves of a file that fall from above the target to it or below.

    Args:
        path: a CSV file.
        schemes: number of schemes in `radio.rate.table`.
        target: error rate at which a scheme is chosen, in (0, 1).

    Raises:
        InputError: the file cannot be read, is wrong, or has no such curve.
    """
    with faults_in(path):
        return _read(path, path.stat().st_mtime_ns, schemes, target)


@lru_cache(maxsize=8)
def _read(path: Path, changed_ns: int, schemes: int, target: float) -> Curves:
    """Return the curves of a file, which is read again if it has changed."""
    points: dict[int, list[Point]] = {}
    for row in csv_rows(path, COLUMNS, OPTIONAL, {}):
        point = _point(row, schemes)
        points.setdefault(point.scheme, []).append(point)
    if not points:
        raise NotReadable("has no curve: write lines such as 0,-5.5,0.1")
    curves = {scheme: _curve(points[scheme]) for scheme in sorted(points)}
    warnings = []
    never = [scheme for scheme, curve in curves.items() if curve.error_rates[-1] > target]
    if never:
        ends = _listed(curves, never, -1)
        warnings.append(f"left out, as the error rate never falls to the target {target:g}: {ends}")
    always = [scheme for scheme, curve in curves.items() if curve.error_rates[0] <= target]
    if always:
        begins = _listed(curves, always, 0)
        warnings.append(f"left out, as the first error rate is not above the target {target:g}: {begins}")
    usable = [scheme for scheme in curves if scheme not in (*never, *always)]
    if not usable:
        text = f"no curve falls from above the target {target:g} to it or below"
        raise NotReadable(f"{text}: {_listed(curves, never, -1) or _listed(curves, always, 0)}")
    lowest = curves[usable[0]]  # it is always tried
    if lowest.error_rates[0] < SURE_LOSS:
        text = f"loses {lowest.error_rates[0]:g} of all blocks at {lowest.snr_db[0]:g} dB and at any lower SNR"
        warnings.append(f"mcs {usable[0]} {text}: add a point with an error rate of 1")
    needs_db = {
        scheme: float(curve.snr_db[np.argmax(curve.error_rates <= target)])
        for scheme, curve in curves.items()
        if scheme in usable
    }
    most = max(needs_db, key=lambda scheme: needs_db[scheme])
    if needs_db[most] > MOST_DB:
        warnings.append(f"mcs {most} needs {needs_db[most]:g} dB: write 10 log10(SNR) if the file has ratios")
    tabulated = {
        scheme: link_adaptation.tabulated(curves[scheme].snr_db, curves[scheme].error_rates) for scheme in usable
    }
    return Curves(tabulated, tuple(warnings))


def _listed(curves: Mapping[int, Curve], schemes: Sequence[int], place: int) -> str:
    """Return schemes with their error rate at the first or the last SNR."""
    ends = [(scheme, curves[scheme].error_rates[place], curves[scheme].snr_db[place]) for scheme in schemes]
    return ", ".join(f"mcs {scheme} ({rate:.3g} at {snr_db:g} dB)" for scheme, rate, snr_db in ends)


def _curve(points: list[Point]) -> Curve:
    """Return the curve of one scheme: its points as they are, or their isotonic regression where they rise.

    Raises:
        NotReadable: they rise, or differ at one SNR, by more than the noise of a simulation.
    """
    _check_block_sizes(points)
    points = sorted(points, key=lambda point: point.snr_db)
    found = np.array([point.error_rate for point in points])
    blocks = np.array([point.blocks for point in points])
    snr_db, place = np.unique([point.snr_db for point in points], return_inverse=True)
    rates = found
    if snr_db.size < found.size:  # points of one SNR count together
        rates = np.bincount(place, weights=found * blocks) / np.bincount(place, weights=blocks)
    if (np.diff(rates) > 0).any():
        from scipy.optimize import isotonic_regression  # its import takes longer than reading a file

        together = np.bincount(place, weights=blocks)
        rates = np.clip(isotonic_regression(rates, weights=together, increasing=False).x, 0.0, 1.0)
    expected = rates[place]
    excess = np.abs(found - expected) - STANDARD_ERRORS * np.sqrt(expected * (1.0 - expected) / blocks)
    # Of a pair that is equally far off, the later point is the one that rises.
    worst = len(points) - 1 - int(excess[::-1].argmax())
    if excess[worst] > ROUNDING:
        raise _contradicts(points, worst, expected[worst])
    return Curve(snr_db, rates)


def _contradicts(points: Sequence[Point], worst: int, expected: float) -> NotReadable:
    """Return the error of the point `worst`, which is far from the curve through all points of its scheme."""
    point = points[worst]
    twins = [other for other in points if other.snr_db == point.snr_db and other.error_rate != point.error_rate]
    text = f"mcs {point.scheme} has an error rate of {point.error_rate:g} at {point.snr_db:g} dB"
    if twins:
        text = f"{text}, and {twins[0].error_rate:g} in line {twins[0].line}"
        differing = [name for name, cell in point.others.items() if cell != twins[0].others[name]]
        remedy = "keep one of them"
        if differing:
            remedy = f"keep the rows of one value of {' and '.join(differing)}"
        return NotReadable(f"{text}: {remedy}", point.line)
    text = f"{text}, and a curve that falls through all its points {expected:.3g}"
    remedy = f"the noise of {point.blocks:g} simulated blocks explains less: are columns or signs exchanged?"
    return NotReadable(f"{text}: {remedy}", point.line)


def _check_block_sizes(points: Sequence[Point]) -> None:
    """Check that the points of a scheme are of one size of blocks, if the file gives it."""
    for point in points:
        if point.block_bits != points[0].block_bits:
            text = f"mcs {point.scheme} has blocks of {points[0].block_bits} and of {point.block_bits} bits"
            raise NotReadable(f"{text}: keep the rows of one size", point.line)


def _point(row: CsvRow, schemes: int) -> Point:
    """Return a row of a file."""
    index = number_in(row, "mcs")
    snr_db = number_in(row, "snr_db", least=-LARGEST_DB, most=LARGEST_DB)
    error_rate = number_in(row, "bler")
    if not (0 <= index < schemes and index.is_integer()):
        text = f"mcs must be an index of radio.rate.table, from 0 to {schemes - 1}, got {row.cells['mcs']}"
        raise NotReadable(text, row.line)
    if not -SINGLE_PRECISION <= error_rate <= 1.0 + SINGLE_PRECISION:
        text = f"bler must lie from 0 to 1, got {row.cells['bler']}"
        if 1.0 < error_rate <= 100.0:
            text = f"{text}: divide percent by 100"
        raise NotReadable(text, row.line)
    names = {*row.origins, *(origin.name for origin in row.origins.values())}
    return Point(
        row.line,
        int(index),
        snr_db,
        min(max(error_rate, 0.0), 1.0),
        number_in(row, "blocks", least=1.0) if "blocks" in row.cells else LEAST_BLOCKS,
        row.cells.get("block_bits", ""),
        {name: cell for name, cell in row.cells.items() if name not in names},
    )
