"""An algorithm whose hooks are examined wherever a run calls them."""

from __future__ import annotations

import copy
from typing import Any

import torch
from pydantic import PrivateAttr
from torch import Tensor

from edgefl.core import global_draws
from edgefl.learning.algorithms import Algorithm, LocalContext
from edgefl.learning.algorithms.watched import Watched
from edgefl.testing.calls import ARGUMENTS, REPEATABLE, RETURNS, Calls
from edgefl.testing.values import copied, distance, is_tensor, mapped

BATCHED = "batched is serial"
BOUND = {torch.float32: 1e-4, torch.float64: 1e-9}  # of rounding, in parts of the largest number
DEVICE_HOOKS = {"labels", "references", "loss", "correct", "decay", "finish", "derived", "remember"}


class Examined(Watched):
    """A wrapped algorithm whose hooks are called as `Calls` does wherever a run calls them once.

    A hook must also give several devices together what it gives each by itself.
    """

    _calls: Calls = PrivateAttr()

    @classmethod
    def of(cls, algorithm: Algorithm, calls: Calls) -> Examined:
        """Return an algorithm that is examined; faults are noted in the report of `calls`."""
        examined = cls(base=algorithm)
        examined._calls = calls.on(algorithm)
        return examined

    def __deepcopy__(self, memo: Any = None) -> Examined:
        return Examined.of(copy.deepcopy(self.base), self._calls)

    def fail(self, hook: str, text: str) -> None:
        """Note that a hook returned something wrong, and go on."""
        self._calls.note(RETURNS, hook, text)

    def drew(self, hook: str, generator: str) -> None:
        """Note that a hook has drawn from a global generator, and go on."""
        self._calls.note(REPEATABLE, hook, f"draws from {generator}: {global_draws.REMEDY}")

    def call(self, hook: str, *args: Any) -> Any:
        """Return what a hook returns, once it has been examined."""
        value = self._calls.of(hook, *args)
        if self._calls.report.check(REPEATABLE).faults:
            return value
        if hook == "correct":
            self._check_alias(args)
        if hook in DEVICE_HOOKS:
            self._check_rows(hook, args, value)
        return value

    def _check_alias(self, args: tuple[Any, ...]) -> None:
        """Check that the corrected gradient is none of the other arguments: the solver clips it in place."""
        given = copied(args)
        value = self.base.correct(*given)
        if is_tensor(value) and any(_share_memory(value, other) for other in _tensors(given[1:])):
            text = "returns a vector of its arguments other than the gradient, which the solver then changes"
            self._calls.note(ARGUMENTS, "correct", f"{text}: return a copy (x.clone())")

    def _check_rows(self, hook: str, args: tuple[Any, ...], value: Any) -> None:
        """Check that each row of what a hook returns for several devices is what it returns for that device only."""
        lead = next((vector for vector in _starts(args) if vector.ndim == 2), None)
        if lead is None:
            return
        bound = BOUND[lead.dtype]
        for row in range(len(lead)):
            try:
                alone = getattr(self.base, hook)(*_row_of(copied(args), row, len(lead)))
            except Exception as error:  # noqa: BLE001 - any exception is the fault
                text = f"works for several devices together, and raises {type(error).__name__} for one of them: {error}"
                self._calls.note(BATCHED, hook, text)
                return
            difference = distance(_row_of(value, row, len(lead)), alone)
            if difference is not None and difference > bound:  # other shapes or names have been noted
                text = f"returns other values for devices together than for each one (they differ by {difference:.2g}"
                remedy = "use torch.where instead of `if`, and reduce over the last axis only (dim=-1, keepdim=True)"
                self._calls.note(BATCHED, hook, f"{text}, allowed are {bound:g}): {remedy}")
                return


def _tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []

    def keep(item: Any) -> Any:
        if is_tensor(item):
            found.append(item)
        return item

    mapped(value, keep)
    return found


def _share_memory(first: Tensor, second: Tensor) -> bool:
    return first.numel() > 0 and first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()


def _starts(args: tuple[Any, ...]) -> list[Tensor]:
    """Return vectors that have an axis of devices if a hook is given several together."""
    found = [item.start for item in args if isinstance(item, LocalContext)]
    if is_tensor(args[0]):
        found.append(args[0])
    return found


def _row_of(value: Any, row: int, count: int) -> Any:
    """Return the part of one device in a value of several, without their axis."""

    def cut(item: Any) -> Any:
        if is_tensor(item) and item.ndim and len(item) == count:
            return item[row]
        return item

    return mapped(value, cut)
