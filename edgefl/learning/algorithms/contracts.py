"""Contracts of an algorithm's hooks: what each must return for its arguments.

A vector of a wrong size or type can go unnoticed: torch broadcasts shapes and converts between float32 and float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgefl.core.returns import Array, Contract, Instance, Number, Where, is_tensor, kind

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from edgefl.learning.algorithms.base import Algorithm, LocalContext

AWAITED = "awaited"  # the entry of the server's state that holds ids of devices, not a tensor
BATCHED = "hooks of devices get vectors [d] or [devices, d], so count axes from the end (x[..., 0], dim=-1)"
TYPES = "make tensors from others (x.new_tensor(...), torch.zeros_like(x)), which gives them the right type"
NUMBERS = "finite ones"  # not a fault if the hook got other numbers

Faults = Iterator[tuple[str, str]]
Shape = tuple[int | None, ...]  # None: any length


@dataclass(slots=True)
class Like:
    """A tensor of a shape and type."""

    shape: Shape | None  # None: any
    dtype: torch.dtype | None  # None: any
    what: str = ""
    numbers: Literal["finite", "no NaN", "any"] = "finite"
    also: Literal["floating", "whole", ""] = ""  # other types that are allowed, whose numbers are not checked
    batched: bool = True  # whether the first of several axes may be that of devices

    def faults(self, value: Any, what: str = "") -> Faults:
        """See `Contract`; the first fault is the only one. The value is named `what`."""
        what = what or self.what
        if not is_tensor(value):
            yield f"{kind(value)} as {what}", f"a tensor {self._shown()}"
        elif not self._fits(tuple(value.shape)):
            remedy = ""
            if self.batched and len(self.shape or ()) > 1:
                remedy = f": {BATCHED}"
            yield f"{what} of shape {list(value.shape)}", f"{self._shown()}{remedy}"
        elif self.dtype not in {None, value.dtype}:
            found = "floating" if value.is_floating_point() else "whole"
            if found != self.also:
                yield f"{what} in {value.dtype}", f"{self.dtype}: {TYPES}"
        elif self.numbers == "no NaN" and has_nan(value):
            yield f"NaN in {what} from finite numbers", NUMBERS
        elif self.numbers == "finite" and not value.isfinite().all():
            yield f"NaN or infinity in {what} from finite numbers", NUMBERS

    def _shown(self) -> str:
        if self.shape is None:
            return "of any shape"
        return str(["n" if size is None else size for size in self.shape]).replace("'", "")

    def _fits(self, found: tuple[int, ...]) -> bool:
        if self.shape is None:
            return True
        sizes = zip(found, self.shape, strict=False)
        return len(found) == len(self.shape) and all(wanted in {None, size} for size, wanted in sizes)


@dataclass(slots=True)
class Decay:
    """A number, or a tensor with one number for each client."""

    column: Shape  # [*lead, 1]

    def faults(self, value: Any) -> Faults:
        """See `Contract`."""
        if not is_tensor(value):
            yield from Number(f"a finite number or a tensor {list(self.column)}").faults(value)
        elif tuple(value.shape) not in {(), (1,), self.column}:
            yield f"a tensor {list(value.shape)}", f"one number for each client {list(self.column)}"
        else:
            yield from Like(None, None, "the decay").faults(value)


@dataclass(slots=True)
class Entries:
    """A dictionary of tensors by name."""

    others: Like | Instance | None = None  # those that are not `named`; None: there are none
    named: Mapping[str, Like] = field(default_factory=dict)
    source: str = ""  # of these names
    all_named: bool = True  # whether each of them must be there
    some: bool = False  # whether there must be an entry

    def faults(self, value: Any) -> Faults:
        """See `Contract`."""
        if not isinstance(value, Mapping):
            yield kind(value), "a dictionary of tensors by name"
            return
        value = {name: entry for name, entry in value.items() if name != AWAITED}
        missing = self.named.keys() - value.keys()
        unknown = value.keys() - self.named.keys()
        if (missing and self.all_named) or (unknown and self.others is None):
            yield _names(value), f"{_names(self.named)}, {self.source}"
        if self.some and not value:
            yield "no vector", "at least one, which an update needs"
        for name, entry in value.items():
            must = self.named.get(name, self.others)
            if must is not None:
                yield from must.faults(entry, f'"{name}"')


def _ids(population: int) -> Array:
    return Array((None,), f"ids of devices, from 0 to {population - 1}", least=0, most=population - 1, whole=True)


def _vectors(like: Tensor, lead: Shape = (), **options: Any) -> Like:
    """Return the contract of vectors [*lead, n] of any lengths."""
    return Like((*lead, None), like.dtype, **options)


def _same(tensor: Tensor, what: str = "", **options: Any) -> Like:
    return Like(tuple(tensor.shape), tensor.dtype, what, **options)


def _table(name: str, tensor: Tensor) -> Like:
    """Return the contract of an entry of the server's state."""
    # Tables may hold infinities from the beginning, such as the age of an update that never came.
    if name == "w":
        return _same(tensor, batched=False)
    return _same(tensor, batched=False, numbers="no NaN")


