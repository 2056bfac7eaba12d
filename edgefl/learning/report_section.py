"""The section `report`: how often the model is evaluated, and what else is reported."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from edgefl.core.catalogue import where_known
from edgefl.core.section import Count, KeyPath, Section, dotted, fault, fault_at, shown
from edgefl.core.value_ranges import MOST_VALUES, is_range, values_of_range
from edgefl.learning.measures import MEASURES, Measure
from edgefl.learning.measures.contributions import Contributions
from edgefl.learning.measures.device_losses import DeviceLosses
from edgefl.learning.measures.gradient_norm import GradientNorm
from edgefl.learning.measures.predictions import Predictions
from edgefl.records.columns import ROUND_COLUMNS
from edgefl.records.result_files import RESULT_FILES

NAME = "[a-z][a-z0-9_]*"  # of a measure, which is that of its table


def _listed(values: Any) -> Any:
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


class AskedMeasure(NamedTuple):
    """A measure of the report, with its key."""

    key: KeyPath  # where in the scenario
    measure: Measure


class ReportSection(Section):
    """Evaluations of the model: their interval, and other models and values to report."""

    eval_every: Count = 1  # Rounds from one evaluation to the next; the last round is always evaluated.
    # Whether the folder keeps the best evaluated model, too: by accuracy, or loss of a regression, on the validation
    # set. Without that set it is chosen on the test set, whose accuracy then overstates what the model achieves.
    best_model: Annotated[bool, Field(exclude_if=lambda wanted: not wanted)] = False
    # Models that are evaluated besides the global one. sel is the mean of the round's models, all that of all devices'
    # last ones.
    models: Annotated[tuple[Literal["sel", "all"], ...], Field(strict=False)] = ()
    # On whose training samples the accuracy is also measured.
    train_accuracy: Literal["participants", "random", "all"] | None = None
    contributions: Contributions | None = None  # Shapley values and rankings of devices.
    device_losses: bool = False  # Whether a file has the losses of the model before and after local training.
    # Rounds after which a file has the classes that the model predicts.
    predictions: Annotated[tuple[Count, ...], Field(strict=False)] = ()
    labels_by_round: bool = False  # Whether a file has the labels that each participant holds in each round.
    # Whether |grad F|^2 of the round's first model over its session's training samples is measured.
    gradient_norm: bool = False
    # Whether devices.csv has the coupling loss of each participant, its SINR, and that while all cells send.
    geometry: bool = False
    strict_auc: bool = False  # Whether a ranking also gets the AUC that gives nothing for equal scores.
    # More measures, by kind.
    measures: Annotated[tuple[Annotated[Measure, MEASURES], ...], Field(strict=False)] = ()
    last_tests: Count = 50  # Number of last evaluations whose mean and standard deviation the summary gives.
    # Keys whose other values are priced at the end, as lists or as ranges such as 5e6..100e6.
    what_if: Mapping[str, WhatIfValues] = {}

    @property
    def asked(self) -> tuple[AskedMeasure, ...]:
        """All measures, those with a separate key and those in `measures`."""
        found = []
        if self.contributions is not None:
            found.append(AskedMeasure(("report", "contributions"), self.contributions))
        if self.device_losses:
            found.append(AskedMeasure(("report", "device_losses"), DeviceLosses()))
        if self.predictions:
            found.append(AskedMeasure(("report", "predictions"), Predictions(rounds=self.predictions)))
        if self.gradient_norm:
            found.append(AskedMeasure(("report", "gradient_norm"), GradientNorm()))
        for number, measure in enumerate(self.measures):
            found.append(AskedMeasure(("report", "measures", number), measure))
        return tuple(found)

    @model_validator(mode="after")
    @where_known
    def _check_names(self) -> Self:
        tables = {file.name: "every run" for file in RESULT_FILES}
        columns = {column.name: "every run" for column in ROUND_COLUMNS}
        for key, measure in self.asked:
            if not re.fullmatch(NAME, measure.name):
                raise fault_at(key[1:], f"its name {measure.name!r} must be lower-case letters, digits and _")
            table = measure.table()
            if table is not None:
                _claim(tables, table.name, "table", key)
            for column in measure.round_columns:
                _claim(columns, column.name, "column of rounds.csv", key)
        return self

    @model_serializer(mode="wrap")
    def _dump_what_is_asked(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is not asked for, so that folders of earlier versions have the same scenario."""
        content: dict[str, Any] = handler(self)
        for key in ("measures", "what_if"):
            if not content[key]:
                del content[key]
        return content


def _claim(owners: dict[str, str], name: str, what: str, key: KeyPath) -> None:
    """Note that a measure writes a table or column; refuse one that another writes, too."""
    if name in owners:
        text = f"writes the {what} {name}, as {owners[name]} does: remove one of them, or choose another name"
        raise fault_at(key[1:], text)
    owners[name] = dotted(key)
