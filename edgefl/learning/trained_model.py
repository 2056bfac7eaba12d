"""A trained model as it leaves a run: its named tensors, and everything that building its module takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

Array = npt.NDArray[Any]

# The library writes several entries of metadata in another order in each process, so that equal runs would differ.
METADATA_KEY = "edgefl"
OWN = "devices:"  # begins the names of tensors [devices, *shape]


@dataclass(frozen=True)
class TrainedModel:
    """The tensors of an evaluated model, as arrays, which are written, read and compared without torch."""

    tensors: Mapping[str, Array]  # parameters and buffers, in the order and by the names of the module's `state_dict`
    parameters: tuple[str, ...]  # names of the tensors that the flat vector holds, in its order
    sample_shape: tuple[int, ...]  # of a sample that the model takes
    classes: int  # numbers that the model gives for a sample, one for each class; 0 where samples have no labels
    sample_dtype: str = "float32"  # of what the model takes: float32, float64, or int64 for token ids
    mean: Any = 0.0  # the model takes (x - mean) / std of the stored samples x: a number, or nested lists of them
    std: Any = 1.0
    # [devices, *shape] the values of the tensors that each device has of its own (`training.parts.keep`).
    own: Mapping[str, Array] = field(default_factory=dict)

    def of_device(self, device: int) -> TrainedModel:
        """Return the model of a device, with its own values.

        Raises:
            ValueError: devices have no values of their own, or there is no such device.
        """
        if not self.own:
            raise ValueError("devices have no models of their own, as training.parts keeps nothing at devices")
        count = len(next(iter(self.own.values())))
        if not 0 <= device < count:
            raise ValueError(f"there is no device {device}: devices are 0 to {count - 1}")
        own = {name: values[device] for name, values in self.own.items()}
        return replace(self, tensors={**self.tensors, **own}, own={})

    def prepared(self, x: Array) -> Array:
        """Return samples x [n, *sample_shape] as the model takes them, from samples as the dataset stores them."""
        dtype = np.dtype(self.sample_dtype)
        x = x.reshape(-1, *self.sample_shape)  # gray images may be stored without the axis of their one channel
        if dtype.kind != "f":  # token ids
            return x.astype(dtype)
        normalised: Array = (x - np.array(self.mean)) / np.array(self.std)
        return normalised.astype(dtype)

    def flat(self) -> npt.NDArray[np.float32]:
        """Return the parameters as one vector [d]."""
        with np.errstate(over="ignore"):  # the scalar problem is float64: a diverged model may not fit in float32
            parts = [self.tensors[name].astype(np.float32).ravel() for name in self.parameters]
        return np.concatenate(parts)

    def to_bytes(self, **about: str) -> bytes:
        """Return the content of a safetensors file, with texts `about` the model in its metadata."""
        metadata = {
            **about,
            "sample_shape": self.sample_shape,
            "classes": self.classes,
            "sample_dtype": self.sample_dtype,
            "mean": self.mean,
            "std": self.std,
            "state_dict": list(self.tensors),  # the library sorts tensors by type and name
            "parameters": self.parameters,
        }
        if self.own:
            metadata["own"] = list(self.own)
        own = {f"{OWN}{name}": values for name, values in self.own.items()}
        return save({**self.tensors, **own}, {METADATA_KEY: json.dumps(metadata)})

    @classmethod
    def from_bytes(cls, content: bytes) -> TrainedModel:
        """Return the model of a safetensors file that `to_bytes` has made.

        Raises:
            ValueError: it is damaged, or another program has made it.
        """
        try:
            header_bytes = int.from_bytes(content[:8], "little")
            header = json.loads(content[8 : 8 + header_bytes])
            metadata = json.loads(header["__metadata__"][METADATA_KEY])
            tensors = load(content)
            return cls(
                tensors={name: tensors[name] for name in metadata["state_dict"]},
                parameters=tuple(metadata["parameters"]),
                sample_shape=tuple(metadata["sample_shape"]),
                classes=metadata["classes"],
                sample_dtype=metadata["sample_dtype"],
                mean=metadata["mean"],
                std=metadata["std"],
                own={name: tensors[f"{OWN}{name}"] for name in metadata.get("own", ())},
            )
        except (SafetensorError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"no model of an edgefl run ({type(error).__name__}: {error})") from None
