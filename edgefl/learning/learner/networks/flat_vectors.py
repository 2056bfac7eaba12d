"""Flat vectors, which hold the tensors of a module one after another."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod

import torch
from torch import Tensor

Tensors = Sequence[Tensor]


class Layout:
    """The order, names and shapes of named tensors in a flat vector."""

    def __init__(self, named: dict[str, Tensor]) -> None:
        self.names = list(named)
        self.shapes = [tensor.shape for tensor in named.values()]
        self.sizes = [prod(shape) for shape in self.shapes]

    def __len__(self) -> int:
        return sum(self.sizes)

    def views(self, flat: Tensor) -> list[Tensor]:
        """Return each tensor as a view [..., *shape] of flat vectors [..., d]; nothing is copied."""
        if not self.sizes:
            return []
        parts = torch.split(flat, self.sizes, dim=-1)
        # The shape is one argument: a tensor without axes has none to be listed.
        return [part.view((*part.shape[:-1], *shape)) for part, shape in zip(parts, self.shapes, strict=True)]

    def places(self, numbers: Sequence[int]) -> list[slice]:
        """Return where the tensors of these numbers lie in the flat vector."""
        if not numbers:
            return []
        slices = list(self.slices().values())
        return [slices[number] for number in numbers]

    def slices(self) -> dict[str, slice]:
        """Return where each tensor lies in the flat vector, by its name."""
        found = {}
        begin = 0
        for name, size in zip(self.names, self.sizes, strict=True):
            found[name] = slice(begin, begin + size)
            begin += size
        return found


@contextmanager
def unchanged(places: Sequence[slice], vectors: Tensors) -> Iterator[None]:
    """Keep some places of vectors [..., d] as they are, whatever is written there meanwhile."""
    kept = [(vector, place, vector[..., place].clone()) for vector in vectors for place in places]
    yield
    for vector, place, values in kept:
        vector[..., place] = values


def flatten(tensors: Tensors, like: Tensor) -> Tensor:
    """Return one flat copy of tensors of any shapes; an empty one has the type and device of `like`."""
    if not tensors:
        return like.new_empty(0).detach()
    return torch.cat([tensor.detach().flatten() for tensor in tensors])
