"""The bytes of the backhaul between base stations with models of their own and the cloud."""

from __future__ import annotations

from edgefl.server.observer import EndedRound, Observer, RoundColumns


class EdgeBackhaul(Observer):
    """Counts models on the backhaul: each base station sends its model up and gets one back, if they are merged.

    Args:
        sites: how many base stations there are.
        model_bytes: the size of a model.
    """

    def __init__(self, sites: int, model_bytes: int) -> None:
        self._merging_bytes = 2 * sites * model_bytes

    def round_ends(self, ended: EndedRound) -> RoundColumns:
        """Return the bytes that the round has sent over the backhaul."""
        return {"backhaul_bytes": self._merging_bytes if ended.merged else 0}
