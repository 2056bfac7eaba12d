"""Checks that the run in a folder is the same as a scenario, or its beginning: a run may be extended by rounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import InputError
from edgefl.core.machine import processor
from edgefl.core.plugins import Plugin
from edgefl.core.version import edgefl_version
from edgefl.learning.datasets import DATASETS, Dataset
from edgefl.results.integrity import DATA_DIGEST, MANIFEST_FILE, manifest_of
from edgefl.results.provenance import PROCESSOR
from edgefl.results.reader import text_of
from edgefl.results.run_folder import SCENARIO_FILE
from edgefl.runs.known_keys import differences
from edgefl.runs.learning_key import rounds_matter
from edgefl.runs.plan_keys import as_begun
from edgefl.scenario import Scenario, dump
from edgefl.scenario.yaml_reader import NotYaml, parse

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
        InputError: it is the run of another scenario, has more rounds, has other rounds than this one, or has keys of
            another version, which this one does not know.
    """
    if text == dump(scenario):
        return False
    found = differences(_parsed(folder, text), scenario)
    lengths = [each for each in found if each.key in LENGTHS and type(each.before) is type(each.now) is int]
    unknown = [each for each in found if each.is_unknown]
    # Another member of a catalogue has other keys: only where nothing else differs, a key is another version's.
    for each in found:
        if each not in lengths and each not in unknown and each.key[: len(STOP)] != STOP:
            raise InputError(f"{folder}: was begun with another scenario, {each}; {OTHERWISE}")
    if unknown:
        names = ", ".join(each.name for each in unknown)
        by = f"edgefl {manifest_of(folder).get('edgefl', 'of another version')}"
        what = f"was begun by {by} with {names}, which edgefl {edgefl_version()} does not know"
        raise InputError(f"{folder}: {what}: go on with the version that began it, {OTHERWISE}")
    for each in lengths:
        if each.now < each.before:
            text = f"was begun with {each.name}: {each.before}, which cannot become {each.now}"
            raise InputError(f"{folder}: {text}; {OTHERWISE}")
    if lengths and (culprit := rounds_matter(scenario)):
        text = f"{culprit} depends on the number of rounds, so that the rounds in it would have been others"
        raise InputError(f"{folder}: cannot be extended: {text}; {OTHERWISE}")
    return bool(found)


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


def check_plugins(folder: Path, plugins: Sequence[Plugin]) -> None:
    """Check that a folder's run was made by the plug-ins as they are now.

    Raises:
        InputError: their source has changed since.
    """
    listed = manifest_of(folder).get("plugins", [])
    try:
        before = {str(plugin["key"]): plugin["sha256"] for plugin in listed}
    except (KeyError, TypeError):
        text = "plugins: must be a list of what the run was made by, each with key and sha256; the file is damaged"
        raise InputError(f"{folder / MANIFEST_FILE}: {text}") from None
    for plugin in plugins:
        if before.get(plugin.key) != plugin.sha256():
            raise InputError(f"{folder}: its run was finished with another version of {plugin.path}; {OTHERWISE}")


def is_begun(folder: Path, scenario: Scenario) -> bool:
    """Return whether a folder holds a run of a scenario, which may have been begun by another version.

    Raises:
        InputError: it holds the run of another scenario, or of other plug-ins.
    """
    if not (folder / SCENARIO_FILE).exists():
        return False
    text = text_of(folder, SCENARIO_FILE)
    if check_begun(folder, text, as_begun(scenario, _parsed(folder, text))):
        raise InputError(f"{folder}: was begun with another number of rounds, or another end; {OTHERWISE}")
    check_plugins(folder, plugins_in(scenario))
    return True


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
