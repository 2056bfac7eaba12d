"""A wrong key or value of a scenario, and the message about it."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from edgefl.core.section import KeyPath, dotted, nearest_name
from edgefl.scenario import presets
from edgefl.scenario.key_words import plain_word, synonyms

UNKNOWN_KEY = "unknown key"  # the beginning of messages about one
NO_WORDS = frozenset({"no", "off", "none", "false", "disabled", "never"})
NAMES_OF_KINDS = ("name", "type", "method", "model", "class", "mode")  # what other programs call `kind`
# Keys around the keys of a member in other programs, such as {kind: fedprox, params: {mu: 0.1}}.
CONTAINERS = frozenset({"params", "parameters", "args", "kwargs", "options", "config", "settings", "hyperparameters"})


class Wrong(NamedTuple):
    """A wrong key or value, and the message about it."""

    text: str
    path: KeyPath
    value: Any
    raw: Mapping[str, Any]  # the whole scenario

    @property
    def key(self) -> str:
        """Its dotted name."""
        return dotted(self.path)

    @property
    def name(self) -> str:
        """The last part of its name."""
        return str(self.path[-1])

    @property
    def section(self) -> str:
        """The dotted section around it, without numbers of list entries."""
        return dotted(tuple(part for part in self.path[:-1] if isinstance(part, str)))

    @property
    def fault(self) -> str:
        """The message without known names and a remedy."""
        return re.split(r"; (?:known|its keys)|: (?:write|leave|begin)| \(did you", self.text)[0]


def value_at(raw: Any, path: KeyPath) -> Any:
    """Return the value of a key in a scenario; None if there is none."""
    for part in path:
        try:
            raw = raw[part]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def preset_named(section: str, word: str) -> str | None:
    """Return the preset of a section that a word means; None if it is unknown."""
    words = synonyms("values").get(f"{section}.preset.{plain_word(word)}", ())
    return words[0] if words else nearest_name(word, presets.names(section))
