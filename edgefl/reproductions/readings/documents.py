"""Readings of single entries of a run's documents: summary, manifest and scenario."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from edgefl.core.errors import InputError
from edgefl.reproductions.finished_run import FinishedRun
from edgefl.reproductions.readings.base import Better, Reading, Values


class DocumentEntry(Reading):
    """Base of readings of a number in one of a run's documents, by its dotted key; none for null."""

    document: ClassVar[Literal["summary", "manifest", "scenario"]]
    ending: ClassVar[str] = ".json"
    key: str
    scale: float = 1.0

    def read(self, run: FinishedRun) -> Values:  # noqa: D102 - the base class says it
        place = f"{run.folder}/{self.document}{self.ending}"
        value: object = getattr(run.documents, self.document)
        for part in self.key.split("."):
            if not isinstance(value, Mapping) or part not in value:
                raise InputError(f"{place}: has no {self.key}")
            value = value[part]
        if value is None:
            return {"": None}
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise InputError(f"{place}: {self.key} is not a number")
        return {"": self.scale * value}


class SummaryEntry(DocumentEntry):
    """A number of summary.json by its dotted key, such as fairness.worst_10."""

    document = "summary"


class ManifestEntry(DocumentEntry):
    """A number of manifest.json by its dotted key, such as resources.cpu_s: it differs from machine to machine."""

    document = "manifest"
    better: ClassVar[Better] = "lower"


class ScenarioEntry(DocumentEntry):
    """A number of the complete scenario by its dotted key, such as radio.carrier_hz."""

    document = "scenario"
    ending = ".yaml"
    is_input: ClassVar[bool] = True
