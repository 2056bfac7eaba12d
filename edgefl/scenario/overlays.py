"""Overlays: a scenario that `extends` others has their keys, and its own instead of some of them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.paths import written_in
from edgefl.core.section import KeyPath, shown
from edgefl.learning.data_section import DataSection
from edgefl.scenario import shipped
from edgefl.scenario.merging import merged
from edgefl.scenario.sections import EXTENDS
from edgefl.scenario.source import Source, read

MOST_FILES = 100  # read for one scenario: twenty files that each name the next one twice would be a million
NOT_PASSED_ON = ("name", "label")  # keys of one file only: results of two files must not meet in one folder


class Keys(NamedTuple):
    """The keys of a scenario, and where they stand."""

    raw: dict[str, Any]
    source: Source


def read_extended(path: Path, here: Path = Path()) -> Keys:
    """Return the keys of a scenario file, relative to the folder `here`, over those of the files that it extends.

    Raises:
        InputError: a file does not exist, cannot be read, or extends itself by way of others.
    """
    return _Reader(here).read(path, ())


def extended(keys: Mapping[str, Any], here: Path = Path()) -> Keys:
    """Return the keys of a mapping from Python over those of the files it extends, relative to the folder `here`.

    Raises:
        InputError: as for `read_extended`.
    """
    return _Reader(here).over_extended(Keys(dict(keys), Source()), Path(), ())


class _Reader:
    """Reads the files that lead to one scenario, and counts them."""

    def __init__(self, here: Path) -> None:
        self.here = here
        self.files = 0

    def read(self, path: Path, readers: tuple[Path, ...]) -> Keys:
        """Return the keys of a file over those that it extends; `readers` are the files that lead to it."""
        own = Keys(*read(path, self.here))
        return self.over_extended(own, path.parent, (*readers, path))

    def over_extended(self, own: Keys, folder: Path, readers: tuple[Path, ...]) -> Keys:
        """Return the keys of a file in a folder, or of a mapping, over those of the files that it extends.

        Of several files the last one comes first in rank.
        """
        if own.raw.get(EXTENDS) is None:
            return own
        layers: list[Keys] = []
        for place, name in _names(own):
            path = self._file(name, place, own.source, folder)
            if self._resolved(path) in {self._resolved(reader) for reader in readers}:
                text = f"{name} leads back to this file: remove one of the two"
                raise InputError(own.source.fault(place, text))
            layer = self.read(path, readers)
            if "base" in layer.raw:  # a key that only sweep files have
                raise InputError(own.source.fault(place, f"{path} is a sweep file: name a scenario file"))
            layers.append(self._seen_from(folder, layer, path))
        layers.append(Keys({key: value for key, value in own.raw.items() if key != EXTENDS}, own.source))
        return reduce(_overlaid, layers)

    def _file(self, name: str, place: KeyPath, source: Source, folder: Path) -> Path:
        """Return the file that an entry of `extends` names."""
        self.files += 1
        if self.files > MOST_FILES:
            raise InputError(source.fault(place, f"more than {MOST_FILES} files in all: extend fewer"))
        try:
            path = shipped.find(name, self.here / folder)
        except InputError as error:
            raise InputError(*(source.fault(place, text) for text in error.faults)) from None
        if path == self.here / folder / name:
            path = folder / name  # in messages, as the user would write it
        if not self._resolved(path).is_file():
            text = f"{path} does not exist: name a scenario file, relative to {folder}/, or one that comes with edgefl"
            raise InputError(source.fault(place, text))
        return path

    def _seen_from(self, folder: Path, keys: Keys, path: Path) -> Keys:
        """Return the keys of a file as they count in a file of another folder, where its paths lead elsewhere."""
        home = self._resolved(path).parent
        source = replace(keys.source, folders=(*keys.source.folders, home))
        if home == self._resolved(folder):
            return Keys(keys.raw, source)
        return Keys(written_in(home, keys.raw), source)

    def _resolved(self, path: Path) -> Path:
        return (self.here / path).resolve()


def _names(own: Keys) -> list[tuple[KeyPath, str]]:
    """Return the entries of `extends` and their places."""
    given = own.raw[EXTENDS]
    if isinstance(given, str | Path):
        return [((EXTENDS,), str(given))]
    if isinstance(given, list | tuple) and given and all(isinstance(name, str | Path) for name in given):
        return [((EXTENDS, number), str(name)) for number, name in enumerate(given)]
    text = f"must be the name of a scenario file, or a list of names, got {shown(given)}"
    raise InputError(own.source.fault((EXTENDS,), text))


def _overlaid(below: Keys, above: Keys) -> Keys:
    """Return the keys of both, those of `above` where both have them, and where each of them stands."""
    raw = {key: value for key, value in below.raw.items() if key not in NOT_PASSED_ON}
    if "data" in raw:
        raw["data"] = _without_other_dataset(raw["data"], above.raw.get("data"))
    raw = merged(raw, above.raw)
    source = below.source
    kept = [path for path in source.lines if _is_in(raw, path) and not _is_in(above.raw, path)]
    lines = {path: source.lines[path] for path in kept}
    files = {path: source.files.get(path, source.name) for path in kept}
    both = replace(
        above.source,
        lines=lines | above.source.lines,
        files=files | above.source.files,
        folders=(*above.source.folders, *source.folders),
    )
    return Keys(raw, both)


def _without_other_dataset(below: Any, above: Any) -> Any:
    """Return a section `data` without the keys of its dataset if the section above it names another dataset."""
    if not isinstance(below, dict) or not isinstance(above, Mapping):
        return below
    name = below.get("dataset")
    if above.get("dataset", name) == name:
        return below
    return {key: value for key, value in below.items() if key in DataSection.model_fields}


def _is_in(raw: Any, path: KeyPath) -> bool:
    for part in path:
        is_entry = isinstance(raw, list | tuple) and isinstance(part, int) and part < len(raw)
        if not is_entry and not (isinstance(raw, Mapping) and part in raw):
            return False
        raw = raw[part]
    return True
