"""The model is cut in two: devices train its front, the server trains its back."""

from __future__ import annotations

from collections.abc import Generator
from typing import Annotated, Any, ClassVar, Literal

import simpy
from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from edgefl.coordination.policies.base import Coordinator, Policy
from edgefl.coordination.policies.sequential import Sequential
from edgefl.coordination.policies.synchronous import Synchronous
from edgefl.core.section import fault, shown


def _layer(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """One sentence for the two alternatives."""
    try:
        return handler(value)
    except ValidationError:
        raise fault(f"must be the name of a layer, or its number from 1, got {shown(value)}") from None


Cut = Annotated[str | Annotated[int, Field(ge=1)] | None, WrapValidator(_layer)]


class Split(Policy):
    """Devices train a model's front, the server its back (SplitFed, Thapa et al., AAAI 2022; SSL, Li & Lyu, 2023)."""

    splits_model: ClassVar[bool] = True

    mode: Literal["parallel", "sequential"] = "parallel"  # SplitFed V1: all at once; SSL: the front walks
    cut: Cut = None  # the front's last layer; the model's usual one where not given

    @property
    def averages(self) -> bool:
        """Fronts and backs of devices that train at once."""
        return self.mode == "parallel"

    @property
    def cut_layer(self) -> str | int | None:
        """The last layer of the front."""
        return self.cut

    def run(self, server: Coordinator) -> Generator[simpy.Event, Any, None]:
        """As with whole models."""
        return (Synchronous() if self.averages else Sequential()).run(server)
