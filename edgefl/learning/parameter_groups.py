"""The key `training.parameter_groups`: parameters with a learning rate or a weight decay of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from edgefl.core.section import IF_GIVEN, Section, fault
from edgefl.learning.parts import matching


class ParameterGroup(Section):
    """Another learning rate or weight decay for some parameters, as in the parameter groups of torch's optimisers."""

    # Parameters by their names in torch's `state_dict`: one of them, a layer with all of its own, or a pattern.
    names: Annotated[str, Field(min_length=1)]
    # Learning rate of these parameters beside `training.lr`; schedules, warm-up and variations multiply it.
    lr: Annotated[PositiveFloat | None, IF_GIVEN] = None
    weight_decay: Annotated[NonNegativeFloat | None, IF_GIVEN] = None  # Weight decay of these parameters.

    @model_validator(mode="after")
    def _check_change(self) -> ParameterGroup:
        if self.lr is None and self.weight_decay is None:
            raise fault("changes nothing: give lr or weight_decay")
        return self


def values_of(groups: Sequence[ParameterGroup], names: Sequence[str], key: str, usual: float) -> dict[str, float]:
    """Return the value of a key of groups for each of the trained parameters `names`; `usual` where none says it.

    Raises:
        PartsError: a pattern matches none; its key is the one below `training`.
    """
    values = dict.fromkeys(names, usual)
    for place, group in enumerate(groups):
        members = matching(f"parameter_groups.{place}.names", [group.names], names)
        if getattr(group, key) is not None:
            values |= dict.fromkeys(members, getattr(group, key))
    return values
