"""Readings of single entries of a run's documents: summary, manifest and scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from edgefl.core.errors import InputError
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.readings.base import Better, Reading, Values


class DocumentEntry(Reading):
    """Base of readings of a number in one of a run's documents, by its dotted key."""

    file: ClassVar[str]
    key: str
    scale: float = 1.0

    def number(self, run: FinishedRun, document: object) -> Values:
        """Return the number times `scale`; None for null.

        Raises:
            InputError: the document has no such key, or no number there.
        """
        value = document
        for part in self.key.split("."):
            if not isinstance(value, Mapping) or part not in value:
                raise InputError(f"{run.folder}/{self.file}: has no {self.key}")
            value = value[part]
        if value is None:
            return {"": None}
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"{run.folder}/{self.file}: {self.key} is not a number")
        return {"": self.scale * value}


class SummaryEntry(DocumentEntry):
    """A number of summary.json by its dotted key, such as fairness.worst_10."""

    file = "summary.json"

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return self.number(run, run.summary)


class ManifestEntry(DocumentEntry):
    """A number of manifest.json by its dotted key, such as resources.cpu_s: it differs from machine to machine."""

    file = "manifest.json"
    better: ClassVar[Better] = "lower"

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return self.number(run, run.documents.manifest)


class ScenarioEntry(DocumentEntry):
    """A number of the complete scenario by its dotted key, such as radio.carrier_hz."""

    file = "scenario.yaml"

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        return self.number(run, run.scenario)
