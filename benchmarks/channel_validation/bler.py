"""Block error rates beside the link-level tables that Sionna publishes.

The table `sionna_bler.csv` was recorded by `tests/channel/record_sionna_bler.py`, and
its first line has version and licence.

Neighbouring points of Sionna's tables are 1.6 dB or 1.8 dB apart, more than most curves take to fall, so widths are not
read off single curves: the distances of all points from the curves, over where on the curve they lie, tell them.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from channel import mcs
from channel._arrays import Floats
from channel.link_adaptation import nr_block_error_rate
from channel.units import db_to_linear
from channel_validation.report import Check, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = Path(__file__).with_name("sionna_bler.csv")
SHORT_BITS = 100  # of the shortest blocks, of which as few as 15 symbols are sent

GRID_DB = np.linspace(-10.0, 30.0, 8_001)


class Points(NamedTuple):
    """Points [n] of link-level curves."""

    efficiency_bps_hz: Floats
    bits: Floats  # of the code block
    snr_db: Floats
    error_rate: Floats


def points() -> Points:
    """Return the recorded points."""
    with TABLE.open(encoding="utf-8", newline="") as table:
        next(table)  # where it comes from
        rows = list(csv.DictReader(table))
    schemes = [mcs.TABLES[row["table"]][int(row["mcs"])] for row in rows]
    efficiency = np.array([order * rate / 1024.0 for order, rate in schemes])
    bits, snr_db, error_rate = (np.array([float(row[name]) for row in rows]) for name in ("bits", "snr_db", "bler"))
    return Points(efficiency, bits, snr_db, error_rate)


def distance_db(of: Points) -> Floats:
    """Return how much more SNR [n] the library needs for the error rates of the points [dB]."""
    symbols = of.bits / of.efficiency_bps_hz
    curves = nr_block_error_rate(of.efficiency_bps_hz[:, None], db_to_linear(GRID_DB), symbols[:, None])
    needed = [np.interp(-rate, -curve, GRID_DB) for curve, rate in zip(curves, of.error_rate, strict=True)]
    return np.array(needed) - of.snr_db


def width_error_db(of: Points) -> float:
    """Return by how much more of the SNR [dB] the library's curves take to fall from 90 % to 10 %, on average."""
    from scipy.special import ndtri

    # A curve too wide lies to the left of the points high on it and to the right of those low on it.
    slope = np.polyfit(-ndtri(of.error_rate), distance_db(of), 1)[0]
    return float(slope * 2 * ndtri(0.9))


def checks() -> list[Check]:
    """Return how far the library's curves are from the recorded points, by the length of the code block."""
    found = points()
    away_db = distance_db(found)
    checks = []
    for bits in np.unique(found.bits):
        rows = found.bits == bits
        name = f"{bits:g} bits, {rows.sum()} points"
        wide_db = 0.4 if bits == SHORT_BITS else 0.2
        largest_db = 1.2 if bits == SHORT_BITS else 0.6
        of = Points(*(column[rows] for column in found))
        for what, measured_db, tolerance_db in (
            ("mean distance", away_db[rows].mean(), 0.05),
            ("root mean square distance", np.sqrt((away_db[rows] ** 2).mean()), wide_db),
            ("largest distance", np.abs(away_db[rows]).max(), largest_db),
            ("fall from 90 % to 10 % wider by", width_error_db(of), 0.2),
        ):
            checks.append(Check(f"{name}: {what} [dB]", round(float(measured_db), 2), 0.0, tolerance_db))
    return checks


def figures() -> dict[str, Figure]:
    """Return the distances over the efficiency of the schemes."""
    found = points()
    away_db = distance_db(found)
    drawing, axes = figure(
        "Block error rates beside Sionna", "spectral efficiency [bit/s/Hz]", "more SNR than in Sionna's tables [dB]"
    )
    for bits, marker in zip(np.unique(found.bits), "x^so", strict=True):
        rows = found.bits == bits
        axes.plot(found.efficiency_bps_hz[rows], away_db[rows], marker, fillstyle="none", label=f"{bits:g} bits")
    axes.axhline(0.0, color="k", lw=0.8)
    axes.legend(title="code block")
    return {"bler-sionna": drawing}
