"""An algorithm each of whose hook calls is examined; faults are noted under the check that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from pydantic import PrivateAttr
from torch import Tensor

from edgefl.core import global_draws
from edgefl.core.errors import RunError
from edgefl.learning.algorithms import Algorithm, LocalContext
from edgefl.learning.algorithms.hook_errors import HookError, place
from edgefl.learning.algorithms.watched import Watched
from edgefl.testing.report import Blamed, Check
from edgefl.testing.values import copied, distance, mapped, same, tensors

BOUND = {torch.float32: 1e-4, torch.float64: 1e-9}  # of rounding, in parts of the largest number
DEVICE_HOOKS = {"labels", "references", "loss", "correct", "decay", "finish", "derived", "remember"}


@dataclass(frozen=True)
class HookChecks:
    """The checks under which the faults of hooks are noted."""

    returns: Check
    arguments: Check
    random: Check
    batched: Check


class Examined(Watched):
    """A wrapped algorithm whose hooks are each called several times wherever a run calls them once.

    A hook must give the same values from the same arguments, leave these as they are, touch no global generator, and
    give several devices together what it gives each alone.
    """

    _checks: HookChecks = PrivateAttr()
    _called: set[str] = PrivateAttr(default_factory=set)

    @classmethod
    def of(cls, algorithm: Algorithm, checks: HookChecks) -> Examined:
        """Return an algorithm that is examined."""
        examined = cls(base=algorithm)
        examined._checks = checks
        return examined

    def fail(self, hook: str, text: str) -> None:
        """Note that a hook returned something wrong, and go on."""
        self._checks.returns.fault(self._text(hook, text))

    def drew(self, hook: str, generator: str) -> None:
        """Note that a hook has drawn from a global generator, and go on."""
        self._checks.random.fault(self._text(hook, f"draws from {generator}: {global_draws.REMEDY}"))

    def call(self, hook: str, *args: Any) -> Any:
        """Return what a hook returns, once it has been examined."""
        kept = copied(args)
        drawn = global_draws.states()
        try:
            value = super().call(hook, *args)
        except HookError as error:
            self._checks.returns.fault(str(error))
            raise Blamed from error
        except RunError as error:
            self._checks.returns.fault(self._text(hook, f"ends the run: {error}"))
            raise Blamed from error
        moved = global_draws.moved(drawn)
        self._check_arguments(hook, args, kept, value)
        if not moved:
            self._check_again(hook, kept, value)
        if hook in DEVICE_HOOKS and not moved:
            self._check_rows(hook, kept, value)
        return value

    def _text(self, hook: str, text: str) -> str:
        return f"{place(self.base, hook)}: {type(self.base).__name__}.{hook} {text}"

    def _check_arguments(self, hook: str, args: tuple[Any, ...], kept: tuple[Any, ...], value: Any) -> None:
        """Check that a hook leaves its arguments alone, now and later."""
        if not same(args, kept):
            remedy = "make new vectors (w + step, w.clone()), not w += step or w.add_(step)"
            text = f"changes its arguments in place, which others still use: {remedy}"
            self._checks.arguments.fault(self._text(hook, text))
        if hook == "correct" and isinstance(value, Tensor):
            # The solver clips the gradient in place, and would clip a vector that others share, too.
            others = tensors(args[1:])
            if any(_share_memory(value, other) for other in others):
                text = "returns a vector of its arguments other than the gradient, which the solver then changes"
                self._checks.arguments.fault(self._text(hook, f"{text}: return a copy (x.clone())"))

    def _check_again(self, hook: str, kept: tuple[Any, ...], value: Any) -> None:
        """Check that the same arguments give the same values, bit by bit."""
        try:
            again = getattr(self.base, hook)(*copied(kept))
        except Exception as error:  # noqa: BLE001 - any exception is the fault
            text = f"raises {type(error).__name__} when it is called again with the same arguments"
            self._checks.random.fault(self._text(hook, text))
            return
        if not same(value, again):
            text = "returns other values when it is called again with the same arguments"
            remedy = "keep nothing between calls but in the states, and draw nothing at random"
            self._checks.random.fault(self._text(hook, f"{text}: {remedy}"))

    def _check_rows(self, hook: str, kept: tuple[Any, ...], value: Any) -> None:
        """Check that each row of what a hook returns for several devices is what it returns for that device alone."""
        lead = _lead(kept)
        if lead is None:
            return
        count, d = lead
        for row in range(count):
            try:
                alone = getattr(self.base, hook)(*[_row_of(item, row, count) for item in copied(kept)])
            except Exception as error:  # noqa: BLE001 - any exception is the fault
                text = f"works for several devices together, and raises {type(error).__name__} for one alone"
                self._checks.batched.fault(self._text(hook, f"{text}: {error}"))
                return
            own = _row_of(value, row, count)
            difference = distance(own, alone)
            if difference is None:
                continue  # other shapes or names have been noted
            if difference > BOUND[d]:
                text = f"returns other values for devices together than for each alone (they differ by {difference:.2g}"
                remedy = "use torch.where in place of `if`, and reduce over the last axis only (dim=-1, keepdim=True)"
                self._checks.batched.fault(self._text(hook, f"{text}, allowed are {BOUND[d]:g}): {remedy}"))
                return


def _share_memory(first: Tensor, second: Tensor) -> bool:
    return first.numel() > 0 and first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()


def _lead(args: tuple[Any, ...]) -> tuple[int, torch.dtype] | None:
    """Return how many devices a hook was given together, and the type of their numbers; None for a single one."""
    for item in args:
        if isinstance(item, LocalContext) and item.start.ndim == 2:
            return len(item.start), item.start.dtype
    if isinstance(args[0], Tensor) and args[0].ndim == 2:
        return len(args[0]), args[0].dtype
    return None


def _row_of(value: Any, row: int, count: int) -> Any:
    """Return the part of one device in a value of several, without their axis."""

    def cut(item: Any) -> Any:
        if isinstance(item, Tensor) and item.ndim and len(item) == count:
            return item[row]
        return item

    return mapped(value, cut)
