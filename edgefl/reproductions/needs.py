"""The data of a recipe: whether this machine has them and, if not, which files go where."""

import re
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from edgefl.core.errors import InputError, Unavailable
from edgefl.core.paths import data_folders
from edgefl.learning.data_section import DataSection
from edgefl.learning.datasets import DATASETS, Dataset
from edgefl.learning.datasets.fetch import MADE_HERE, found_at
from edgefl.learning.datasets.remotes import REMOTES
from edgefl.reproductions.library import Entry
from edgefl.reproductions.plan import Plan

PART_FILES = ("cifar10_12k.npz", "emnist_*_part.npz", "ag_news_train20k.csv.gz")
"""Names of files with a part of a dataset, which loaders take, but not recipes of the whole set."""

PART = "part"
"""The key of an entry of `data` where a part of the dataset is enough."""


class Need(NamedTuple):
    """A dataset that a recipe needs."""

    name: str
    here: bool
    remedy: str = ""  # which files go where, if it is not here


def needs(plan: Plan) -> list[Need]:
    """Return the datasets of a plan's runs, without reading any.

    Raises:
        InputError: there is no such dataset.
    """
    return [_need(plan.entry, number, value) for number, value in enumerate(plan.data)]


def lacking(found: Sequence[Need]) -> list[Need]:
    """Return the missing datasets."""
    return [need for need in found if not need.here]


def _need(entry: Entry, number: int, value: str | dict[str, Any]) -> Need:
    section: dict[str, Any] = {"dataset": value}
    if not isinstance(value, str):
        section = dict(value)
    part_will_do = bool(section.pop(PART, False))
    try:
        dataset = DataSection.model_validate(section, context={"base": entry.path.parent}).dataset
    except ValidationError as error:
        faults = [entry.source.fault(("data", number), item["msg"]) for item in error.errors(include_url=False)]
        raise InputError(*dict.fromkeys(faults)) from None
    name = DATASETS.name_of(dataset)
    if name in MADE_HERE:
        return Need(name, here=True)
    place = found_at(name, dataset)
    if place is None or not place.exists():
        return Need(name, here=False, remedy=_remedy(name, dataset))
    if not part_will_do and _is_part(place.name):
        return Need(name, here=False, remedy=f"{place.name} is only a part of it. {_remedy(name, dataset)}")
    return Need(name, here=True)


def _is_part(file: str) -> bool:
    return any(fnmatch(file, pattern) for pattern in PART_FILES)


def _remedy(name: str, dataset: Dataset) -> str:
    fetching = ""
    if name in REMOTES:
        fetching = f"`edgefl data fetch {name}` downloads it. "
    try:
        dataset.model_copy(update={"path": Path("nowhere")}).load()
    except Unavailable as error:
        # Its first sentence names the folder `nowhere`; the loader's real folders replace it.
        text = str(error).partition(". ")[2]
        text = text.replace("one of these folders", " or ".join(str(folder) for folder in data_folders()))
        for alternative in re.findall(r" or ([\w.]+)", text):
            if _is_part(alternative):  # the loader takes it, but the recipe does not
                text = text.replace(f" or {alternative}", "")
        return f"{fetching}{text}"
    except InputError as error:
        return f"{fetching}{error}"
    return fetching
