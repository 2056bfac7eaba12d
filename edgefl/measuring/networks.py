"""The networks that are measured: those that the user names, or a ladder that tells the terms of the law apart."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from edgefl.calibration.log import NetworkCounts
from edgefl.core.errors import InputError
from edgefl.core.files import opened_text
from edgefl.core.section import nearest
from edgefl.learning.models import MODELS, Model

if TYPE_CHECKING:
    from torch import nn

LADDER = Path(__file__).with_name("ladder.csv")
TORCHVISION = "torchvision.models:"
USUAL_INPUT = "3x32x32"
USUAL_BATCH_SIZES = (4, 16)
CLASSES = 10
MOST = 1e9  # numbers in a sample, or samples in a batch


class Network(NamedTuple):
    """A network to measure."""

    name: str
    shape: tuple[int, ...]  # of a sample
    batch_sizes: Sequence[int]
    make: Callable[[], nn.Module]
    counts: NetworkCounts


class Setting(NamedTuple):
    """A phase of a network to measure."""

    network: Network
    batch_size: int
    phase: str  # train or evaluate

    @property
    def title(self) -> str:
        """The setting in a line."""
        return f"{self.network.name}, batch {self.batch_size}, {self.phase}"


def settings_of(networks: Sequence[Network]) -> list[Setting]:
    """Return the training and the evaluation of all networks with all of their batch sizes."""
    pairs = [(network, batch_size) for network in networks for batch_size in network.batch_sizes]
    return [Setting(*pair, phase) for pair in pairs for phase in ("train", "evaluate")]


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
    return ladder(batch_sizes)


def ladder(batch_sizes: Sequence[int] = ()) -> list[Network]:
    """Return the networks of the ladder; other batch sizes than its own if they are given."""
    with opened_text(LADDER) as stream:
        rows = list(csv.DictReader(stream))
    found = []
    for row in rows:
        own = batch_sizes or [int(size) for size in row["batch_sizes"].split()]
        shape = shape_of(row["input"])
        if row["kind"] == "model":
            found.append(named(row["network"], shape, own))
            continue
        sizes = [int(row[column] or 0) for column in ("layers", "width", "kernel", "groups")]
        found.append(_rung(row["network"], shape, own, row["kind"], sizes))
    return found


def shape_of(text: str) -> tuple[int, ...]:
    """Return the sizes in a text such as 3x32x32.

    Raises:
        InputError: it has another form.
    """
    sizes = text.split("x")
    if not all(size.isdecimal() and 0 < int(size) <= MOST for size in sizes):
        raise InputError(f"--input {text}: must be the sizes of a sample, such as {USUAL_INPUT}, each above 0")
    return tuple(int(size) for size in sizes)


def named(name: str, shape: tuple[int, ...], batch_sizes: Sequence[int]) -> Network:
    """Return the network of a name: a model of edgefl, one of torchvision, or a class or function module:Name.

    Raises:
        InputError: there is none, or it does not take such samples.
    """
    model = _model(name)
    reason = model.check(shape, CLASSES)
    if model.tokens or model.has_own_loss:
        reason = "takes no numbers as samples, or has a loss of its own: measure models of images or numbers"
    if reason:
        raise InputError(f"--model {name}: {reason}")
    try:
        counts = NetworkCounts(model.forward_counts(shape, CLASSES))
    except InputError as error:
        raise InputError(f"--model {name}: {error}") from None
    return Network(name, shape, batch_sizes, lambda: model.module(shape, CLASSES), counts)


def _model(name: str) -> Model:
    keys: dict[str, Any] = {"kind": name}
    if name not in MODELS.members and ":" not in name:
        keys["kind"] = _path_in_torchvision(name)
    if keys["kind"].startswith(TORCHVISION):
        keys["num_classes"] = CLASSES
    try:
        return TypeAdapter(Annotated[Model, MODELS]).validate_python(keys)
    except ValidationError as error:
        raise InputError(f"--model {name}: {error.errors()[0]['msg']}") from None


def _path_in_torchvision(name: str) -> str:
    from torchvision import models

    others = models.list_models(module=models)
    if name not in others:
        remedy = "edgefl list models has edgefl's, torchvision its own; or write my_module:Net"
        raise InputError(f"--model {name}: is not known{nearest(name, [*MODELS.members, *others])}: {remedy}")
    return f"{TORCHVISION}{name}"


def _rung(name: str, shape: tuple[int, ...], batch_sizes: Sequence[int], kind: str, sizes: Sequence[int]) -> Network:
    from edgefl.learning.models.forward_counts import forward_counts
    from edgefl.measuring.stacks import stack

    def make() -> nn.Module:
        return stack(kind, shape, *sizes)

    return Network(name, shape, batch_sizes, make, NetworkCounts(forward_counts(make(), shape)))
