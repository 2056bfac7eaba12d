"""Block errors of modulation and coding schemes, with HARQ and outer-loop link adaptation."""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from channel import link_adaptation, mcs, units
from channel.link_adaptation import LinkAdaptation
from edgefl.core.errors import InputError
from edgefl.core.paths import UserFile
from edgefl.radio.errors.base import PacketErrors
from edgefl.radio.errors.bler_tables import Curves, read_curves
from edgefl.radio.rates import Rate
from edgefl.radio.rates.mcs import McsRate


class Bler(PacketErrors):
    """Block errors by curves of each scheme, HARQ by chase combining, outer-loop link adaptation to a target."""

    target: Annotated[float, Field(gt=0, lt=1)] = 0.1  # Share of first transmissions that are lost.
    step_db: Annotated[float, Field(gt=0, le=10)] = 0.5  # How much an error lowers the outer loop's offset.
    transmissions: Annotated[int, Field(ge=1, le=16)] = 4  # Most transmissions of a block, the first one included.
    report_delay_slots: Annotated[int, Field(ge=0, le=1000)] = 4  # Age in slots of the SNR that the transmitter knows.
    # Length of code words in the formula; longer ones have steeper curves.
    codeword_symbols: Annotated[int, Field(ge=10, le=10**6)] = 1000
    # Loss of the receiver, which moves the formula's curves.
    implementation_loss_db: Annotated[float, Field(ge=0, le=30)] = 0.0
    curves: UserFile | None = None  # CSV file of mcs,snr_db,bler instead of the formula.

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

    def warnings(self, rate: Rate) -> tuple[str, ...]:
        """See PacketErrors."""
        if self.curves is None or not isinstance(rate, McsRate):
            return ()
        found = self._curves(rate, self.curves)
        return tuple(f"curves: {text}" for text in found.warnings)

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
            found = self._curves(rate, self.curves).of_schemes
            efficiencies = efficiencies[list(found)]
            rates = np.stack(list(found.values()))
        order = np.argsort(efficiencies)  # the tables of the standard are not quite ascending
        return link_adaptation.LinkAdaptation(
            efficiencies[order],
            np.ascontiguousarray(rates[order]),
            self.target,
            self.step_db,
            self.transmissions,
            self.report_delay_slots,
        )

    def _curves(self, rate: McsRate, path: Path) -> Curves:
        """Return the curves of a file."""
        return read_curves(path, len(mcs.TABLES[rate.table]), self.target)
