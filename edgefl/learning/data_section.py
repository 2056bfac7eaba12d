"""The section `data` of a scenario: the dataset, and which device holds which samples."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from edgefl.core.errors import InputError
from edgefl.core.global_draws import depends_on_draws
from edgefl.core.plugins import is_outside, path_of, place_of
from edgefl.core.returns import Instance, check, is_trusted
from edgefl.core.section import IF_GIVEN, Section, fault_at, shown
from edgefl.learning.datasets import DATASETS, Data, Dataset
from edgefl.learning.datasets.array_forms import as_dataset
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.datasets.own import from_data
from edgefl.learning.drifts import DRIFTS, Drift
from edgefl.learning.partitions import PARTITIONS, Partition
from edgefl.learning.partitions.iid import Iid

IMAGE_AXES = (2, 3)  # [H, W] or [channels, H, W]


class DataSection(Section):
    """The dataset, and the partition of its samples among the devices."""

    inlined: ClassVar[str | None] = "dataset"

    dataset: Annotated[Dataset, DATASETS] = Digits()  # Name of the dataset, whose own keys stand beside it.
    partition: Annotated[Partition, PARTITIONS] = Iid()  # Which device holds which samples.
    # Share of the training samples that is held out, before the others are divided, to choose models by.
    validation_share: Annotated[Annotated[float, Field(gt=0, lt=1)] | None, IF_GIVEN] = None
    # Divides the samples of a round's participants again in each round.
    redivide: Annotated[Partition, PARTITIONS] | None = None
    # Whether devices have test samples of their own (like_train), divided as their training samples are.
    test_partition: Literal["none", "like_train"] = "none"
    augmentation: Augmentation | None = None  # Random changes of images while training.
    channel_axis: bool = False  # Whether gray images [H, W] become [1, H, W], as convolutions of torch want them.
    # Concept drift: how the data of devices change during the run, and when.
    drift: Annotated[Annotated[Drift, DRIFTS] | None, IF_GIVEN] = None

    def load(self) -> Data:
        """Return the dataset, with images as `channel_axis` wants them.

        Raises:
            InputError: its files are missing or damaged, or the samples are not images.
        """
        data = self._loaded()
        check(self.dataset, "load", data, Instance(Data, "a Data of edgefl.learning.datasets"))
        if not is_trusted(self.dataset):
            data = from_data(data, f"data.dataset: {path_of(type(self.dataset))}")
        if not self.channel_axis:
            return data
        if len(data.shape) not in IMAGE_AXES or data.tokens:
            raise InputError(f"data.channel_axis: needs images, got samples of shape {list(data.shape)}: remove it")
        if len(data.shape) == 3:
            return data  # such images have their channels already
        return replace(data, train_x=data.train_x[:, np.newaxis], test_x=data.test_x[:, np.newaxis])

    def _loaded(self) -> Data:
        """Return what the dataset loads; refuse one that depends on the states of global random generators."""
        maker = self.dataset.made_from()
        if not is_outside(maker):
            return self.dataset.load()
        data, generators = depends_on_draws(self.dataset.load, _are_alike)
        for generator in generators:
            remedy = "draw from np.random.default_rng(0), so that the data are the same in every run"
            raise InputError(f"{place_of(maker)}: data.dataset: {path_of(maker)} draws from {generator}: {remedy}")
        return data

    @model_validator(mode="before")
    @classmethod
    def _collect_dataset_keys(cls, value: Any) -> Any:
        """Move the dataset's keys, which stand beside `dataset` in YAML, into the dataset."""
        if not isinstance(value, dict) or isinstance(value.get("dataset"), Dataset):
            return value
        name = value.get("dataset", "digits")
        if not isinstance(name, str) and not callable(name):  # a class, or what else a plug-in may be in Python
            remedy = as_dataset(name) or f"; known: {', '.join(DATASETS.members)}"
            raise fault_at(("dataset",), f"must be a name, got {shown(name)}{remedy}")
        dataset = {"kind": name}
        collected: dict[str, Any] = {"dataset": dataset}
        for key, item in value.items():
            if key not in cls.model_fields:
                dataset[key] = item
            elif key != "dataset":
                collected[key] = item
        return collected

    @model_serializer(mode="wrap")
    def _spread_dataset_keys(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write the dataset's keys beside `dataset`, as in YAML."""
        dumped = handler(self)
        own = dumped.pop("dataset")
        return {"dataset": own.pop("kind"), **own, **dumped}


class Augmentation(Section):
    """Random crops of padded images and horizontal flips, drawn for each sample and step."""

    # Pixels of padding on each side before an image is cropped to its size.
    crop_padding: Annotated[int, Field(ge=0, le=1000)] = 4
    crop_probability: Annotated[float, Field(ge=0, le=1)] = 1.0  # Probability that an image is cropped.
    # Colour of the padding. With black it is 0 as stored, with mean 0 after normalisation.
    fill: Literal["black", "mean"] = "black"
    flip: bool = True  # Whether half of the images are mirrored.


def _are_alike(first: object, second: object) -> bool:
    if not isinstance(first, Data) or not isinstance(second, Data):
        return True
    return all(np.array_equal(getattr(first, field.name), getattr(second, field.name)) for field in fields(Data))
