"""Paths in a scenario: a relative path is searched beside the scenario file, then in the working directory."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema


def data_folders() -> list[Path]:
    """Return the folders that are searched for data if the scenario names no path."""
    folders = [Path.home() / ".cache" / "edgefl"]
    named = os.environ.get("EDGEFL_DATA")
    if named:
        folders.insert(0, Path(named).resolve())
    return folders


def shipped_folder() -> Path:
    """Return the folder of the scenarios and data that come with edgefl."""
    package = Path(__file__).parents[1]
    installed = package / "_scenarios"  # where the wheel has them
    if installed.is_dir():
        return installed
    return package.parent / "scenarios"  # in a checkout


def cache_folder() -> Path:
    """Return the folder of cached arrays of datasets and measured training plans."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "edgefl"


class WrittenIn(str):
    """A text from a file in another folder than the scenario file, where a path in it is looked for first."""

    __slots__ = ("folder",)

    folder: Path

    def __new__(cls, text: str, folder: Path) -> Self:
        """Return the text, with the folder of the file in which it stands."""
        made = super().__new__(cls, text)
        made.folder = folder
        return made


def _data_and_shipped_folders() -> list[Path]:
    # The shipped folder comes last: it is for copies of shipped scenarios that lie elsewhere.
    return [*data_folders(), shipped_folder()]


def _resolver(further_folders: Callable[[], list[Path]]) -> Callable[[Any, ValidationInfo], Any]:
    """Return a function that makes a path absolute: the first existing place, otherwise beside the scenario file.

    Args:
        further_folders: the folders to search after the scenario's folder and the working directory; called each time,
            as the environment may change.
    """

    def resolve(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, str | Path):
            return value
        context = info.context or {}
        scenario_folder = Path(context.get("base", "."))
        if isinstance(value, WrittenIn):
            scenario_folder = value.folder
        path = Path(os.path.expanduser(value))  # noqa: PTH111 - leaves an unknown "~user" unchanged
        # Code that another key names may have changed the working directory.
        here = context.get("here") or Path.cwd()
        folders = [scenario_folder, here, *further_folders()]
        candidates = [(folder / path).absolute() for folder in folders]
        for candidate in candidates:
            if os.path.exists(candidate):  # noqa: PTH110 - never raises
                return candidate
        return candidates[0]

    return resolve


_AS_TEXT = PlainSerializer(str)
_SCHEMA = WithJsonSchema({"type": "string", "format": "path"})

UserPath = Annotated[Path, BeforeValidator(_resolver(list)), _AS_TEXT, _SCHEMA]
"""An absolute path. It need not exist: the code that reads it reports what is wrong."""

DataPath = Annotated[Path, BeforeValidator(_resolver(_data_and_shipped_folders)), _AS_TEXT, _SCHEMA]
"""As `UserPath`, but also searched in $EDGEFL_DATA, ~/.cache/edgefl and the files that come with edgefl."""
