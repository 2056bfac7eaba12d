"""How often participants changed their base stations, and how often their radio links failed."""

from __future__ import annotations

from dataclasses import dataclass

from edgefl.server.observer import EndedRound, Observer, RoundColumns


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
