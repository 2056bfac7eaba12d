"""The section `data`: what is learned from, and who holds it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from edgefl.core.section import Section, fault_at, shown
from edgefl.learning.datasets import DATASETS, Dataset
from edgefl.learning.datasets.digits import Digits
from edgefl.learning.partitions import PARTITIONS, Partition
from edgefl.learning.partitions.iid import Iid


class DataSection(Section):
    """What is learned from, and who holds it."""

    inlined: ClassVar[str | None] = "dataset"

    dataset: Annotated[Dataset, DATASETS] = Digits()
    partition: Annotated[Partition, PARTITIONS] = Iid()
    test_partition: Literal["none", "like_train"] = "none"  # whether devices have test samples of their own, and which
    augmentation: Augmentation | None = None

    @model_validator(mode="before")
    @classmethod
    def _collect(cls, value: Any) -> Any:
        """The dataset's own keys stand beside `dataset`."""
        if not isinstance(value, dict) or isinstance(value.get("dataset"), Dataset):
            return value
        if not isinstance(value.get("dataset", "digits"), str):
            known = ", ".join(DATASETS.members)
            raise fault_at(("dataset",), f"must be a name, got {shown(value['dataset'])}; known: {known}")
        own = {key: item for key, item in value.items() if key not in cls.model_fields}
        rest = {key: item for key, item in value.items() if key not in own}
        rest.pop("dataset", None)
        return {"dataset": {"kind": value.get("dataset", "digits"), **own}, **rest}

    @model_serializer(mode="wrap")
    def _spread(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        dumped = handler(self)
        own = dumped.pop("dataset")
        return {"dataset": own.pop("kind"), **own, **dumped}


class Augmentation(Section):
    """Random crops of padded images and horizontal flips, drawn for each sample and step."""

    crop_padding: Annotated[int, Field(ge=0, le=1000)] = 4
    crop_probability: Annotated[float, Field(ge=0, le=1)] = 1.0  # with which an image is cropped at all
    fill: Literal["black", "mean"] = "black"  # of the padding: 0 as stored, or 0 after normalisation
    flip: bool = True
