"""Counts the operations of a device for a message while the ClientApp runs, or takes them from the world."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import numpy as np
from flwr.app import Message, RecordDict
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS

from edgefl.core.errors import RunError
from edgefl.flower.message_size import parameters_in
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.payload import Payload
from edgefl.learning.workload import Workload

TRAIN = "train"
EVALUATE = "evaluate"
FUSED = ("rnn", "lstm", "gru", "attention", "transformer")  # names of kernels whose products are not counted


def category(message: Message) -> str:
    """Return what a message asks for: train, evaluate, or something else."""
    return str(message.metadata.message_type).partition(".")[0]


class Operations(ABC):
    """The operations that a device computes for a message."""

    FREE: ClassVar[str]  # why a message that asks for training or evaluation is priced with 0 operations

    def __init__(self) -> None:
        self._asked = Counter[str]()  # messages that asked for training or evaluation, by type
        self._free = Counter[str]()  # those of them that were priced with 0 operations

    def of(self, device: int, message: Message, work: Callable[[], Any]) -> tuple[Any, float]:
        """Do a device's `work` for a message; return its reply, and the operations that it is priced with.

        The reply is what the ClientApp has returned, even if that is something else than a message.

        Raises:
            RunError: their number is not known.
        """
        reply, flops = self._price(device, message, work)
        if category(message) not in (TRAIN, EVALUATE):
            return reply, flops or 0.0
        kind = message.metadata.message_type
        self._asked[kind] += 1
        if flops is None:
            self._free[kind] += 1
        return reply, flops or 0.0

    @abstractmethod
    def _price(self, device: int, message: Message, work: Callable[[], Any]) -> tuple[Any, float | None]:
        """See `of`; the operations are None if nothing is known to have been computed."""

    def note(self) -> str:
        """Return a line about the messages that were priced with 0 operations; "" if there are none."""
        counts = [f"{free:,} of {self._asked[kind]:,} {kind} messages" for kind, free in sorted(self._free.items())]
        if not counts:
            return ""
        return f"{' and '.join(counts)} {self.FREE}"


class CountedOperations(Operations):
    """The operations that torch computes for a ClientApp, counted function by function."""

    FREE = (
        "computed nothing with torch and cost 0 operations: if the ClientApp computes with another library, let the "
        "world's model.cost price them, with --operations world"
    )

    def _price(self, device: int, message: Message, work: Callable[[], Any]) -> tuple[Any, float | None]:
        counter = _counter()
        with counter:
            reply = work()
        if counter.uncounted:
            names = ", ".join(sorted(counter.uncounted))
            raise RunError(f"the ClientApp calls {names}, whose operations cannot be counted: {_REMEDY}")
        return reply, float(counter.operations) or None


_REMEDY = "let the world's model, training and data say how much is computed, with --operations world"


def _counter() -> Any:
    """Return a counter of torch's operations that also notes fused kernels, which it cannot count."""
    from edgefl.learning.torch_operations import OperationCounter

    class AppCounter(OperationCounter):  # type: ignore[no-untyped-call]
        """Counts, and notes kernels that hide their products."""

        def __init__(self) -> None:
            super().__init__()
            self.uncounted: set[str] = set()

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if _is_fused(function):
                self.uncounted.add(_name(function))
            return super().__torch_dispatch__(function, types, args, kwargs)

    return AppCounter()


def _name(function: Any) -> str:
    """Return the name of one of torch's basic functions, such as mm for aten::mm.out."""
    return str(function.name()).partition("::")[2].partition(".")[0]


@cache
def _is_fused(function: Any) -> bool:
    """Return whether a function hides products that torch's own counter does not know."""
    from torch.utils.flop_counter import flop_registry

    return function.overloadpacket not in flop_registry and any(part in _name(function) for part in FUSED)


class PricedOperations(Operations):
    """The operations by the world's sections `model`, `training` and `data`, as in a run without Flower.

    Args:
        payload: what a participant computes.
        workload: how much it trains.
        any_arrays: whether messages may have arrays of any size or none, as the world names the cost of its model.
    """

    FREE = "exchanged keys of secure aggregation and cost 0 operations"

    def __init__(self, payload: Payload, workload: Workload, *, any_arrays: bool) -> None:
        super().__init__()
        self._payload = payload
        self._workload = workload
        self._any_arrays = any_arrays
        self._parameters = round(payload.model_bits / BITS_PER_FLOAT)

    def _price(self, device: int, message: Message, work: Callable[[], Any]) -> tuple[Any, float | None]:
        reply = work()
        asked = category(message)
        if asked not in (TRAIN, EVALUATE):
            return reply, 0.0
        if _only_exchanges_keys(message):
            return reply, None
        self._check_size(message.content)
        ids = np.array([device])
        if asked == TRAIN:
            flops = self._payload.flops_in(ids, 0, self._workload)
        else:
            flops = self._payload.forward_flops(ids, self._payload.samples[ids])
        return reply, float(flops[0])

    def _check_size(self, model: RecordDict) -> None:
        """Check that a message's arrays are the world's model."""
        sent = parameters_in(model)
        if sent != self._parameters and not self._any_arrays:
            raise RunError(
                f"the app's model has {sent:,} parameters, the world's {self._parameters:,}: make them the same model, "
                "give its cost as the world's model.cost, or leave out --operations world"
            )


def _only_exchanges_keys(message: Message) -> bool:
    """Return whether a message is a stage of Flower's secure aggregation where devices do not train."""
    return RECORD_KEY_CONFIGS in message.content.config_records and not message.content.array_records
