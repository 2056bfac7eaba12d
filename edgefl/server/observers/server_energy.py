"""The energy of a server that computes its half of the model, in split learning."""

from __future__ import annotations

from dataclasses import dataclass

from edgefl.server.observer import EndedRound, Observer, RoundColumns


@dataclass(eq=False)
class ServerEnergy(Observer):
    """Accounts for what the server draws while participants wait for it."""

    power_w: float  # what it draws while it computes

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the server's energy in the round."""
        return {"server_energy_j": self.power_w * sum(part.server_s for part in ended.parts)}
