"""The energy of a server that computes its half of the model, in split learning."""

from __future__ import annotations

from edgefl.server.observer import EndedRound, Observer, RoundColumns


class ServerEnergy(Observer):
    """Accounts for what the server draws while participants wait for it.

    Args:
        power_w: what it draws while it computes.
    """

    def __init__(self, power_w: float) -> None:
        self._power_w = power_w

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the server's energy in the round."""
        return {"server_energy_j": self._power_w * sum(part.server_s for part in ended.parts)}
