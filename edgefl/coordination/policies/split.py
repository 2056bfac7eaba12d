"""Split learning: devices train the first layers of the model (its front), the server trains the rest (its back)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Annotated, Any, ClassVar, Literal

import simpy
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from edgefl.coordination.policies.base import Coordinator, Policy
from edgefl.coordination.policies.sequential import Sequential
from edgefl.coordination.policies.synchronous import Synchronous
from edgefl.core.section import fault, shown


def _check_layer(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Return a layer's name or number; raise one sentence instead of one for each alternative of the type."""
    try:
        return handler(value)
    except ValidationError:
        raise fault(f"must be the name of a layer, or its number from 1, got {shown(value)}") from None


CutLayer = Annotated[str | Annotated[int, Field(ge=1)] | None, WrapValidator(_check_layer)]


class Split(Policy):
    """Devices train a model's front, the server its back (SplitFed, Thapa et al., AAAI 2022; SSL, Li & Lyu, 2023)."""

    splits_model: ClassVar[bool] = True

    # Whether all devices train at once (SplitFed V1), or the front walks from one to the next (SSL).
    mode: Literal["parallel", "sequential"] = "parallel"
    cut: CutLayer = None  # Last layer of the front; by default the model's usual one.

    @property
    def averages(self) -> bool:
        """Return True in parallel mode, where the server averages the fronts and backs."""
        return self.mode == "parallel"

    @property
    def cut_layer(self) -> str | int | None:
        """Return the front's last layer."""
        return self.cut

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """Run rounds as with whole models: only the participations differ."""
        if self.averages:
            return Synchronous().run(server)
        return Sequential().run(server)
