"""Partition from a file."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, NonNegativeInt, TypeAdapter, ValidationError

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.core.files import read_bytes
from edgefl.core.paths import UserFile
from edgefl.core.section import sentence
from edgefl.learning.partitions.base import Partition

# Keys of JSON objects are texts, even if they are numbers.
SamplesByDevice = dict[str, Annotated[list[NonNegativeInt], Field(min_length=1)]]


class FilePartition(Partition):
    """A JSON file of every device's samples: {"0": [indices], "1": [...], ...} (as the sequential-FL paper's)."""

    path: UserFile  # JSON file with the samples of each device.

    by_labels: ClassVar[bool] = False
    of_parts: ClassVar[bool] = False

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """Return the lists in the file; a sample may be listed several times, or never."""
        parts = self._read()
        missing = [device for device in range(count) if str(device) not in parts]
        if missing or len(parts) != count:
            lacks = f'; device "{missing[0]}" is missing' if missing else ""
            raise self._fault(f"has {len(parts)} devices, the scenario has {count} (numbered from 0){lacks}")
        # Numbers below 0, which Python would count from the end, are refused as the file is read.
        highest = max(max(indices) for indices in parts.values())
        if highest >= len(labels):
            raise self._fault(f"names sample {highest}, but there are {len(labels)} (numbered from 0)")
        return [np.array(parts[str(device)], dtype=np.int64) for device in range(count)]

    def _read(self) -> SamplesByDevice:
        try:
            return TypeAdapter(SamplesByDevice).validate_json(read_bytes(self.path), strict=True)
        except OSError as error:
            raise self._fault(str(error.strerror)) from None
        except ValidationError as error:
            first = error.errors()[0]  # one sentence: a wrong file has one error for each entry
            where = "".join(f"{part}: " for part in first["loc"])
            raise self._fault(f"{where}{sentence(first)}") from None

    def _fault(self, what: str) -> InputError:
        return InputError(f"data.partition.path: {self.path}: {what}")
