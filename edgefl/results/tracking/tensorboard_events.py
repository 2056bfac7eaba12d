"""TensorBoard event files (`edgefl[tensorboard]`)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.units import as_number
from edgefl.results.extras import require
from edgefl.results.tracking.base import Tracker
from edgefl.scenario import Scenario

FILES = "events.out.tfevents.*"
FLUSH_S = 10  # wall-clock: who looks on sees rounds as old at most


class TensorBoardEvents(Tracker):
    """Scalars, and the scenario as hyperparameters, in a folder of their own.

    Raises:
        InputError: TensorBoard is not there, or the folder has event files already and `overwrite` is off.
    """

    option = "--tensorboard"

    def __init__(self, scenario: Scenario, folder: Path, *, overwrite: bool) -> None:
        require("tensorboard", "tensorboard", self.option)
        super().__init__(scenario)
        self._folder = folder
        self._writer: Any = None
        if not overwrite and any(folder.glob(FILES)):
            text = "holds TensorBoard's events already; choose another folder, or replace them with --overwrite"
            raise InputError(f"{self.option} {folder}: {text}")

    def open(self) -> None:
        """Begin, in place of what was there before, which TensorBoard would show as the same run."""
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        for old in self._folder.glob(FILES):
            old.unlink()
        self._writer = EventFileWriter(str(self._folder), flush_secs=FLUSH_S)
        known = {key: as_number(text) for key, text in self.parameters.items()}
        typed = {key: self.parameters[key] if value is None else value for key, value in known.items()}
        self._add(hparams_pb(typed), 0)

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """A scalar a column."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._add(Summary(value=[Summary.Value(tag=name, simple_value=value) for name, value in figures.items()]), step)

    def _add(self, summary: Any, step: int) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        """Write what is left."""
        self._writer.close()
