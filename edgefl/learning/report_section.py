"""The section `report`: how often the model is evaluated, and what else is reported."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from edgefl.core.section import Count, Section


class Contributions(Section):
    """Shapley values of the devices' updates: what each is worth (FedAR paper, Fig. 1)."""

    every: Count = 10  # rounds
    players: Literal["participants", "all"] = "participants"  # all: with those whose stored update counts in the round
    permutations: Count = 200  # orders that are drawn where there are more than ten players
    value: Literal["accuracy", "loss"] = "accuracy"  # of the model on the test set; the loss counts negatively


class ReportSection(Section):
    """How often the model is evaluated, and which further models and values are reported."""

    eval_every: Count = 1  # rounds; the last one is always evaluated
    models: Annotated[tuple[Literal["sel", "all"], ...], Field(strict=False)] = ()  # evaluated beside the global one
    contributions: Contributions | None = None
    last_tests: Count = 50  # whose mean and standard deviation the summary has
