"""Parts of a run's result: its summary, and the tables outside the ledger."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from edgefl.core.arrays import Floats
from edgefl.learning.partitions.base import holdings
from edgefl.learning.storage import storage
from edgefl.records.ledger import Columns
from edgefl.results import run_folder
from edgefl.results.csv_format import csv_bytes, csv_pieces
from edgefl.results.progress import TIME_LEFT, SoFar
from edgefl.results.summary import summarize
from edgefl.runs.data_division import Divided, accuracy_columns
from edgefl.runs.observers import added_quantities
from edgefl.scenario import Scenario
from edgefl.server.server import Server
from edgefl.server.trajectories import trajectories


class Recorded:
    """Makes parts of a result from the records of a run so far; the server has its ledger.

    Mobility is asked more often than the run needs only with `may_ask`, as a class from outside may remember it.
    """

    def __init__(self, scenario: Scenario, divided: Divided, server: Server, *, may_ask: bool) -> None:
        self._scenario = scenario
        self._divided = divided
        self._server = server
        self._may_ask = may_ask

    def so_far(self, time_left: str) -> SoFar:
        """Return the tables and the summary so far."""
        ledger = self._server.ledger
        tables: dict[str, Iterable[bytes]] = {
            "rounds.csv": [csv_bytes(ledger.round_columns())],
            "devices.csv": csv_pieces(ledger.device_names, ledger.device_blocks()),
        }
        tracks = self.more_tables(None).get(run_folder.TRACKS_FILE)
        if tracks is not None and self._may_ask:
            tables[run_folder.TRACKS_FILE] = [csv_bytes(tracks())]
        return SoFar(tables, {**self.summary(None), TIME_LEFT: time_left})

    def summary(self, accuracies: Floats | None) -> dict[str, Any]:
        """Return the summary of the rounds that have ended."""
        return summarize(
            self._server.ledger,
            self._scenario.targets,
            self._scenario.report.last_tests,
            accuracies,
            by_session=self._scenario.in_sessions.several,
            devices=self._scenario.devices.count,
            added=added_quantities(self._scenario),
        )

    def last_summary(self, accuracies: Floats | None) -> dict[str, Any]:
        """Return the summary at the end of the run, with what is known only then."""
        summary = self.summary(accuracies)
        several_sessions = self._scenario.in_sessions.several
        if several_sessions:
            summary["storage"] = self._storage()
        summary |= self._server.quantities()
        best = self._server.replay.best
        if best is not None:
            summary["best_model"] = best.described(several_sessions=several_sessions)
        return summary

    def _storage(self) -> dict[str, int]:
        """Return the storage of the server and a device between rounds, see `storage`."""
        scenario = self._scenario
        known = len(self._divided.parts)
        if not scenario.in_sessions.keep_state:
            known = known // scenario.groups  # the server's state concerns one group at a time
        history_bytes = max((row["history_bytes"] for row in self._server.ledger.rounds), default=0)
        payload = self._server.payload
        model_bytes = int(payload.model_bits / 8)
        frozen_bytes = int(payload.first_bits / 8)
        return storage(scenario.algorithm, scenario.learning, model_bytes, frozen_bytes, known, history_bytes)

    def more_tables(self, accuracies: Floats | None) -> dict[str, Callable[[], Columns]]:
        """Return functions that make the tables outside the ledger, by their files: they are rarely needed."""
        tables: dict[str, Callable[[], Columns]] = {}
        data = self._divided.data
        if accuracies is not None:
            tables[run_folder.DEVICE_ACCURACY_FILE] = partial(accuracy_columns, accuracies, self._divided.own_parts)
        if data.one_class_each:
            tables[run_folder.LABELS_FILE] = partial(holdings, data.train_y, self._divided.parts)
        if self._scenario.mobility.moves:
            ledger = self._server.ledger
            tables[run_folder.TRACKS_FILE] = partial(
                trajectories, self._server.world, ledger.participants, ledger.time_s
            )
        return tables


def divided_wall_s(total: float, setup: float, learning: float) -> dict[str, float]:
    """Return how the wall-clock time [s] divides into setup, learning and world."""
    # The world (event loop, radio, ledger) is not measured: it is the rest.
    world = total - setup - learning
    parts = {"total": total, "setup": setup, "learning": learning, "world": world}
    return {name: round(value, 3) for name, value in parts.items()}
