"""The processes of participants whose updates add up in the air, and how the sums were received."""

from collections.abc import Sequence
from dataclasses import dataclass

from edgefl.learning.analog_sum import AnalogSum
from edgefl.radio.carriers.over_the_air import STATISTICS_DOWN, STATISTICS_UP, UPDATE, OverTheAirCarrier
from edgefl.server.participant_processes import ParticipantProcesses
from edgefl.server.participation import ParticipantProcess, Participation


@dataclass(frozen=True)
class OverTheAirProcesses(ParticipantProcesses):
    """Makes the processes of participants that send their updates at once.

    Each computes, sends the mean and the mean square of its update's coefficients, gets those of all updates back, and
    sends the update when all others of its cell are ready (Zhu, Wang, Huang, IEEE TWC 19(1), 2020).
    """

    carrier: OverTheAirCarrier
    statistics_bits: float

    def __call__(self, part: Participation) -> ParticipantProcess:
        """Take part; return the status at the end."""
        status = yield from super().__call__(part)
        self.carrier.leave(part.row)
        return status

    def _upload(self, part: Participation) -> ParticipantProcess:
        failure = yield from self._exchange_statistics(part)
        if failure:
            return failure
        cut = yield from part.wait_for(self.env, self.carrier.cell_is_ready(part.row))
        if cut:
            return cut
        transfer = yield from self.carrier.send(part.row, UPDATE)
        part.add_upload(transfer, self.env.now)
        if not transfer.delivered:  # cut short, or silent, as the channel was too weak
            return transfer.cut or "upload_failed"
        # Only the cell's sum travels on, which is as large as an update.
        message = self.backhaul.send(self._up_bits[part.row], part.cell, "up", one_copy=True)
        return (yield from part.wait_for_backhaul(self.env, message, arrives=True))

    def _exchange_statistics(self, part: Participation) -> ParticipantProcess:
        """Carry a device's statistics to the server, and those of all back; return "", or how it ended."""
        transfer = yield from self.carrier.send(part.row, STATISTICS_UP)
        part.add_upload(transfer, self.env.now)
        if not transfer.delivered:
            return transfer.cut or "upload_failed"
        message = self.backhaul.send(self.statistics_bits, part.cell, "up")
        cut = yield from part.wait_for_backhaul(self.env, message)
        if cut:
            return cut
        cut = yield from part.wait_for(self.env, self.carrier.statistics_are_in(part.row))
        if cut:
            return cut
        message = self.backhaul.send(self.statistics_bits, part.cell, "down", one_copy=True)
        cut = yield from part.wait_for_backhaul(self.env, message)
        if cut:
            return cut
        transfer = yield from self.carrier.send(part.row, STATISTICS_DOWN)
        part.add_download(transfer, self.env.now)
        if not transfer.delivered:
            return transfer.cut or "download_failed"
        return ""


def analog_sum(carrier: OverTheAirCarrier, parts: Sequence[Participation]) -> AnalogSum:
    """Return how the updates of participations [C] were received, of which there is at least one."""
    rows = [part.row for part in parts]
    total = float(carrier.weights(rows).sum())
    cells = sorted({part.cell for part in parts})
    errors = [carrier.received_sum(cell).error / total**2 for cell in cells]
    stations = [cells.index(part.cell) for part in parts]
    return AnalogSum(tuple(errors), tuple(stations), tuple(carrier.silence(rows).tolist()))
