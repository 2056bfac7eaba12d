"""Paths in a scenario: a relative path is searched beside the scenario file, then in the working directory."""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema

from edgefl.core.section import fault, nearest_name


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
        """Return the text, with the folder of the file that it stands in."""
        made = super().__new__(cls, text)
        made.folder = folder
        return made


def written_in(folder: Path, value: Any) -> Any:
    """Return a value with the folder of its file at each text, which may be a path."""
    if isinstance(value, dict):
        return {key: written_in(folder, item) for key, item in value.items()}
    if isinstance(value, list):
        return [written_in(folder, item) for item in value]
    if isinstance(value, str) and not isinstance(value, WrittenIn):
        return WrittenIn(value, folder)
    return value


def _data_and_shipped_folders() -> list[Path]:
    # The shipped folder comes last: it is for copies of shipped scenarios that lie elsewhere.
    return [*data_folders(), shipped_folder()]


def _searched(value: str | Path, context: Mapping[str, Any], further: Sequence[Path]) -> list[Path]:
    """Return the places of a path, absolute: beside the scenario file, in the working directory, in other folders."""
    path = Path(os.path.expanduser(value))  # noqa: PTH111 - leaves an unknown "~user" unchanged
    scenario_folder = Path(context.get("base", "."))
    if isinstance(value, WrittenIn):
        scenario_folder = value.folder
    # Code that another key names may have changed the working directory.
    here = context.get("here") or Path.cwd()
    return [(folder / path).absolute() for folder in (scenario_folder, here, *further)]


@dataclass(frozen=True)
class NamedPath:
    """Makes a path in a scenario absolute, and checks that something is there.

    The path becomes the first existing place, or else the one beside the scenario file. The check is made only where
    the context of the validation asks for it by `CHECKED`.

    Args:
        further: returns the folders to search after the scenario's folder and the working directory; called each time,
            as the environment may change.
        is_file: a folder is refused.
        is_needed: it must be there.
    """

    further: Callable[[], list[Path]] = list
    is_file: bool = False
    is_needed: bool = True

    def __call__(self, value: Any, info: ValidationInfo) -> Any:
        """Return the path of a value; other values than texts and paths are returned unchanged.

        Raises:
            PydanticCustomError: nothing is there, or a folder instead of a file.
        """
        if not isinstance(value, str | Path):
            return value
        context = info.context or {}
        candidates = _searched(value, context, self.further())
        found = next((place for place in candidates if os.path.exists(place)), None)  # noqa: PTH110 - never raises
        if context.get(CHECKED) and self.is_needed:
            self._check(value, found, candidates)
        return found or candidates[0]

    def _check(self, value: str | Path, found: Path | None, candidates: Sequence[Path]) -> None:
        if found is not None:
            if self.is_file and found.is_dir():
                raise fault(f"{found} is a folder: name a file")
            return
        wanted = "file" if self.is_file else "file or folder"
        text = f"no such {wanted} as {value}{similar_name(candidates)}"
        if not Path(value).is_absolute():
            folders = "beside the scenario file or in the working directory"
            if self.further is not list:
                folders = f"{folders}, nor in the folder that EDGEFL_DATA names or in ~/.cache/edgefl"
            text = f"{text} {folders}"
        if re.search(r"\$|%\w+%", str(value)):
            text = f"{text}: variables such as $HOME are not replaced: write the path itself, or ~ for your home folder"
        elif "\\" in str(value) and os.sep == "/":
            text = f"{text}: write / between folders, as everywhere but on Windows"
        raise fault(text)


def similar_name(candidates: Sequence[Path], suffixes: Collection[str] = ()) -> str:
    """Return ' (did you mean "x"?)' for the file most like one that is not there, or ''.

    Args:
        candidates: the places where it was looked for.
        suffixes: of the files that it may be; all files without any.
    """
    wanted = candidates[0]
    if wanted.exists():
        return ""
    names: dict[str, str] = {}
    for place in candidates:
        with suppress(OSError):
            for name in sorted(os.listdir(place.parent)):  # noqa: PTH208 - only names are needed
                file = Path(name)
                if suffixes and file.suffix not in suffixes:
                    continue
                # Names are compared without their endings, which would make any two alike.
                if file.stem not in names or file.suffix == wanted.suffix:
                    names[file.stem] = name
    stem = nearest_name(wanted.stem, names)
    if stem is None:
        return ""
    return f' (did you mean "{names[stem]}"?)'


CHECKED = "files"  # the key of a validation's context that asks for the check

_AS_TEXT = PlainSerializer(str)
_SCHEMA = WithJsonSchema({"type": "string", "format": "path"})

UserPath = Annotated[Path, BeforeValidator(NamedPath()), _AS_TEXT, _SCHEMA]
"""An absolute path of a file or folder, which must be there when a scenario is loaded for a run."""

UserFile = Annotated[Path, BeforeValidator(NamedPath(is_file=True)), _AS_TEXT, _SCHEMA]
"""As `UserPath`, of a file."""

DataFile = Annotated[Path, BeforeValidator(NamedPath(_data_and_shipped_folders, is_file=True)), _AS_TEXT, _SCHEMA]
"""As `UserFile`, but also searched in $EDGEFL_DATA, ~/.cache/edgefl and the files that come with edgefl."""

DataPath = Annotated[Path, BeforeValidator(NamedPath(_data_and_shipped_folders)), _AS_TEXT, _SCHEMA]
"""As `DataFile`, of a file or a folder."""

SearchFolder = Annotated[Path, BeforeValidator(NamedPath(is_needed=False)), _AS_TEXT, _SCHEMA]
"""An absolute path, as of a folder where modules are looked for; it need not exist."""
