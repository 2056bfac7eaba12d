"""A fact about a scenario."""

from collections.abc import Callable
from dataclasses import dataclass

from edgefl.scenario.sections import Sections


@dataclass(frozen=True)
class Fact:
    """A question about a scenario, which rules ask by calling it, and the sentence for which the answer is yes."""

    said: str
    holds: Callable[[Sections], bool]

    def __call__(self, scenario: Sections) -> bool:
        """Return whether the sentence is true of a scenario."""
        return self.holds(scenario)
