"""What a fact is."""

from __future__ import annotations

from collections.abc import Callable

from edgefl.scenario.sections import Sections

Fact = Callable[[Sections], bool]
"""Returns whether something holds of a scenario; its docstring begins with "Return whether"."""
