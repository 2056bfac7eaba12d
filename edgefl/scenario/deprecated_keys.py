"""Deprecated keys: a scenario that has the old name of a key is read as if it had the new one, with a warning.

To rename a key: the new name in its section, and a line in `deprecated_keys.csv` with both names and the version that
no longer reads the old one (docs/stability.md).
"""

import logging
from collections.abc import Mapping
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.section import KeyPath, key_path
from edgefl.core.words import table_of
from edgefl.scenario.overrides import replaced
from edgefl.scenario.source import Source

log = logging.getLogger(__name__)
ABSENT = object()


def renamed(raw: dict[str, Any], source: Source) -> dict[str, Any]:
    """Return a scenario's keys with new names instead of deprecated ones; the source has the lines of both.

    Raises:
        InputError: a key is there under both names.
    """
    for row in table_of(__file__, "deprecated_keys.csv"):
        old = key_path(row["old"])
        new = key_path(row["new"])
        value = _at(raw, old)
        if value is ABSENT:
            continue
        if _at(raw, new) is not ABSENT:
            raise InputError(
                source.fault(old, f"is called {row['new']} now, which is there, too: leave one of them out")
            )
        text = f"is called {row['new']} now: write that, as edgefl {row['removed_in']} will no longer read {row['old']}"
        log.warning("%s", source.fault(old, text))
        raw = replaced(_without(raw, old), tuple(map(str, new)), value, str(source.name))
        source.moved(old, new)
    return raw


def _at(raw: Any, path: KeyPath) -> Any:
    for key in path:
        if not isinstance(raw, Mapping) or key not in raw:
            return ABSENT
        raw = raw[key]
    return raw


def _without(raw: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
    kept = {key: value for key, value in raw.items() if key != path[0]}
    if len(path) > 1:
        kept[str(path[0])] = _without(raw[str(path[0])], path[1:])
    return kept
