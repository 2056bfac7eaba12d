"""The section `report`: how often the model is evaluated, and what else is reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from edgefl.core.section import Count, Section, fault, shown
from edgefl.core.value_ranges import MOST_VALUES, is_range, values_of_range


def _listed(values: Any) -> Any:
    """Return the values of a range; a list as it is.

    Raises:
        PydanticCustomError: it is neither, or no range.
    """
    if isinstance(values, str) and is_range(values):
        try:
            return tuple(values_of_range(values))
        except ValueError as error:
            raise fault(f"{values}: {error}") from None
    if not isinstance(values, list | tuple):
        raise fault(f"must be a list of values or a range such as 5e6..100e6, got {shown(values)}")
    return tuple(values)


WhatIfValues = Annotated[
    tuple[Any, ...],
    BeforeValidator(_listed, json_schema_input_type=list[Any] | str),
    Field(min_length=1, max_length=MOST_VALUES),
]


class Contributions(Section):
    """Shapley values of the devices' updates: what each update is worth (FedAR paper, Fig. 1)."""

    every: Count = 10  # rounds from one evaluation of contributions to the next
    players: Literal["participants", "all"] = "participants"  # all: also devices whose stored update counts
    permutations: Count = 200  # random orders that are drawn for more than ten players
    value: Literal["accuracy", "loss"] = "accuracy"  # of the model on the test set; a lower loss is worth more


class ReportSection(Section):
    """Evaluations of the model: their interval, and further models and values to report."""

    eval_every: Count = 1  # rounds from one evaluation to the next; the last round is always evaluated
    models: Annotated[tuple[Literal["sel", "all"], ...], Field(strict=False)] = ()  # evaluated besides the global one
    train_accuracy: Literal["participants", "random", "all"] | None = None  # whose training samples it is measured on
    contributions: Contributions | None = None  # Shapley values and rankings of devices
    device_losses: bool = False  # true: losses of the model before and after local training, in a file
    predictions: Annotated[tuple[Count, ...], Field(strict=False)] = ()  # rounds: which classes the model then predicts
    labels_by_round: bool = False  # true: which labels each participant holds in each round, in a file
    gradient_norm: bool = False  # true: |grad F|^2 of the round's first model over its session's training samples
    geometry: bool = False  # true: coupling loss, and SINR while all cells send, of each participant in devices.csv
    strict_auc: bool = False  # true: of a ranking also the AUC that gives nothing for equal scores
    last_tests: Count = 50  # number of last evaluations whose mean and standard deviation the summary gives
    what_if: Mapping[str, WhatIfValues] = {}  # keys whose other values are priced at the end: lists, or 5e6..100e6

    @model_serializer(mode="wrap")
    def _dump_what_is_asked(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave `what_if` out where nothing is asked, so that folders of earlier versions have the same scenario."""
        content: dict[str, Any] = handler(self)
        if not self.what_if:
            del content["what_if"]
        return content
