"""Agents that control a run: edgefl's worlds as environments of Gymnasium and PettingZoo (docs/gym.md).

`make` returns an environment for one agent, the server; in the environment of `parallel`, every device is an agent.
"""

from edgefl.core.extras import require

require("gymnasium", "gym", "edgefl.gym")

# Imported after this check, as these modules import gymnasium.
import gymnasium  # noqa: E402

from edgefl.gym.make import ID, make, parallel  # noqa: E402

if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point="edgefl.gym:make")

__all__ = ["make", "parallel"]
