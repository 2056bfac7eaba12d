"""Block errors of modulation and coding schemes, with HARQ and outer-loop link adaptation."""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from channel import link_adaptation, mcs, units
from channel.link_adaptation import LinkAdaptation
from edgefl.core.arrays import Floats
from edgefl.core.data_files import CsvRow, NotReadable, csv_rows, faults_in
from edgefl.core.errors import InputError
from edgefl.core.paths import UserFile
from edgefl.core.section import shown
from edgefl.radio.errors.base import PacketErrors
from edgefl.radio.rates import Rate
from edgefl.radio.rates.mcs import McsRate

COLUMNS = ("mcs", "snr_db", "bler")
LARGEST_DB = 200.0


class Bler(PacketErrors):
    """Block errors by curves of each scheme, HARQ by chase combining, outer-loop link adaptation to a target."""

    target: Annotated[float, Field(gt=0, lt=1)] = 0.1  # Share of first transmissions that are lost.
    step_db: Annotated[float, Field(gt=0, le=10)] = 0.5  # Step by which an error lowers the outer loop's offset.
    transmissions: Annotated[int, Field(ge=1, le=16)] = 4  # Most transmissions of a block, the first one included.
    report_delay_slots: Annotated[int, Field(ge=0, le=1000)] = 4  # Age in slots of the SNR that the transmitter knows.
    # Length of code words in the formula; longer ones have steeper curves.
    codeword_symbols: Annotated[int, Field(ge=10, le=10**6)] = 1000
    # Loss of the receiver, which moves the formula's curves.
    implementation_loss_db: Annotated[float, Field(ge=0, le=30)] = 0.0
    curves: UserFile | None = None  # CSV file of mcs,snr_db,bler in place of the formula.

    def refusal(self, rate: Rate, transfer: str) -> tuple[str, str] | None:
        """See PacketErrors."""
        if not isinstance(rate, McsRate):
            return "rate", "block errors belong to schemes: set it to mcs, or leave radio.errors out"
        if transfer != "slots":
            return "transfer", "fast does not know how long payloads take under radio.errors: bler: write slots"
        if self.curves is None:  # the formula needs SciPy, and no check
            return None
        try:
            self.link_adaptation(rate)
        except InputError as error:
            return "errors", f"curves: {error}"
        return None

    def link_adaptation(self, rate: Rate) -> LinkAdaptation:
        """See PacketErrors.

        Raises:
            InputError: the file of curves cannot be read, or is wrong.
        """
        if not isinstance(rate, McsRate):
            raise TypeError("block errors belong to schemes")
        schemes = mcs.TABLES[rate.table]
        efficiencies = np.array([order * code_rate / 1024.0 for order, code_rate in schemes])
        if self.curves is None:
            snr = units.db_to_linear(link_adaptation.grid_db())
            rates = link_adaptation.nr_block_error_rate(
                efficiencies[:, None], snr, self.codeword_symbols, self.implementation_loss_db
            )
        else:
            found = self._read(len(schemes))
            efficiencies = efficiencies[sorted(found)]
            rates = np.stack([found[index] for index in sorted(found)])
        order = np.argsort(efficiencies)  # the tables of the standard are not quite ascending
        return link_adaptation.LinkAdaptation(
            efficiencies[order],
            np.ascontiguousarray(rates[order]),
            self.target,
            self.step_db,
            self.transmissions,
            self.report_delay_slots,
        )

    def _read(self, schemes: int) -> dict[int, Floats]:
        """Return the curve of each scheme that the file has, by index."""
        path = Path(self.curves or "")
        points: dict[int, list[tuple[float, float]]] = {}
        with faults_in(path):
            for row in csv_rows(path, COLUMNS):
                index, snr_db, error_rate = _point(row, schemes)
                curve = points.setdefault(index, [])
                if curve and snr_db <= curve[-1][0]:
                    text = f"snr_db must grow along a curve, got {snr_db:g} after {curve[-1][0]:g}"
                    raise NotReadable(text, row.line)
                if curve and error_rate > curve[-1][1]:
                    text = f"bler must not grow with snr_db, got {error_rate:g} after {curve[-1][1]:g}"
                    raise NotReadable(text, row.line)
                curve.append((snr_db, error_rate))
        if not points:
            raise InputError(f"{path}: has no curve: write lines such as 0,-5.5,0.1")
        for index, curve in points.items():
            if curve[0][1] <= self.target or curve[-1][1] > self.target:
                text = f"the curve of mcs {index} must fall from above the target {self.target:g} to it or below"
                raise InputError(f"{path}: {text}, and goes from {curve[0][1]:g} to {curve[-1][1]:g}")
        return {
            index: link_adaptation.tabulated([db for db, _ in curve], [rate for _, rate in curve])
            for index, curve in points.items()
        }


def _point(row: CsvRow, schemes: int) -> tuple[int, float, float]:
    """Return the scheme, the SNR [dB] and the block error rate of a row of a file of curves."""
    cells = [row.cells[name] for name in COLUMNS]
    try:
        index, snr_db, error_rate = int(cells[0]), float(cells[1]), float(cells[2])
    except ValueError:
        raise NotReadable(f"must be three numbers such as 0,-5.5,0.1, got {shown(','.join(cells))}", row.line) from None
    if not 0 <= index < schemes:
        text = f"mcs must be an index of radio.rate.table, from 0 to {schemes - 1}, got {index}"
        raise NotReadable(text, row.line)
    if not abs(snr_db) <= LARGEST_DB:
        raise NotReadable(f"snr_db must lie within {LARGEST_DB:g} dB, got {snr_db:g}", row.line)
    if not 0.0 <= error_rate <= 1.0:
        raise NotReadable(f"bler must lie from 0 to 1, got {error_rate:g}", row.line)
    return index, snr_db, error_rate
