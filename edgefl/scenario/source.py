"""The source of a scenario: the file and line of every key, which messages about faults name."""

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.files import opened
from edgefl.core.paths import similar_name
from edgefl.core.section import KeyPath
from edgefl.core.written_yaml import NotYaml
from edgefl.scenario import presets
from edgefl.scenario.sections import Sections
from edgefl.scenario.yaml_faults import no_mapping
from edgefl.scenario.yaml_reader import Lines, parse

YAML_SUFFIXES = {".yaml", ".yml"}
RESULT = "scenario.yaml"  # in a result folder
MOST_BYTES = 2**24  # of a scenario file; reading a device or a pipe might never end


@dataclass
class Source:
    """The file or mapping, and the overrides, that the keys of a scenario came from."""

    name: str = "scenario"  # the file's, if there is one
    lines: Lines = field(default_factory=dict)
    files: dict[KeyPath, str] = field(default_factory=dict)  # of keys that come from files which this one extends
    folders: tuple[Path, ...] = ()  # of those files
    overrides: dict[tuple[str, ...], str] = field(default_factory=dict)  # where each overriding value was given
    presets: dict[str, str] = field(default_factory=dict)  # by section

    def moved(self, old: KeyPath, new: KeyPath) -> None:
        """Let faults of a key and of those in it stand where they do under its old name."""
        for path, line in list(self.lines.items()):
            if path[: len(old)] == old:
                self.lines[(*new, *path[len(old) :])] = line

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or else of the nearest section around it; 1 if neither is in a file."""
        return self.lines.get(self._nearest(path), 1)

    def place_of(self, path: KeyPath) -> str:
        """Return the file and line of a key, or else of the nearest section around it."""
        nearest = self._nearest(path)
        is_mapping = len(self.lines) == len(self.files)  # a mapping from Python has no lines of its own
        if is_mapping and nearest not in self.files:
            return self.name
        return f"{self.files.get(nearest, self.name)}:{self.line(path)}"

    def rank(self, path: KeyPath) -> tuple[int, int]:
        """Return numbers that sort keys by their files, this one first, and within a file by their lines."""
        files = [self.name, *dict.fromkeys(self.files.values())]
        return files.index(self.files.get(self._nearest(path), self.name)), self.line(path)

    def _nearest(self, path: KeyPath) -> KeyPath:
        """Return a key if it is in a file, or else the nearest section around it; () if neither is."""
        while path and path not in self.lines:
            path = path[:-1]
        return path

    def fault(self, path: KeyPath, text: str) -> str:
        """Return one line with the place and the key of a fault, and what is wrong."""
        key = ".".join(str(part) for part in path)
        named = re.findall(r"\b(?:radio|devices)\.\w+", text)
        remarks = [self._preset_of(path), *(self._preset_of(tuple(name.split("."))) for name in named)]
        text += next(filter(None, remarks), "")
        for overridden, where in self.overrides.items():
            # Blame an override for faults at its key, in a section that contains it, and in anything below it.
            if path and path[: len(overridden)] == overridden[: len(path)]:
                return f"{where}: {key}: {text}"
        where = self.place_of(path)
        if not key:  # the fault is about the whole file
            return f"{where}: {text}"
        return f"{where}: {key}: {text}"

    def _preset_of(self, path: KeyPath) -> str:
        """Return a remark if a key comes from a preset, and not from the file; else ""."""
        if len(path) < 2 or path[0] not in self.presets:
            return ""
        section, key = str(path[0]), str(path[1])
        name = self.presets[section]
        is_given = (section, key) in self.lines or any(keys[:2] == (section, key) for keys in self.overrides)
        if is_given or key not in presets.read(section, name):
            return ""
        return f" ({key} comes from {section}.preset: {name}; set {section}.{key} to override it)"

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Put file and line before the faults that a block finds after loading.

        Raises:
            InputError: the block found faults.
        """
        try:
            yield
        except InputError as error:
            raise InputError(*(self.place(fault) for fault in error.faults)) from None

    def place(self, line: str) -> str:
        """Return a message about a fault found after loading, such as "model.kind: ...", with its file and line."""
        key, _, text = line.partition(": ")
        path = tuple(key.split("."))
        if path[0] not in Sections.model_fields:
            return line  # it names no key, such as "--device cuda:7: ..."
        return self.fault(path, text)


def read(path: Path, here: Path = Path()) -> tuple[dict[str, Any], Source]:
    """Return the mapping in a YAML file, relative to the folder `here`, and the places of its keys.

    Raises:
        InputError: the file cannot be read, is not YAML, or is not a mapping.
    """
    try:
        with opened(here / path) as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(
                f"{path}: is larger than {MOST_BYTES // 2**20} MiB, the most that a scenario file may have"
            )
        text = _decoded(content, path)
        raw, lines = parse(text)
    except IsADirectoryError:
        meant = "a scenario or sweep file"
        if (here / path / RESULT).is_file():
            meant = f"the scenario of these results, {path / RESULT}"
        raise InputError(f"{path}: is a folder: name {meant}") from None
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}{similar_name([here / path], YAML_SUFFIXES)}"
        ) from None
    except NotYaml as error:
        raise InputError(f"{path}:{error.line}: not valid YAML: {error.problem}") from None
    if not isinstance(raw, dict):
        fault = None
        if isinstance(raw, list):
            raise InputError(f'{path}:1: must be a mapping of keys to values: leave out the "- " before its keys')
        if isinstance(raw, str):
            fault = no_mapping(text)
        if fault is not None:
            raise InputError(f"{path}:{fault.line}: not valid YAML: {fault.text}")
        raise InputError(f"{path}:1: must be a mapping of keys to values, such as `rounds: 60`")
    return raw, Source(str(path), lines)


def _decoded(content: bytes, path: Path) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{path}: is a text in UTF-16: save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = content[error.start : error.start + 1]
        if b"\x00" in content:
            raise InputError(f"{path}: is not a text file in UTF-8") from None
        line = content.count(b"\n", 0, error.start) + 1
        meant = wrong.decode("cp1252", "replace")
        text = f"the byte 0x{wrong.hex()} is not UTF-8 (in Windows-1252 it is {meant}): save the file as UTF-8"
        raise InputError(f"{path}:{line}: {text}") from None
