"""The networks that are measured: those that the user names, or a ladder that tells the terms of the law apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from edgefl.core.errors import InputError
from edgefl.core.section import nearest
from edgefl.core.words import table_of
from edgefl.learning.models import MODELS, Model
from edgefl.world.compute_law import ForwardCounts

if TYPE_CHECKING:
    from torch import nn

TORCHVISION = "torchvision.models"
USUAL_INPUT = "3x32x32"
USUAL_BATCH_SIZES = (4, 16)
CLASSES = 10


class Network(NamedTuple):
    """A network to measure."""

    name: str
    shape: tuple[int, ...]  # of a sample
    batch_sizes: Sequence[int]
    make: Callable[[], nn.Module]
    counts: ForwardCounts


def chosen(names: Sequence[str], shape: str | None, batch_sizes: Sequence[int]) -> list[Network]:
    """Return the networks of a command line: those of its names, or without names the ladder.

    Raises:
        InputError: there is no such network, or it does not take such samples.
    """
    if names:
        sizes = shape_of(shape or USUAL_INPUT)
        return [named(name, sizes, batch_sizes or USUAL_BATCH_SIZES) for name in dict.fromkeys(names)]
    if shape:
        raise InputError(f"--input {shape}: the ladder has sizes of its own: add --model NAME")
    return [_rung(row, batch_sizes) for row in table_of(__file__, "ladder.csv")]


def shape_of(text: str) -> tuple[int, ...]:
    """Return the sizes in a text such as 3x32x32.

    Raises:
        InputError: it has another form.
    """
    sizes = text.split("x")
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        raise InputError(f"--input {text}: must be the sizes of a sample, such as {USUAL_INPUT}, each above 0")
    return tuple(int(size) for size in sizes)


def named(name: str, shape: tuple[int, ...], batch_sizes: Sequence[int]) -> Network:
    """Return the network of a name: a model of edgefl, one of torchvision, or a class or function module:Name.

    Raises:
        InputError: there is none, or it does not take such samples.
    """
    keys: dict[str, Any] = {"kind": name}
    if name not in MODELS.members and ":" not in name:
        from torchvision import models  # late, as it imports torch

        if not hasattr(models, name):
            near = nearest(name, [*MODELS.members, *vars(models)])
            raise InputError(f"--model {name}: neither edgefl nor torchvision has it{near}; or write my_module:Net")
        keys["kind"] = f"{TORCHVISION}:{name}"
    if keys["kind"].startswith(TORCHVISION):
        keys["num_classes"] = CLASSES
    try:
        model = TypeAdapter(Annotated[Model, MODELS]).validate_python(keys)
    except ValidationError as error:
        raise InputError(f"--model {name}: {error.errors()[0]['msg']}") from None
    reason = model.check(shape, CLASSES)
    if model.tokens or model.has_own_loss:
        reason = "takes token ids, or has its own loss: measure models of images or numbers"
    if reason:
        raise InputError(f"--model {name}: {reason}")
    counts = model.forward_counts(shape, CLASSES)
    return Network(name, shape, batch_sizes, partial(model.module, shape, CLASSES), counts)


def _rung(row: dict[str, str], batch_sizes: Sequence[int]) -> Network:
    shape = shape_of(row["input"])
    sizes = batch_sizes or [int(size) for size in row["batch_sizes"].split()]
    if not row["layers"]:
        return named(row["network"], shape, sizes)
    from edgefl.learning.models.forward_counts import forward_counts  # late: it imports torch

    make = partial(_products, shape, int(row["layers"]))
    return Network(row["network"], shape, sizes, make, forward_counts(make(), shape))


def _products(shape: tuple[int, ...], layers: int) -> nn.Module:
    """Return so many linear layers on each token of samples [T, width]: small networks of images have few products."""
    from torch import nn

    stacked = [module for _ in range(layers) for module in (nn.Linear(shape[-1], shape[-1]), nn.ReLU())]
    return nn.Sequential(*stacked, nn.Flatten(), nn.Linear(math.prod(shape), CLASSES))
