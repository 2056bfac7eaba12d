"""Checks that the run in a folder is that of a scenario, or its beginning: a run may be extended by rounds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from edgefl.core.errors import InputError
from edgefl.core.machine import processor
from edgefl.core.plugins import Plugin
from edgefl.core.section import KeyPath, dotted, shown
from edgefl.core.written_yaml import NotYaml
from edgefl.learning.datasets import DATASETS, Dataset
from edgefl.results.integrity import DATA_DIGEST, MANIFEST_FILE, manifest_of
from edgefl.results.provenance import PROCESSOR
from edgefl.runs.learning_key import rounds_matter
from edgefl.scenario import Scenario, dump, without
from edgefl.scenario.yaml_reader import parse

OTHERWISE = "choose another folder with -o, or replace it with --overwrite"
# Keys that only set when a run ends: what comes before does not depend on them.
LENGTHS = (("rounds",), ("sessions", "count"), ("sessions", "rounds"))
STOP = ("stop",)
UNLIKE = ("label", "targets")  # change no round: what the run is called, and what is asked of it
ABSENT = object()  # the value of a key that a file does not have


class Difference(NamedTuple):
    """A key whose values differ."""

    key: KeyPath
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"with {self._quoted(self.before)} instead of {self._quoted(self.now)}"

    def _quoted(self, value: Any) -> str:
        if value is ABSENT:
            return "nothing"
        return f"'{dotted(self.key)}: {shown(value)}'"


def check_begun(folder: Path, text: str, scenario: Scenario) -> bool:
    """Check that a folder's run can go on as a scenario; return True if the scenario has more rounds, or stops later.

    Raises:
        InputError: it is the run of another scenario, or has more rounds or other rounds than this one.
    """
    if text == dump(scenario):
        return False
    now, _ = parse(dump(scenario))
    differences = [each for each in _differences(_parsed(folder, text), now) if each.key[0] not in UNLIKE]
    found = [each for each in differences if not _is_default(each, scenario)]
    lengths = [each for each in found if each.key in LENGTHS and type(each.before) is type(each.now) is int]
    for each in found:
        if each not in lengths and each.key[: len(STOP)] != STOP:
            raise InputError(f"{folder}: was begun with another scenario, {each}; {OTHERWISE}")
    for each in lengths:
        if each.now < each.before:
            text = f"was begun with {dotted(each.key)}: {each.before}, which cannot become {each.now}"
            raise InputError(f"{folder}: {text}; {OTHERWISE}")
    if lengths and (culprit := rounds_matter(scenario)):
        text = f"{culprit} depends on the number of rounds, so its rounds would have been different"
        raise InputError(f"{folder}: cannot be extended: {text}; {OTHERWISE}")
    return bool(found)


def _differences(before: Any, now: Any, key: KeyPath = ()) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(now, dict):
        for name in {**now, **before}:
            yield from _differences(before.get(name, ABSENT), now.get(name, ABSENT), (*key, name))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, values in enumerate(zip(before, now, strict=True)):
            yield from _differences(*values, (*key, index))
    elif before != now:
        yield Difference(key, before, now)


def _is_default(difference: Difference, scenario: Scenario) -> bool:
    """Return whether a file lacks a key that has its default now: an earlier version may not have known the key."""
    if difference.before is not ABSENT:
        return False
    try:
        return dump(without(scenario, [difference.key])) == dump(scenario)
    except InputError:  # the key is required
        return False


def check_data(folder: Path, dataset: Dataset, digest: str) -> None:
    """Check that a folder's run was begun with the same data, as far as its manifest says.

    Raises:
        InputError: the run was begun with other data.
    """
    before = manifest_of(folder).get(DATA_DIGEST, digest)  # runs without learning note none
    if before != digest:
        text = f"was begun with other data than data.dataset: {DATASETS.name_of(dataset)} gives now"
        remedy = "if it draws them, seed its generator"
        if not is_of_this_processor(folder):  # computed data, such as a sine, may be rounded differently
            remedy = "it was begun on another type of processor, which may round differently: continue it there"
        raise InputError(f"{folder}: {text}: {remedy}; {OTHERWISE}")


def check_plugins(folder: Path, plugins: Sequence[Plugin]) -> None:
    """Check that a folder's run was made by the plug-ins as they are now.

    Raises:
        InputError: their source has changed since.
    """
    listed = manifest_of(folder).get("plugins", [])
    try:
        before = {str(plugin["key"]): plugin["sha256"] for plugin in listed}
    except (KeyError, TypeError):
        text = "plugins: must be a list of the run's plug-ins, each with key and sha256; the file is damaged"
        raise InputError(f"{folder / MANIFEST_FILE}: {text}") from None
    for plugin in plugins:
        if before.get(plugin.key) != plugin.sha256():
            raise InputError(f"{folder}: its run was finished with another version of {plugin.path}; {OTHERWISE}")


def is_of_this_processor(folder: Path) -> bool:
    """Return whether a folder's run was begun on this type of processor, as far as its manifest says."""
    return bool(manifest_of(folder).get(PROCESSOR, processor()) == processor())


def _parsed(folder: Path, text: str) -> dict[str, Any]:
    try:
        content, _ = parse(text)
    except NotYaml as error:
        raise InputError(f"{folder}/scenario.yaml:{error.line}: not valid YAML: {error.problem}") from None
    if not isinstance(content, dict):
        raise InputError(f"{folder}/scenario.yaml: is not that of a run; {OTHERWISE}")
    return content
