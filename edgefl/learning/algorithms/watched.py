"""An algorithm whose hooks are checked by their contracts whenever they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import PrivateAttr

from edgefl.core.errors import RunError
from edgefl.core.global_draws import REMEDY, moved, states
from edgefl.core.returns import is_tensor
from edgefl.learning.algorithms.base import LocalContext, Updates
from edgefl.learning.algorithms.contracts import AWAITED, CONTRACTS, NUMBERS, has_nan
from edgefl.learning.algorithms.hook_errors import HookError, place, raised
from edgefl.learning.algorithms.wrapper import Wrapper

PLAIN = 1e12  # a product of three such numbers is finite in float32; larger ones are about to overflow
FIXED = {"downlink", "finish", "derived"}  # hooks whose vectors always have the sizes of the first call


class Watched(Wrapper):
    """Another algorithm, whose hooks are checked whenever they are called.

    The first fault raises a `HookError`. NaN and infinity are faults only if the hook got plain numbers, not NaN or a
    model that is about to overflow.
    """

    _sizes: dict[str, str] = PrivateAttr(default_factory=dict)  # of the vectors of the first call, by hook

    def fail(self, hook: str, text: str) -> None:
        """Raise the fault of a hook; a subclass may note it and go on."""
        raise HookError(f"{place(self.base, hook)}: algorithm: {type(self.base).__name__}.{hook} {text}")

    def drew(self, hook: str, generator: str) -> None:
        """Raise the fault of a hook that drew from a global generator; a subclass may note it and go on."""
        self.fail(hook, f"draws from {generator}: {REMEDY}")

    def call(self, hook: str, *args: Any) -> Any:
        """Return what a hook of the algorithm returns.

        Raises:
            HookError: the hook raises an exception, or draws from a global generator.
        """
        drawn = states()
        try:
            value = getattr(self.base, hook)(*args)
        except RunError:
            raise  # written for the user already
        except Exception as error:
            raise HookError(raised(self.base, hook, error, "algorithm: ")) from error
        for generator in moved(drawn):
            self.drew(hook, generator)
        return value

    def checked(self, hook: str, *args: Any) -> Any:
        """Return what a hook of the algorithm returns, checked by its contract."""
        value = self.call(hook, *args)
        for got, must in CONTRACTS[hook](self.base, *args).faults(value):
            if must != NUMBERS or _are_plain(_numbers_given(hook, args)):
                self.fail(hook, f"returned {got}, expected {must}")
        if hook in FIXED:
            self._check_sizes(hook, value)
        return value

    def _check_sizes(self, hook: str, vectors: Any) -> None:
        """Check that vectors have the names and sizes of the hook's first call."""
        if not isinstance(vectors, Mapping) or not all(is_tensor(vector) for vector in vectors.values()):
            return
        sizes = ", ".join(f'"{name}" {list(vector.shape[-1:])}' for name, vector in vectors.items()) or "nothing"
        first = self._sizes.setdefault(hook, sizes)
        if sizes != first:
            text = "which depends on the device or the round: their sizes are what it costs to send them"
            self.fail(hook, f"returned {sizes} after {first}, {text}")


def _checked_hook(name: str) -> Callable[..., Any]:
    def hook(self: Watched, *args: Any) -> Any:
        return self.checked(name, *args)

    return hook


for _name in CONTRACTS:
    setattr(Watched, _name, _checked_hook(_name))


def _numbers_given(hook: str, args: tuple[Any, ...]) -> list[Any]:
    """Return the arguments that must be plain for NaN to be the fault of the hook."""
    if hook not in {"aggregate", "carried_over"}:
        return list(args)
    server, *others = args  # whose tables may hold infinities
    with_nan = [table for name, table in server.items() if name != AWAITED and has_nan(table)]
    return [server["w"], *others, *with_nan]


def _are_plain(value: Any) -> bool:
    """Return whether all numbers in a value are finite and none is so large that a product of a few overflows."""
    if isinstance(value, LocalContext):
        value = [value.start, value.lr, value.received, value.state, value.gradient]
    elif isinstance(value, Updates):
        value = [value.vectors, value.losses]
    elif isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(_are_plain(item) for item in value)
    if isinstance(value, float):
        return abs(value) < PLAIN
    if isinstance(value, np.ndarray) or is_tensor(value):
        return bool(((value > -PLAIN) & (value < PLAIN)).all())
    return True
