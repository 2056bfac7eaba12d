"""Checks that the run in a folder is the same as a scenario, or its beginning: a run may be extended by rounds."""

from __future__ import annotations

import copy
import logging
from itertools import zip_longest
from pathlib import Path
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.machine import processor
from edgefl.learning.datasets import DATASETS, Dataset
from edgefl.results.integrity import DATA_DIGEST, manifest_of
from edgefl.results.provenance import PROCESSOR
from edgefl.runs.learning_key import rounds_matter
from edgefl.scenario import Scenario, dump
from edgefl.scenario.yaml_reader import NotYaml, parse

log = logging.getLogger(__name__)

OTHERWISE = "choose another folder with -o, or replace it with --overwrite"
# Keys that only say when a run ends: what comes before does not depend on them.
LENGTHS = (("rounds",), ("sessions", "count"), ("sessions", "rounds"))
STOP = ("stop",)


def check_begun(folder: Path, text: str, scenario: Scenario) -> bool:
    """Check that a folder's run can go on as a scenario; return True if the scenario has more rounds, or stops later.

    Args:
        folder: the folder, for messages.
        text: its scenario.yaml.
        scenario: what is to be run in it now.

    Raises:
        InputError: it is the run of another scenario, has more rounds, or has other rounds than this one.
    """
    now_text = dump(scenario)
    if text == now_text:
        return False
    before = _parsed(folder, text)
    now = _parsed(folder, now_text)
    if _without_lengths(before) != _without_lengths(now):
        raise InputError(f"{folder}: was begun with another scenario, {_first_difference(text, now_text)}; {OTHERWISE}")
    lengths = [(_value(before, key), _value(now, key), key) for key in LENGTHS]
    for old, new, key in lengths:
        if old is not None and new is not None and new < old:
            name = ".".join(key)
            raise InputError(f"{folder}: was begun with {name}: {old}, which cannot become {new}; {OTHERWISE}")
    longer = any(old != new for old, new, _ in lengths)
    if longer and (culprit := rounds_matter(scenario)):
        text = f"{culprit} depends on the number of rounds, so that the rounds in it would have been others"
        raise InputError(f"{folder}: cannot be extended: {text}; {OTHERWISE}")
    return True


def check_data(folder: Path, dataset: Dataset, digest: str) -> None:
    """Check that a folder's run was begun with the same data, as far as its manifest says.

    Args:
        folder: the folder.
        dataset: what gives the data.
        digest: of the data that it gives now.

    Raises:
        InputError: the run was begun with others.
    """
    before = manifest_of(folder).get(DATA_DIGEST, digest)  # earlier versions noted none
    if before != digest:
        text = f"was begun with other data than data.dataset: {DATASETS.name_of(dataset)} gives now"
        remedy = "if it draws them, seed its generator"
        if not is_of_this_processor(folder):  # what is computed, as by a sine, may be rounded otherwise
            remedy = "it was begun on another type of processor, which may round otherwise: go on with it there"
        raise InputError(f"{folder}: {text}: {remedy}; {OTHERWISE}")


def is_of_this_processor(folder: Path) -> bool:
    """Return whether a folder's run was begun on this type of processor, as far as its manifest says."""
    return bool(manifest_of(folder).get(PROCESSOR, processor()) == processor())  # earlier versions noted none


def _parsed(folder: Path, text: str) -> dict[str, Any]:
    """Return a resolved scenario as nested mappings."""
    try:
        content, _ = parse(text)
    except NotYaml as error:
        raise InputError(f"{folder}/scenario.yaml:{error.line}: not valid YAML: {error.problem}") from None
    if not isinstance(content, dict):
        raise InputError(f"{folder}/scenario.yaml: is not that of a run; {OTHERWISE}")
    return content


def _value(content: dict[str, Any], path: tuple[str, ...]) -> Any:
    """Return the value of a key; None if there is none."""
    node: Any = content
    for part in path:
        if not isinstance(node, dict):
            return None
        node = node.get(part)
    return node


def _without_lengths(content: dict[str, Any]) -> dict[str, Any]:
    """Return a copy without the keys that only say when a run ends."""
    rest = copy.deepcopy(content)
    for *sections, key in (*LENGTHS, STOP):
        node: Any = rest
        for section in sections:
            node = node.get(section)
        if isinstance(node, dict) and node.get(key) is not None:
            del node[key]
    return rest


def _first_difference(before: str, now: str) -> str:
    """Return the first line that differs, in words."""
    pairs = zip_longest(before.splitlines(), now.splitlines())
    line_before, line_now = next(pair for pair in pairs if pair[0] != pair[1])
    return f"with {_quoted(line_before)} in place of {_quoted(line_now)}"


def _quoted(line: str | None) -> str:
    """Return a line of a scenario as messages show it."""
    if not line:  # one of the two scenarios is shorter
        return "nothing"
    return repr(line.strip())
