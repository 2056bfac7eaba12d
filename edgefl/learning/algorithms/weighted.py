"""An algorithm with other weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    Field,
    PositiveFloat,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from edgefl.core.arrays import Floats
from edgefl.core.distributions import ColumnDistribution, read_column
from edgefl.core.errors import InputError
from edgefl.core.section import fault, fault_at, nearest, shown
from edgefl.learning.algorithms.base import Updates
from edgefl.learning.algorithms.reweighted import Reweighted

FORMS = (
    "samples, uniform, a list with a number above 0 for each device, {group: number}, or {file: x.csv, column: name}"
)


def _as_numbers(value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Return weights; those of a file as a list, so that a result does not depend on the file later on."""
    given = value
    if isinstance(value, dict) and value.keys() == ColumnDistribution.model_fields.keys():
        column = ColumnDistribution.model_validate(value, context=info.context)
        try:
            given = read_column(column.file, column.column).tolist()
        except InputError as error:
            raise fault(str(error)) from None
    try:
        return handler(given)
    except ValidationError:
        raise fault(f"must be {FORMS}, got {shown(value)}") from None


Weights = Annotated[
    Literal["samples", "uniform"]
    | Annotated[tuple[PositiveFloat, ...], Field(strict=False)]
    | ColumnDistribution
    | dict[str, PositiveFloat],
    WrapValidator(_as_numbers),
]


class Weighted(Reweighted):
    """Weighted: any mean over participants with weights of your own, p_k (Li et al., ICLR 2020, equation 1)."""

    # Weights of updates, by samples, uniform, or in proportion to a number of each device, a list, a column of a file,
    # or by groups of devices.
    weights: Weights = "samples"

    _borders: Mapping[str, tuple[int, int]] = PrivateAttr(default_factory=dict)

    @property
    def weighs_population(self) -> bool:
        """True unless by samples: base stations that average for themselves share the rest out by samples."""
        return self.weights != "samples"

    def check(self, population: int) -> str | None:
        """Refuse a list of weights that does not fit the devices."""
        if isinstance(self.weights, tuple) and len(self.weights) != population:
            listed = len(self.weights)
            return f"weights lists {listed} devices, but there are {population}: give one number for each"
        return self.base.check(population)

    def know_groups(self, borders: Mapping[str, tuple[int, int]]) -> None:
        """Note each group's devices; refuse weights of other groups, or of only some of them."""
        if not isinstance(self.weights, dict):
            return
        known = ", ".join(borders) or "none"
        for name in self.weights:
            if name not in borders:
                text = f"unknown group{nearest(name, borders)}; devices.groups has: {known}"
                raise fault_at(("algorithm", "weights", name), text)
        for name in borders:
            if name not in self.weights:
                raise fault_at(("algorithm", "weights"), f"lacks the group {name}: give a number for each of: {known}")
        self._borders = dict(borders)

    def new_weights(self, updates: Updates) -> Floats:
        """Return the weights [C]: n_i / sum n (samples), 1 / m (uniform), or w_i / sum w of given numbers w."""
        numbers = self._numbers(updates)
        return np.asarray(numbers / numbers.sum())

    def _numbers(self, updates: Updates) -> Floats:
        if self.weights == "samples":
            return updates.samples.astype(np.float64)
        if self.weights == "uniform":
            return np.ones(len(updates.ids))
        ids = updates.ids
        if updates.run.devices:
            ids = np.array(updates.run.devices)[ids]
        if isinstance(self.weights, dict):
            first_devices = [first for first, _ in self._borders.values()]
            by_group = np.array([self.weights[name] for name in self._borders])
            return by_group[np.searchsorted(first_devices, ids, side="right") - 1]
        return np.asarray(self.weights)[ids]
