"""The state of learning in a file: plain values by torch, clients' states one after another."""

import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from edgefl.learning.learner.states.store import StateStore

ARRAY = "__array__"  # marks a NumPy array, which torch refuses to load from files that it does not trust


def write(file: BinaryIO, values: Mapping[str, Any], stores: Mapping[str, StateStore]) -> None:
    """Write nested mappings and lists of tensors, arrays and numbers, and whole stores."""
    with zipfile.ZipFile(file, "w") as archive:
        # force_zip64: the size is not known yet, and 2 GiB is little for the states of many clients
        with archive.open("values", "w", force_zip64=True) as member:
            torch.save(_packed(values), member)
        # stores write themselves row by row: the states of all clients may be larger than the memory
        for name, store in stores.items():
            with archive.open(name, "w", force_zip64=True) as member:
                store.dump(member)


def read_values(file: BinaryIO, device: torch.device) -> dict[str, Any]:
    """Return the values that `write` has written, tensors on a device."""
    with zipfile.ZipFile(file) as archive, archive.open("values") as member:
        packed = torch.load(member, map_location=device, weights_only=True)
    values: dict[str, Any] = _unpacked(packed)
    return values


def fill_stores(file: BinaryIO, stores: Mapping[str, StateStore]) -> None:
    """Read the stores that `write` has written."""
    with zipfile.ZipFile(file) as archive:
        for name, store in stores.items():
            with archive.open(name) as member:
                store.restore(member)


def _packed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {ARRAY: torch.from_numpy(value.copy())}
    if isinstance(value, Tensor):
        # torch saves all memory behind a view: a row of a large table is copied first
        is_view_of_more = value.untyped_storage().nbytes() > value.nbytes
        return value.detach().clone() if is_view_of_more else value.detach()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {name: _packed(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed(item) for item in value]
    return value


def _unpacked(value: Any) -> Any:
    """Return the value that `_packed` was given; tuples come back as lists."""
    if isinstance(value, dict):
        if set(value) == {ARRAY}:
            return value[ARRAY].cpu().numpy()
        return {name: _unpacked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    return value
