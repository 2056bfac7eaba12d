"""The whole scenario: its sections, checked against each other."""

from __future__ import annotations

from contextlib import suppress

from pydantic import model_validator

from edgefl.core.plugin_import import NotImported
from edgefl.scenario import rules
from edgefl.scenario.sections import Sections


class Scenario(Sections):
    """A complete scenario: what to run."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        names = [group.name for group in self.devices.groups]
        borders = dict(zip(names, self.devices.borders, strict=False))
        self.training.know_groups(borders)
        with suppress(NotImported):  # a class from outside that is not to be imported learns no groups
            self.algorithm.know_groups(borders)
        rules.check(self)
        return self
