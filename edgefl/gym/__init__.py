"""Agents that control a run: edgefl's worlds as environments of Gymnasium (docs/gym.md)."""

from edgefl.core.extras import require

require("gymnasium", "gym", "edgefl.gym")

# Imported after this check, as these modules import gymnasium.
import gymnasium  # noqa: E402

from edgefl.gym.make import ID, make  # noqa: E402

if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point="edgefl.gym:make")

__all__ = ["make"]
