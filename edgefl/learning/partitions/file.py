"""Partition from a file."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt, TypeAdapter, ValidationError

from edgefl.core.arrays import Indices
from edgefl.core.errors import InputError
from edgefl.core.paths import UserPath
from edgefl.core.section import sentence
from edgefl.learning.partitions.base import Partition

Parts = dict[str, Annotated[list[NonNegativeInt], Field(min_length=1)]]


class FilePartition(Partition):
    """A JSON file of every device's samples: {"0": [indices], "1": [...], ...} (as the sequential-FL paper's)."""

    path: UserPath

    def split(self, labels: Indices, count: int, rng: np.random.Generator) -> list[Indices]:
        """The lists as they stand: a sample may be listed more than once or not at all."""
        try:
            parts = TypeAdapter(Parts).validate_json(self.path.read_bytes(), strict=True)
        except OSError as error:
            raise InputError(f"data.partition.path: {self.path}: {error.strerror}") from None
        except ValidationError as error:
            first = error.errors()[0]
            where = "".join(f"{part}: " for part in first["loc"])
            raise InputError(f"data.partition.path: {self.path}: {where}{sentence(first)}") from None
        missing = [device for device in range(count) if str(device) not in parts]
        if missing or len(parts) != count:
            lacks = f'; device "{missing[0]}" is missing' if missing else ""
            message = f"has {len(parts)} devices, the scenario has {count} (numbered from 0){lacks}"
            raise InputError(f"data.partition.path: {self.path}: {message}")
        worst = max(max(indices) for indices in parts.values())
        if worst >= len(labels):
            message = f"names sample {worst}, but there are {len(labels)} (numbered from 0)"
            raise InputError(f"data.partition.path: {self.path}: {message}")
        return [np.array(parts[str(device)], dtype=np.int64) for device in range(count)]
