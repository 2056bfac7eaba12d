"""Contracts of the methods of members: what they must return; and none draws from a global random generator.

A wrong number is worse than a missing one: with a share above the band or a NaN position, results would still look
plausible. Shipped members are trusted, as tests have checked them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from edgefl.core.global_draws import REMEDY, GlobalDraw, moved, states
from edgefl.core.plugins import WrongReturn, is_outside, method_place

P = ParamSpec("P")
R = TypeVar("R")
Bound = float | npt.NDArray[Any]

REAL_KINDS = "fiu"  # of NumPy's types: floats, integers, unsigned integers
WHOLE_KINDS = "iu"
SHOWN = 40  # characters of a value in a message


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor of torch, which need not have been imported."""
    return hasattr(value, "new_tensor")


def kind(value: Any) -> str:
    """Return a description of a value for messages: "a list", "None"."""
    if value is None:
        return "None"
    if is_tensor(value):
        return f"a tensor {list(value.shape)} of {value.dtype}"
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


class Contract(Protocol):
    """What a method must return."""

    def faults(self, value: Any) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with a value: what was returned, and what must be."""


@dataclass(slots=True)
class Instance:
    """An object of a class, with contracts of some of its attributes."""

    cls: type | tuple[type, ...]
    must: str  # describes the class
    fields: Mapping[str, Contract] = field(default_factory=dict)

    def faults(self, value: Any, what: str = "") -> Iterator[tuple[str, str]]:
        """See `Contract`; the value is named `what`."""
        if not isinstance(value, self.cls):
            yield f"{kind(value)} as {what}" if what else kind(value), self.must
            return
        for name, must in self.fields.items():
            yield from must.faults(getattr(value, name))


ANYTHING = Instance(object, "")


@dataclass(slots=True)
class Number:
    """A finite number."""

    what: str
    least: float = -np.inf

    def faults(self, value: Any) -> Iterator[tuple[str, str]]:
        """See `Contract`."""
        # True and False are integers to Python, but a hook that returns one has returned the result of a test.
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not is_number or not np.isfinite(value) or value < self.least:
            yield repr(value)[:SHOWN], self.what


@dataclass(slots=True)
class Array:
    """An array of numbers within bounds, without NaN."""

    shape: tuple[int | None, ...]  # None: any length
    what: str  # describes the numbers, such as "positions [n, 2] in metres"
    least: Bound = -np.inf
    most: Bound = np.inf
    whole: bool = False  # whether only whole numbers are allowed

    def faults(self, value: Any) -> Iterator[tuple[str, str]]:
        """See `Contract`; the first fault is the only one."""
        if not isinstance(value, np.ndarray):
            yield kind(value), f"an array: {self.what}"
            return
        sizes = tuple(None if wanted is None else size for size, wanted in zip(value.shape, self.shape, strict=False))
        got = f"an array of {value.dtype}"
        if value.ndim != len(self.shape) or sizes != self.shape:
            shown = ["any" if size is None else size for size in self.shape]
            yield f"an array of shape {list(value.shape)}", f"{self.what}, here {shown}"
        elif self.whole and value.dtype.kind not in WHOLE_KINDS:
            yield got, f"whole numbers: {self.what}"
        elif value.dtype.kind not in REAL_KINDS:
            yield got, f"numbers: {self.what}"
        elif np.isnan(value).any():  # neither below nor above any bound
            yield "NaN", self.what
        else:
            outside = value[(value < self.least) | (value > self.most)]
            if outside.size:
                yield f"{outside.flat[0]:.6g}", self.what


@dataclass(slots=True)
class Where:
    """A value that another contract allows, and that meets a condition."""

    allowed: Contract
    holds: Callable[[Any], object]
    must: str  # describes the condition
    got: Callable[[Any], str] = str  # describes a value that does not meet it

    def faults(self, value: Any) -> Iterator[tuple[str, str]]:
        """See `Contract`; the condition is checked if nothing else is wrong."""
        faults = list(self.allowed.faults(value))
        yield from faults
        if not faults and not self.holds(value):
            yield self.got(value), self.must


@dataclass(slots=True)
class Subset:
    """Whole numbers [n], such as ids, each once."""

    among: npt.NDArray[np.int64]  # the allowed ones
    what: str

    def faults(self, value: Any) -> Iterator[tuple[str, str]]:
        """See `Contract`; the first fault is the only one."""
        for fault in Array((None,), self.what, whole=True).faults(value):
            yield fault
            return
        others = value[~np.isin(value, self.among)]
        ids, counts = np.unique(value, return_counts=True)
        if others.size:
            yield f"{others[0]}, which is none of them", self.what
        elif (counts > 1).any():
            yield f"{ids[counts > 1][0]} twice", self.what


def called(method: Callable[P, R], must: Contract, *args: P.args, **options: P.kwargs) -> R:
    """Return what a member's method returns for some arguments; a method from outside is checked.

    Raises:
        WrongReturn: it has returned something else than it `must`.
        GlobalDraw: it has drawn from a global generator.
    """
    maker = getattr(method, "__self__", method)  # a static method has no object
    if is_trusted(maker):
        return method(*args, **options)
    hook = getattr(method, "__name__", "")
    with watching_draws(maker, hook):
        value = method(*args, **options)
    check(maker, hook, value, must)
    return value


@contextmanager
def watching_draws(maker: object, hook: str) -> Iterator[None]:
    """Give a context for a call of a member's method.

    Raises:
        GlobalDraw: the member comes from outside, and has drawn from a global generator.
    """
    before = {} if is_trusted(maker) else states()
    yield
    for name in moved(before):
        raise GlobalDraw(f"{_named(maker, hook)} draws from {name}: {REMEDY}")


def check(maker: object, hook: str, value: object, must: Contract) -> None:
    """Check a value that the method `hook` of a member, or of an object that it made, has returned.

    Raises:
        WrongReturn: it is something else than it `must` be, and the member comes from outside.
    """
    if is_trusted(maker):
        return
    for got, wanted in must.faults(value):
        raise wrong(maker, hook, got, wanted)


def wrong(maker: object, hook: str, got: str, must: str) -> WrongReturn:
    """Return the error about a wrong value that a method of a plug-in returned, to be raised."""
    return WrongReturn(f"{_named(maker, hook)} returned {got}, must return {must}")


def is_trusted(maker: object) -> bool:
    """Return whether an object is of a shipped class, whose return values are not checked."""
    return not is_outside(_definition(maker))


def _named(maker: object, hook: str) -> str:
    definition = _definition(maker)
    name = f"{definition.__name__}.{hook}"
    if isinstance(definition, FunctionType):  # a static method
        name = definition.__qualname__
    return f"{method_place(definition, hook)}: {name}"


def _definition(maker: Any) -> Any:
    """Return the class of an object; a class or function itself."""
    if isinstance(maker, type | FunctionType):
        return maker
    return type(maker)
