"""Groups of runs that differ only in their seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgefl.results.export.exported_runs import exported_folders, sweep_alone
from edgefl.results.report.comparison.seed_groups import SeedGroup, grouped
from edgefl.results.report.shared.read import load_all

__all__ = ["SeedGroup", "groups_of"]


def groups_of(folders: Sequence[Path]) -> list[SeedGroup]:
    """Return the groups of the runs in result folders; the groups of a single sweep are its points.

    Raises:
        InputError: a folder cannot be read, or no run of a sweep has finished.
    """
    study = sweep_alone(folders)
    if study is None:
        return grouped(load_all(exported_folders(folders), details=False))
    groups = []
    for number, rows in enumerate(study.finished_rows):
        if not rows:
            continue
        runs = load_all([study.run_folder(row) for row in rows], details=False)
        indices = study.points[number].value_indices
        texts = [key.texts[index] for key, index in zip(study.keys, indices, strict=True)]
        groups.append(SeedGroup(study.point_text(number) or study.name, runs, texts))
    return groups
