"""A mod of Flower that writes what a deployed client does into the log of a testbed.

app = ClientApp(mods=[PhaseLog("log.csv", device="pi4/a", network="cnn", batch_size=16)])
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

from flwr.app import Context, Message

from edgefl.calibration.log import LogRow
from edgefl.calibration.writing import append
from edgefl.flower.message_size import BITS_PER_BYTE, bits_of
from edgefl.flower.metrics import WEIGHT_KEYS, first_number

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PhaseLog:
    """Adds a row to a log for each message that a client computes on; `edgefl calibrate` reads the log."""

    path: str | Path  # several clients may share it
    _: KW_ONLY
    device: str  # a type, or type and unit, such as pi4/a
    network: str  # its name in the table of counts
    batch_size: int  # of its training
    epochs: int = 1  # of a round: how often each sample counted by the reply's `num-examples` is learned
    # The clocks of server and client are synchronised, so that the time from the making of a message at the server to
    # its arrival here is known: it becomes a row of phase download.
    clocks_agree: bool = False

    def __call__(self, msg: Message, context: Context, call_next: Callable[[Message, Context], Message]) -> Message:
        """Hand a message to the app, and log it; Flower calls this."""
        transfer_s = time.time() - msg.metadata.created_at
        began_s = time.perf_counter()
        reply = call_next(msg, context)
        seconds = time.perf_counter() - began_s
        phase = msg.metadata.message_type.partition(".")[0]
        if phase not in {"train", "evaluate"} or not reply.has_content():
            return reply
        row = LogRow(0, self.device, phase, self.network, msg.metadata.group_id, seconds, bytes=_bytes(reply))
        rows = []
        if self.clocks_agree and transfer_s > 0:
            rows.append(replace(row, phase="download", seconds=transfer_s, bytes=_bytes(msg)))
        metrics: Mapping[str, Any] = next(iter(reply.content.metric_records.values()), {})
        samples = first_number(metrics, WEIGHT_KEYS)
        if samples:
            samples *= self.epochs if phase == "train" else 1
            rows.append(replace(row, batch_size=self.batch_size, samples=samples))
        else:
            log.warning("a reply to %s has no num-examples: its seconds are not logged", phase)
        append(Path(self.path), rows)
        return reply


def _bytes(message: Message) -> float:
    return bits_of(message.content) / BITS_PER_BYTE
