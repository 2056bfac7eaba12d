"""One run of a sweep: its point, its folder and its status."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from edgefl.core.errors import InputError, RunError
from edgefl.core.files import read_bytes
from edgefl.results.integrity import WHAT_IF_FILE
from edgefl.results.report.shared.questions import with_targets
from edgefl.results.run_folder import CHECKPOINTS
from edgefl.runs.workers import Died
from edgefl.scenario import SweepPoint

Status = Literal["pending", "running", "finished", "interrupted", "failed"]


@dataclass(eq=False)
class SweepRun:
    """A point of a sweep, the status of its run, and its result."""

    number: int  # place in the sweep, from 0
    point: SweepPoint
    folder: Path
    status: Status = "pending"
    error: str | None = None  # why it failed
    summary: Mapping[str, Any] | None = None  # None until it has finished
    warnings: list[str] = field(default_factory=list)
    begun_before: bool = False  # by an earlier, unfinished attempt

    def read_folder(self) -> None:
        """Read the result if the run has finished before."""
        try:
            manifest = json.loads(read_bytes(self.folder / "manifest.json"))
            self.begun_before = manifest["status"] != "finished"
            if self.point.scenario.report.what_if and not (self.folder / WHAT_IF_FILE).exists():
                return  # its other values are still to be priced
            if not self.begun_before:
                summary = json.loads(read_bytes(self.folder / "summary.json"))
                self.summary = with_targets(self.folder, summary, self.point.scenario.targets)
                self.status = "finished"
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return  # not begun, or damaged: it has to be run

    def begin(self) -> None:
        """Note that the run is under way."""
        self.status = "running"

    def end(self, answer: Any) -> None:
        """Note how the run has ended: with status, error, summary and warnings, or with an exception."""
        if isinstance(answer, Exception):
            self.status = "failed"
            self.error = repr(answer)
            if isinstance(answer, (InputError, RunError, Died)):
                self.error = str(answer)  # these are sentences; others need their type
            return
        self.status, self.error, summary, self.warnings = answer
        if self.status == "finished":
            self.summary = summary

    def interrupt(self) -> None:
        """Note that the sweep was interrupted; a run that has ended or not begun keeps its status."""
        half_done = self.status == "pending" and self.begun_before
        if self.status == "running" or half_done:
            self.status = "interrupted"

    @property
    def over(self) -> bool:
        """Whether nothing is left to run."""
        return self.status not in {"pending", "running"}

    @property
    def record(self) -> Path | None:
        """The folder with the record of a finished run's learning; None without one."""
        folder = self.folder / CHECKPOINTS
        if self.status != "finished" or not folder.is_dir():
            return None
        return folder
