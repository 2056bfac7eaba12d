"""A mod of Flower that writes what a deployed client does into the log of a testbed.

app = ClientApp(mods=[PhaseLog("log.csv", device="pi4/a", network="cnn", batch_size=16)])
"""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from flwr.app import Context, Message, RecordDict

from edgefl.calibration.log import LogRow
from edgefl.calibration.writing import append
from edgefl.flower.message_size import BITS_PER_BYTE, bits_of
from edgefl.flower.metrics import WEIGHT_KEYS

COMPUTING = ("train", "evaluate")

log = logging.getLogger(__name__)


class PhaseLog:
    """Adds a row to a log for each message that a client computes on; `edgefl calibrate` reads the log.

    Args:
        path: the log; several clients may share it.
        device: a type, or type and unit, such as pi4/a.
        network: the network's name in the table of counts.
        batch_size: of its training.
        epochs: of a round, in which each sample counted by the reply's `num-examples` is learned.
        clocks_agree: the clocks of server and client are synchronised, so that the time from the making of a message
            at the server to its arrival here is known; it becomes a row of phase download.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        device: str,
        network: str,
        batch_size: int,
        epochs: int = 1,
        clocks_agree: bool = False,
    ) -> None:
        self._path = Path(path).absolute()
        self._blank = LogRow(line=0, device=device, phase="", network=network, round="", seconds=0.0)
        self._batch_size = batch_size
        self._epochs = epochs
        self._clocks_agree = clocks_agree

    def __call__(self, msg: Message, context: Context, call_next: Callable[[Message, Context], Message]) -> Message:
        """Hand a message to the app, and log it; Flower calls this."""
        arrived_s = time.time()
        began_s = time.perf_counter()
        reply = call_next(msg, context)
        seconds = time.perf_counter() - began_s
        phase = msg.metadata.message_type.partition(".")[0]
        if phase not in COMPUTING or not reply.has_content():
            return reply
        rows = []
        transfer_s = arrived_s - msg.metadata.created_at
        if self._clocks_agree and transfer_s > 0:
            rows.append(self._row(msg, phase="download", seconds=transfer_s, bytes=_bytes(msg.content)))
        samples = _samples(reply.content)
        if phase == "train":
            samples *= self._epochs
        if samples:
            cells = {"bytes": _bytes(reply.content), "batch_size": self._batch_size, "samples": samples}
            rows.append(self._row(msg, phase=phase, seconds=seconds, **cells))
        else:
            log.warning("a reply to %s has no num-examples: its seconds are not logged", phase)
        append(self._path, rows)
        return reply

    def _row(self, msg: Message, **cells: Any) -> LogRow:
        return replace(self._blank, round=msg.metadata.group_id, **cells)


def _bytes(content: RecordDict) -> float:
    return bits_of(content) / BITS_PER_BYTE


def _samples(content: RecordDict) -> float:
    """Return the number of samples that a reply tells; 0 if it tells none."""
    for metrics in content.metric_records.values():
        for key in WEIGHT_KEYS:
            value = metrics.get(key)
            if isinstance(value, (int, float)):
                return float(value)
    return 0.0
