"""The source of a scenario: the file and line of every key, which messages about faults name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.files import opened
from edgefl.core.section import KeyPath
from edgefl.scenario import presets
from edgefl.scenario.sections import Sections
from edgefl.scenario.yaml_reader import Lines, NotYaml, parse

MOST_BYTES = 2**24  # of a scenario file; a device or a pipe might never end


@dataclass
class Source:
    """The file or mapping, and the overrides, from which the keys of a scenario came."""

    name: str = "scenario"  # the file's, if there is one
    lines: Lines = field(default_factory=dict)
    overrides: dict[tuple[str, ...], str] = field(default_factory=dict)  # where each overriding value was given
    presets: dict[str, str] = field(default_factory=dict)  # by section

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or else of the nearest section around it; 1 if neither is in the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1

    def fault(self, path: KeyPath, text: str) -> str:
        """Return one line that says where a fault is, at which key, and what is wrong."""
        key = ".".join(str(part) for part in path)
        text += self._preset_of(path)
        for overridden, where in self.overrides.items():
            # Blame an override for faults at its key, in a section that contains it, and in anything below it.
            if path and path[: len(overridden)] == overridden[: len(path)]:
                return f"{where}: {key}: {text}"
        where = self.name
        if self.lines:  # a mapping from Python has none
            where = f"{self.name}:{self.line(path)}"
        if not key:  # the fault is about the whole file
            return f"{where}: {text}"
        return f"{where}: {key}: {text}"

    def _preset_of(self, path: KeyPath) -> str:
        """Return a remark that a key is in no file, but in a preset; "" if it is not."""
        if len(path) < 2 or path[0] not in self.presets:
            return ""
        section, key = str(path[0]), str(path[1])
        name = self.presets[section]
        is_given = (section, key) in self.lines or any(keys[:2] == (section, key) for keys in self.overrides)
        if is_given or key not in presets.read(section, name):
            return ""
        return f" ({key} comes from {section}.preset: {name}, and a key beside it wins)"

    def place(self, line: str) -> str:
        """Return a message about a fault found after loading, such as "model.kind: ...", with its file and line."""
        key, _, text = line.partition(": ")
        path = tuple(key.split("."))
        if path[0] not in Sections.model_fields:
            return line  # it is about no key, such as "--device cuda:7: ..."
        return self.fault(path, text)


def read(path: Path, here: Path = Path()) -> tuple[dict[str, Any], Source]:
    """Return the mapping that a YAML file holds, and where its keys stand.

    Args:
        path: of the file, as messages name it.
        here: what a relative one is relative to.

    Raises:
        InputError: the file cannot be read, is not YAML, or is not a mapping.
    """
    try:
        with opened(here / path) as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(f"{path}: is larger than {MOST_BYTES // 2**20} MiB, which no scenario is")
        raw, lines = parse(content.decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except NotYaml as error:
        raise InputError(f"{path}:{error.line}: not valid YAML: {error.problem}") from None
    except ValueError:
        raise InputError(f"{path}: is not a text file in UTF-8") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}:1: must be a mapping of keys to values, such as `rounds: 60`")
    return raw, Source(str(path), lines)
