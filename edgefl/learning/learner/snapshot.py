"""The state of learning in a file: plain values by torch, clients' states one after another."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from edgefl.learning.learner.store import StateStore

ARRAY = "__array__"  # marks a NumPy array, which torch does not load from unknown files


def write(file: BinaryIO, values: Mapping[str, Any], stores: Mapping[str, StateStore]) -> None:
    """Write nested mappings and lists of tensors, arrays and numbers, and whole stores."""
    with zipfile.ZipFile(file, "w") as archive:
        with archive.open("values", "w", force_zip64=True) as member:
            torch.save(_packed(values), member)
        for name, store in stores.items():
            with archive.open(name, "w", force_zip64=True) as member:
                store.dump(member)


def values(file: BinaryIO, device: torch.device) -> dict[str, Any]:
    """The values that `write` has written, tensors on a device."""
    with zipfile.ZipFile(file) as archive, archive.open("values") as member:
        unpacked: dict[str, Any] = _unpacked(torch.load(member, map_location=device, weights_only=True))
    return unpacked


def fill(file: BinaryIO, stores: Mapping[str, StateStore]) -> None:
    """Read the stores that `write` has written."""
    with zipfile.ZipFile(file) as archive:
        for name, store in stores.items():
            with archive.open(name) as member:
                store.restore(member)


def _packed(value: Any) -> Any:
    """With arrays as tensors; rows of a tensor as tensors of their own, lest all of it be written."""
    if isinstance(value, np.ndarray):
        return {ARRAY: torch.from_numpy(value.copy())}
    if isinstance(value, Tensor):
        return value.detach().clone() if value.untyped_storage().nbytes() > value.nbytes else value.detach()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {name: _packed(each) for name, each in value.items()}
    return [_packed(each) for each in value] if isinstance(value, (list, tuple)) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {ARRAY}:
            return value[ARRAY].cpu().numpy()
        return {name: _unpacked(each) for name, each in value.items()}
    return [_unpacked(each) for each in value] if isinstance(value, list) else value
