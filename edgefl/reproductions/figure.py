"""The key `figure` of a recipe: which panels are drawn of what was measured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, model_validator

from edgefl.core.section import Section, fault_at

Texts = Annotated[tuple[str, ...], Field(strict=False)]
OneOrMore = Annotated[Texts, BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
Kind = Literal["lines", "percentiles", "histogram", "boxes", "dots", "heatmap", "time_to_target"]


class Figure(Section):
    """Panels: one for each measure, and for each combination of the axes that `group` does not name."""

    kind: Kind = "lines"
    y: OneOrMore  # measures
    x: str | None = None  # lines: an axis with numbers; dots: a measure; none: the rounds, or entries of a text
    group: OneOrMore = ()  # axes whose values are the lines or boxes of one panel
    log: bool = False  # the vertical axis
    rows: PositiveInt | None = None  # heatmap: number of rows; none: the text has entries of row, column and number
    factors: dict[str, PositiveFloat] = Field(default_factory=dict)  # lines: one for each factor on the numbers
    reference: str = ""  # time_to_target: the value of `group` that the others are compared with
    share: PositiveFloat = 0.97  # time_to_target: of the best accuracy of the reference

    @model_validator(mode="after")
    def _factors_are_of_lines(self) -> Figure:
        if self.factors and (self.kind != "lines" or self.x is None):
            raise fault_at(("factors",), "are for lines over an axis: set x, or leave them out")
        return self
