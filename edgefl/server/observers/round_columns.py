"""Columns of rounds.csv that only some runs have, each a count or a sum over the round that ends."""

from dataclasses import dataclass

from edgefl.learning.initialisation import Initialisation
from edgefl.server.observer import EndedRound, Observer, RoundColumns
from edgefl.server.service import Service


@dataclass(eq=False)
class CountedStatus(Observer):
    """Counts the participations with a status, in a column with the status's name."""

    status: str  # one of `records/statuses.py`

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the number of a round."""
        return {self.status: sum(part.status == self.status for part in ended.parts)}


@dataclass(kw_only=True, eq=False)
class Handovers(Observer):
    """Counts handovers, and failures of links in runs that have them."""

    links_fail: bool  # whether radio links may fail

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the numbers of a round."""
        found: RoundColumns = {"handovers": sum(len(part.handovers) for part in ended.parts)}
        if self.links_fail:
            found["link_failures"] = sum(part.link_failures for part in ended.parts)
        return found

    def run_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the same of what was cut off."""
        return self.round_ends(ended)


class OutOfService(Observer):
    """Counts devices that were present and not served when a round began."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._count = 0

    def round_begins(self, number: int, present: int) -> None:
        """Keep the number."""
        self._count = self._service.out_of_service

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the number of a round."""
        return {"out_of_service": self._count}


class EdgeBackhaul(Observer):
    """Counts models on the backhaul: each base station sends its model and gets one back, if they are merged."""

    def __init__(self, sites: int, model_bytes: int) -> None:
        self._merging_bytes = 2 * sites * model_bytes

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the bytes that the round has sent over the backhaul."""
        return {"backhaul_bytes": self._merging_bytes if ended.merged else 0}


@dataclass(eq=False)
class SessionHistory(Observer):
    """Tells how much the server stores for later sessions."""

    initialisation: Initialisation  # which models a session starts from
    model_bytes: int  # the size of a model

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the bytes that the server stores in the session."""
        return {"history_bytes": self.initialisation.stored_vectors(ended.key.session) * self.model_bytes}


@dataclass(eq=False)
class ServerEnergy(Observer):
    """Accounts for what the server draws while participants wait for it."""

    power_w: float  # while it computes

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the server's energy in the round."""
        return {"server_energy_j": self.power_w * sum(part.server_s for part in ended.parts)}
