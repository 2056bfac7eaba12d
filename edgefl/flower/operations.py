"""Counts the operations of a device for a message while the ClientApp runs, or takes them from the world."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np
from flwr.app import Message

from edgefl.core.errors import RunError
from edgefl.flower.message_size import parameters_in
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.payload import Payload
from edgefl.learning.workload import Workload

Result = TypeVar("Result")
TRAIN = "train"
EVALUATE = "evaluate"
FUSED = ("rnn", "lstm", "gru", "attention", "transformer")  # names of kernels whose products are not counted


def category(message: Message) -> str:
    """Return what a message asks for: train, evaluate, or something else."""
    return str(message.metadata.message_type).partition(".")[0]


class Operations(ABC):
    """The operations that a device computes for a message."""

    @abstractmethod
    def of(self, device: int, message: Message, work: Callable[[], Result]) -> tuple[Result, float]:
        """Do a device's `work` for a message; return its result, and the operations with which it is priced.

        Raises:
            RunError: their number is not known.
        """


class CountedOperations(Operations):
    """The operations that torch computes for a ClientApp, counted function by function."""

    def of(self, device: int, message: Message, work: Callable[[], Result]) -> tuple[Result, float]:
        """See Operations."""
        counter = _counter()
        with counter:
            result = work()
        if counter.uncounted:
            names = ", ".join(sorted(counter.uncounted))
            raise RunError(f"the ClientApp calls {names}, whose operations cannot be counted: {_REMEDY}")
        if not counter.operations and category(message) in (TRAIN, EVALUATE):
            what = message.metadata.message_type
            raise RunError(f"the ClientApp answered a {what} message without computing anything with torch: {_REMEDY}")
        return result, float(counter.operations)


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
    """

    def __init__(self, payload: Payload, workload: Workload) -> None:
        self._payload = payload
        self._workload = workload
        self._parameters = round(payload.model_bits / BITS_PER_FLOAT)

    def of(self, device: int, message: Message, work: Callable[[], Result]) -> tuple[Result, float]:
        """See Operations."""
        result = work()
        asked = category(message)
        if asked not in (TRAIN, EVALUATE):
            return result, 0.0
        sent = parameters_in(message.content)
        if sent != self._parameters:
            raise RunError(
                f"the app's model has {sent:,} parameters, the world's {self._parameters:,}: "
                "make them the same model, or leave out --operations world"
            )
        ids = np.array([device])
        if asked == TRAIN:
            flops = self._payload.flops_in(ids, 0, self._workload)
        else:
            flops = self._payload.forward_flops(ids, self._payload.samples[ids])
        return result, float(flops[0])
