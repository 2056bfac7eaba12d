"""TensorBoard event files (the extra `tensorboard`)."""

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.extras import require
from edgefl.core.own_files import remove_named
from edgefl.results.tracking.base import Tracker
from edgefl.scenario import Scenario

EVENT_FILES = "events.out.tfevents.*"
OWN_ENDING = ".edgefl"  # of event files that edgefl has written
OWN_FORM = r"events\.out\.tfevents\..*\.edgefl"
RUN_DIGITS = 12
FLUSH_S = 10  # wall-clock, after which a reader sees rounds


class TensorBoardEvents(Tracker):
    """Scalars by round, and the scenario as hyperparameters, in a folder.

    Args:
        scenario: of the run.
        folder: of the events.
        overwrite: replace events of any run there.
        resume: replace those of this run.

    Raises:
        InputError: TensorBoard is not installed, or the folder has event files that may not be replaced.
    """

    option = "--tensorboard"

    def __init__(self, scenario: Scenario, folder: Path, *, overwrite: bool, resume: bool = False) -> None:
        require("tensorboard", "tensorboard", self.option)
        super().__init__(scenario)
        self._folder = folder
        self._writer: Any = None  # from `open` on
        earlier = list(folder.glob(EVENT_FILES))
        if any(not path.name.endswith(OWN_ENDING) for path in earlier):
            text = "holds events that another program has written: choose another folder"
            raise InputError(f"{self.option} {folder}: {text}")
        # A number of its own, so that a resumed run deletes no other's events.
        run = hashlib.sha256(f"{scenario.name} {scenario.seed}".encode()).hexdigest()[:RUN_DIGITS]
        self._ending = f".{run}{OWN_ENDING}"
        others = [path for path in earlier if not path.name.endswith(self._ending)]
        if not overwrite and (others or (earlier and not resume)):
            text = "holds TensorBoard's events already; choose another folder, or replace them with --overwrite"
            raise InputError(f"{self.option} {folder}: {text}")

    def open(self) -> None:
        """Begin and remove earlier events, which TensorBoard would show as the same run."""
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        remove_named(self._folder.glob(EVENT_FILES), OWN_FORM)
        self._writer = EventFileWriter(str(self._folder), flush_secs=FLUSH_S, filename_suffix=self._ending)
        self._add(hparams_pb(self.typed_parameters()), 0)

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Log a scalar for each column."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        scalars = [Summary.Value(tag=name, simple_value=value) for name, value in figures.items()]
        self._add(Summary(value=scalars), step)

    def _add(self, summary: Any, step: int) -> None:
        # TensorBoard's classes suffice, without TensorFlow.
        from tensorboard.compat.proto.event_pb2 import Event

        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        """Write the events that are still in memory."""
        self._writer.close()
