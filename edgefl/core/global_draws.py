"""Checks that members from outside do not draw from the random generators that a whole program shares.

Such draws depend on all other draws of the program, so no run could be repeated or resumed. Other code, such as a
tracker or an agent, may draw from these generators, so they are compared around single calls of a member.
"""

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from edgefl.core.plugins import BrokenRule

Made = TypeVar("Made")

TORCH = "torch's global generator"

REMEDY = (
    "results would depend on what else the program draws, so that no run could be repeated or resumed: "
    "draw from a generator that is given (rng, streams)"
)


class GlobalDraw(BrokenRule):
    """A plug-in has drawn from a global generator."""


def states() -> dict[str, Any]:
    """Return the state of each global generator, by its name in messages."""
    _, words, *rest = np.random.get_state()  # noqa: NPY002 - the global generator is meant
    found: dict[str, Any] = {
        "Python's module random": random.getstate(),
        "numpy.random's global generator": (np.asarray(words).tobytes(), *rest),
    }
    # A member that never imports torch cannot draw from it.
    torch = sys.modules.get("torch")
    if torch is not None:
        found[TORCH] = torch.get_rng_state().numpy().tobytes()
    return found


def moved(before: dict[str, Any]) -> list[str]:
    """Return the names of the generators that something was drawn from since `before`."""
    after = states()
    return [name for name in after if name in before and after[name] != before[name]]


def depends_on_draws(make: Callable[[], Made], same: Callable[[Made, Made], bool]) -> tuple[Made, list[str]]:
    """Return the value of a function, and the names of the global generators if it depends on their states.

    A function that seeds them itself draws from them, but always returns the same value. So a function that draws is
    called again from other states.

    Args:
        make: the function.
        same: whether two of its values are equal.
    """
    before = states()
    made = make()
    drawn_from = moved(before)
    if not drawn_from:
        return made, []
    with seeded(1):
        again = make()
    if same(made, again):
        return made, []
    return made, drawn_from


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Give all global generators other states in the context, and restore their states afterwards."""
    kept_random = random.getstate()
    kept_numpy = np.random.get_state()  # noqa: NPY002
    torch = sys.modules.get("torch")
    kept_torch = None
    if torch is not None:
        kept_torch = torch.get_rng_state()
        torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(kept_random)
        np.random.set_state(kept_numpy)  # noqa: NPY002
        if torch is not None:
            torch.set_rng_state(kept_torch)