def _labels(_algorithm: Algorithm, y: Tensor, local: LocalContext) -> Contract:
    """Return the contract of `labels`: like those of the samples, and new ones are classes."""
    like = _same(y, "labels")
    classes = len(local.run.labels)
    if y.is_floating_point() or not classes:
        return like

    def wrong(found: Tensor) -> Tensor:
        return found[(found != y) & ((found < 0) | (found >= classes))]

    must = f"classes from 0 to {classes - 1}"
    return Where(like, lambda found: not len(wrong(found)), must, lambda found: f"label {wrong(found)[0]}")


def _remembered(algorithm: Algorithm, w: Tensor, _local: LocalContext) -> Entries:
    """Return the contract of `remember`: a row of the initial state for each client."""
    initial = algorithm.client_state(w.reshape(-1, w.shape[-1])[0])
    named = {name: Like((*w.shape[:-1], *row.shape), w.dtype) for name, row in initial.items()}
    return Entries(named=named, source="the entries of client_state")


def _state(_algorithm: Algorithm, server: Mapping[str, Any], *_: object, whole: bool) -> Entries:
    """Return the contract of the server's next state, or of a part of it."""
    named = {name: _table(name, value) for name, value in server.items() if name != AWAITED}
    return Entries(named=named, source="the entries of the server's state", all_named=whole)


# For each hook the contract, given the algorithm and the hook's arguments.
CONTRACTS: dict[str, Callable[..., Contract]] = {
    "server_state": lambda _, w: Entries(
        Like(None, w.dtype, numbers="any", also="whole"), {"w": _same(w)}, "the model, among its entries"
    ),
    "device_rows": lambda _, w: Entries(_vectors(w, numbers="no NaN")),
    "client_state": lambda _, w: Entries(_vectors(w)),
    "awaited": lambda _, _awaited, _received, population, _rng: _ids(population),
    "admit": lambda _, ids, _server, _rng: Where(
        _ids(int(ids.max(initial=0)) + 1),
        lambda found: np.array_equal(ids[np.isin(ids, found)], found),
        f"some of {ids} in the same order",
    ),
    "waits": lambda *_: Instance((bool, np.bool_), "True or False: write bool(...)"),
    "broadcast": lambda _, server: _same(server["w"], "a model"),
    "downlink": lambda _, server: Entries(_vectors(server["w"])),
    "sent_once": lambda _: Instance((set, frozenset), "a frozenset of names"),
    "labels": _labels,
    "references": lambda _, local: Entries(_same(local.start)),
    "loss": lambda _, losses, *_more: _same(losses, "losses", also="floating"),  # autocast chooses the type
    "correct": lambda _, gradient, *_more: _same(gradient, "a gradient"),
    "decay": lambda _, local: Decay((*local.start.shape[:-1], 1)),
    "finish": lambda _, w, _local: Entries(_vectors(w, w.shape[:-1]), some=True),
    "derived": lambda _, _upload, local: Entries(_vectors(local.start, local.start.shape[:-1])),
    "remember": _remembered,
    "aggregate": partial(_state, whole=True),
    "trace": lambda *_: Entries(Instance(Real, "a number: write float(...)")),
    "contributors": lambda _, _server, updates: Where(
        _ids(updates.population), lambda ids: (np.diff(ids) > 0).all(), "ascending ids, each once: use np.unique"
    ),
    "carried_over": partial(_state, whole=False),
    "share_in_means": lambda *_: Instance(Mapping, "a dictionary of tensors by name"),
}


def has_nan(value: Any) -> bool:
    """Return whether a value is a tensor that holds NaN."""
    return is_tensor(value) and bool(value.isnan().any())


def _names(mapping: Mapping[str, Any]) -> str:
    return ", ".join(f'"{name}"' for name in mapping) or "no entries"
