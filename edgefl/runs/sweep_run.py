"""One run of a sweep: a point, its folder and how far it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edgefl.core.errors import InputError, RunError
from edgefl.results.writer import CHECKPOINTS
from edgefl.runs.workers import Died
from edgefl.scenario import SweepPoint

Status = Literal["waiting", "running", "finished", "interrupted", "failed"]


@dataclass(eq=False)
class SweepRun:
    """A point of a sweep, and what has become of it."""

    number: int  # in the sweep, from 0
    point: SweepPoint
    folder: Path
    status: Status = "waiting"
    error: str | None = None  # why it failed
    summary: Mapping[str, Any] | None = None  # once it has finished

    def read_folder(self) -> None:
        """Take over the result if the run has finished before."""
        try:
            manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
            if manifest["status"] == "finished":
                self.summary = json.loads((self.folder / "summary.json").read_text(encoding="utf-8"))
                self.status = "finished"
        except (OSError, ValueError, KeyError):
            return  # not begun, or damaged: it is run

    def begin(self) -> None:
        """Enter that the run is under way."""
        self.status = "running"

    def end(self, answer: Any) -> None:
        """Enter how the run has ended: status, error and summary, or the exception that ended it."""
        if isinstance(answer, Exception):
            self.status = "failed"
            self.error = repr(answer)
            if isinstance(answer, (InputError, RunError, Died)):
                self.error = str(answer)  # our own exceptions are sentences; of others the type is worth knowing
            return
        self.status, self.error, summary = answer
        if self.status == "finished":
            self.summary = summary

    def interrupt(self) -> None:
        """Enter that the sweep was interrupted before the run had ended."""
        if self.status in {"running", "waiting"}:
            self.status = "interrupted"

    @property
    def over(self) -> bool:
        """True if nothing is left to run."""
        return self.status not in {"waiting", "running"}

    @property
    def record(self) -> Path | None:
        """The folder with what the run has learned, if it has finished and left that on record for others."""
        folder = self.folder / CHECKPOINTS
        if self.status != "finished" or not folder.is_dir():
            return None
        return folder
