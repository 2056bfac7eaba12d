"""The ClientApp on each device: its context, its random numbers, and what it computes."""

import traceback
from collections import Counter
from copy import copy, deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from flwr.app import Context, Message, RecordDict
from flwr.app.user_config import UserConfig
from flwr.clientapp import ClientApp

from edgefl.core.errors import DivergedError, RunError
from edgefl.core.streams import Streams
from edgefl.flower.app_folder import fault_in_app
from edgefl.flower.operations import TRAIN, Operations, category
from edgefl.flower.randomness import seeded
from edgefl.flower.virtual_time import AppClock

FIRST_NODE = 1000  # Flower's node of device 0; low numbers are Flower's own (1 is the server)
LONG_S = 1e12  # a client's time to live: only virtual time decides whether a reply comes too late
# In messages of torch's samplers, scikit-learn, NumPy, Hugging Face's datasets, Python's statistics and others.
EMPTY_SIGNS = ("num_samples=0", "n_samples=0", "0 sample(s)", "zero-size", "at least one", "empty")
EMPTY_REMEDY = (
    "; if the device has no samples, divide the app's data so that each one has some, or let the client return the "
    "model as it came, with num-examples 0"
)
NODE_REMEDY = (
    "; a node's configuration has partition-id and num-partitions only: let the app have a default for other keys, or "
    "read them from context.run_config"
)


def node_of(device: int) -> int:
    """Return the number of a device as Flower's node."""
    return FIRST_NODE + device


def device_of(node: int) -> int:
    """Return the device behind one of Flower's nodes."""
    return node - FIRST_NODE


class Answer(NamedTuple):
    """A ClientApp's answer to a message."""

    reply: Message
    flops: float


@dataclass(kw_only=True)
class Clients:
    """Runs the ClientApp for the devices, one after the other in this process.

    A device keeps its context from message to message. Changes by a message count only once the device has computed: a
    device that leaves earlier finds its context unchanged.

    Attributes:
        client_app: the app.
        folder: where its code is.
        run_id: of Flower's run.
        run_config: the app's configuration.
        count: number of devices.
        operations: says how much they compute.
        streams: keyed randomness.
        clock: gives the ClientApp this machine's time.
    """

    client_app: ClientApp
    folder: Path
    run_id: int
    run_config: UserConfig
    count: int
    operations: Operations
    streams: Streams
    clock: AppClock
    _contexts: dict[int, Context] = field(default_factory=dict)
    _computed: dict[int, Context] = field(default_factory=dict)  # after messages whose computing is under way
    _messages: Counter[int] = field(default_factory=Counter)  # by device: how many it has begun to answer

    def answer(self, device: int, message: Message, round_number: int) -> Answer:
        """Run the ClientApp of a device on a message.

        Args:
            device: which has received the message.
            message: as the ServerApp has sent it.
            round_number: the number, from 1, of the round to which the message belongs, for error messages.

        Raises:
            RunError: it failed, or the operations that it computes are not known.
            DivergedError: a weight that it received for training, or sent after it, is NaN or infinite.
        """
        trains = category(message) == TRAIN
        if trains:
            _check_finite(message, f"the model that the ServerApp sends to device {device}")
        context = deepcopy(self._context(device))
        received = _as_received(message)
        number = self._messages[device]
        self._messages[device] += 1
        kind = message.metadata.message_type
        where = f"device {device}, which is partition-id {device}; {kind} message of round {round_number}"

        def work() -> Any:
            try:
                with self.clock.real():
                    return self.client_app(received, context)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # even a `SystemExit`
                raise RunError(f"{fault_in_app(error, self.folder)} ({where}){_remedy(error)}") from error

        with seeded(self.streams, device + 1, number):
            reply, flops = self.operations.of(device, received, work)
        if not isinstance(reply, Message):
            got = type(reply).__name__
            raise RunError(f"{self.folder}: the ClientApp must return a Message, got {got} ({where})")
        if reply.has_content():
            if trains:
                _check_finite(reply, f"the update of device {device}")
            reply.content = deepcopy(reply.content)  # the ServerApp may change it, and the context may hold the same
        self._computed[device] = context
        return Answer(reply, flops)

    def note_computed(self, device: int) -> None:
        """Note that a device has computed its answer: changes in its context stay."""
        self._contexts[device] = self._computed.pop(device)

    def _context(self, device: int) -> Context:
        """Return a device's context; a new one has its partition, as in Flower's own simulation."""
        if device not in self._contexts:
            self._contexts[device] = Context(
                run_id=self.run_id,
                node_id=node_of(device),
                node_config={"partition-id": device, "num-partitions": self.count},
                state=RecordDict(),
                run_config=dict(self.run_config),
            )
        return self._contexts[device]


def _remedy(error: BaseException) -> str:
    """Return what to do about an exception of the ClientApp; "" if that is not known."""
    lines = traceback.extract_tb(error.__traceback__)
    if isinstance(error, KeyError) and "node_config" in (lines[-1].line or ""):
        return NODE_REMEDY
    # Exceptions that code often raises if it has no samples.
    if isinstance(error, (ZeroDivisionError, StopIteration)) or any(sign in str(error) for sign in EMPTY_SIGNS):
        return EMPTY_REMEDY
    return ""


def _as_received(message: Message) -> Message:
    """Return a message as it arrives: with a copy of its content, which the ClientApp may change."""
    metadata = copy(message.metadata)
    # Flower computes a reply's time to live by this machine's clock, which must not decide whether it is in time.
    metadata.created_at = datetime.now(UTC).timestamp()
    metadata.ttl = LONG_S
    make: Any = Message  # takes all metadata, which its types do not show
    return cast("Message", make(deepcopy(message.content), metadata=metadata))


def _check_finite(message: Message, what: str) -> None:
    """Check that the weights in a message are numbers."""
    for arrays in message.content.array_records.values():
        for name, array in arrays.items():
            if array.stype != "numpy.ndarray":  # serialised by the app in another way
                continue
            values = array.numpy()
            if values.dtype.kind in "fc" and not np.isfinite(values).all():
                raise DivergedError(f"{what} diverged (NaN or infinite in {name})", "lower the app's learning rate")
