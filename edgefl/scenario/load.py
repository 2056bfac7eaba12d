"""Load a scenario from a file or a mapping, with overrides; every error names its file, line and key."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import InputError
from edgefl.core.paths import CHECKED, SearchFolder
from edgefl.core.plugin_import import Access, NotImported
from edgefl.core.plugins import attributing
from edgefl.core.section import KeyPath, Section
from edgefl.learning.data_section import DataSection
from edgefl.learning.models import MODELS, Model
from edgefl.scenario import presets, shipped
from edgefl.scenario.answers import with_place
from edgefl.scenario.deprecated_keys import renamed
from edgefl.scenario.number_forms import with_remedy
from edgefl.scenario.overlays import extended, read_extended
from edgefl.scenario.overrides import Override, list_of_overrides, parse_override, replaced
from edgefl.scenario.python_values import as_in_yaml
from edgefl.scenario.scenario import Scenario
from edgefl.scenario.sections import EXTENDS
from edgefl.scenario.source import Source

_FOLDERS: TypeAdapter[tuple[Path, ...]] = TypeAdapter(Annotated[tuple[SearchFolder, ...], Field(strict=False)])


def load(
    source: str | Path | Mapping[str, Any],
    overrides: Sequence[str | Override] = (),
    access: Access | None = None,
    here: Path | None = None,
    *,
    needs_files: bool = False,
) -> Scenario:
    """Return the scenario of a YAML file or of a mapping.

    Args:
        source: path of the file, or the name of a scenario that comes with edgefl, or the scenario as nested mappings;
            it may extend others.
        overrides: each "dotted.key=value" with the value in YAML, or an `Override`.
        access: whether code from outside that the scenario names is imported, and where it may be; notes what was not.
        here: where paths in it are looked for after its own folder; the working directory if not given.
        needs_files: whether the files that it names must be there.

    Raises:
        InputError: one finished line for every fault, in the order of the file.
    """
    scenario, _ = load_with_source(source, overrides, access, here, needs_files=needs_files)
    return scenario


def load_with_source(
    source: str | Path | Mapping[str, Any],
    overrides: Sequence[str | Override] = (),
    access: Access | None = None,
    here: Path | None = None,
    *,
    needs_files: bool = False,
) -> tuple[Scenario, Source]:
    """Return the scenario as `load` does, and the source of its keys, for faults found only when data are read.

    Raises:
        InputError: one finished line for every fault, in the order of the file.
    """
    here = here or Path.cwd()  # before any code that the scenario names, which may change it
    overrides = list_of_overrides(overrides)
    if isinstance(source, Mapping):
        raw, origin = extended(as_in_yaml(source, "scenario"), here)
        base = here
    else:
        path = shipped.find(source)
        raw, origin = read_extended(path, here)
        if "base" in raw:  # not a key of a scenario, and required in a sweep file
            raise InputError(f"{path}: is a sweep file: run it with `edgefl sweep {source}`")
        base = (here / path).resolve().parent
        if raw.get("name") is None:  # results of two files must not meet in one folder
            raw["name"] = name_from(path)[:100] or "scenario"
    for override in overrides:
        if isinstance(override, str):
            override = parse_override(override)  # noqa: PLW2901
        keys, value, where = override
        if keys[0] == EXTENDS:
            raise InputError(f"{where}: {EXTENDS} is read only from the file: write it there")
        # Before validation, so that an override meets the same checks as a key of the file.
        raw = replaced(raw, keys, as_in_yaml(value, where), where)
        origin.overrides[keys] = where
    raw = renamed(raw, origin)
    origin.presets = presets.named_in(raw)
    context = _context(raw, [base, *origin.folders], access or Access()) | {"here": here, CHECKED: needs_files}
    try:
        with attributing(context["access"].used, InputError):
            scenario = Scenario.model_validate(_with_defaults(raw, context), context=context)
    except ValidationError as error:
        items = error.errors(include_url=False)
        found = []
        for item in items:
            text = with_remedy(item["msg"], item["loc"], item["input"])
            found.append((item["loc"], with_place(text, item["loc"], item["input"], raw)))
        # Pydantic lists faults by class; a reader corrects the file from the top.
        found.sort(key=lambda item: origin.rank(item[0]))
        lines = dict.fromkeys(origin.fault(path, text) for path, text in found)  # without duplicates
        raise InputError(*lines) from None
    return _with_folders(scenario), origin


def changed(scenario: Scenario, overrides: Sequence[str | Override], access: Access | None = None) -> Scenario:
    """Return a loaded scenario with other values of some keys, checked as `load` checks a file's keys.

    Raises:
        InputError: one finished line for every fault.
    """
    for keys, _, where in (item if isinstance(item, Override) else parse_override(item) for item in overrides):
        key = keys[-1]
        if key in {"preset", "profile"}:
            text = f"a loaded scenario has the keys of its {key} already: set the keys, or the {key} before loading"
            raise InputError(f"{where}: {'.'.join(keys)}: {text}")
    return load(content(scenario), overrides, access)


def without(scenario: Scenario, keys: Sequence[KeyPath]) -> Scenario:
    """Return a loaded scenario as if some of its keys had not been written.

    Raises:
        InputError: one finished line for every fault.
    """
    raw = content(scenario)
    for *sections, key in keys:
        node: Any = raw
        for section in sections:
            node = node[section]
        node.pop(key, None)  # a dataset that exists only in Python has no key there
    return load(raw)


def content(scenario: Scenario) -> dict[str, Any]:
    """Return a loaded scenario as the mapping that `load` reads."""
    raw = scenario.model_dump(mode="json")
    dataset = scenario.data.dataset
    if dataset.only_in_python:
        own_keys = type(dataset).model_fields
        rest = {key: value for key, value in raw["data"].items() if key not in own_keys}
        raw["data"] = {**rest, "dataset": dataset}
    return raw


def _context(raw: Mapping[str, Any], folders: Sequence[Path], access: Access) -> dict[str, Any]:
    """Return the context for the validation of a scenario: its folder, and those with code from outside."""
    base = folders[0]
    given: tuple[Path, ...] = ()
    with suppress(ValidationError):  # the same faults are reported when the whole scenario is validated
        given = _FOLDERS.validate_python(raw.get("import_from") or (), context={"base": base})
    with_code = tuple(folder.resolve() for folder in (*(given or folders), *access.folders))
    return {"base": base, "access": replace(access, folders=with_code)}


def _with_folders(scenario: Scenario) -> Scenario:
    """Return a scenario with the folders of all plug-ins that it uses, so that it runs from any place."""
    folders = [plugin.folder for plugin in plugins_in(scenario)]
    found = dict.fromkeys((*scenario.import_from, *(folder for folder in folders if folder is not None)))
    return scenario.model_copy(update={"import_from": tuple(found)})


class _ModelOnly(Section):
    """The one section of a scenario that the trained model of a finished run needs."""

    model: Annotated[Model, MODELS]  # the network that was trained


def load_model(scenario: Mapping[str, Any], folder: Path) -> Model:
    """Return the section `model` of a resolved scenario in a folder; files that other sections name may be missing.

    Raises:
        InputError: the model cannot be made, for example because the file of the user's own model is missing.
    """
    try:
        context = _context(scenario, [folder], Access())
        only = _ModelOnly.model_validate({"model": scenario.get("model")}, context=context)
    except ValidationError as error:
        source = Source(str(folder / "scenario.yaml"))
        lines = [source.fault(item["loc"], item["msg"]) for item in error.errors(include_url=False)]
        raise InputError(*dict.fromkeys(lines)) from None
    return only.model


def name_from(path: Path) -> str:
    """Return the name of a file without its ending, in characters that may stand in a scenario's name."""
    return re.sub(r"[^\w.-]", "-", path.stem).lstrip(".")


def _with_defaults(raw: dict[str, Any], context: dict[str, Any]) -> dict[str, Any]:
    """Fill in the keys that the dataset implies, unless the file gives them."""
    implied: dict[str, Any] = {"model": {"kind": "mlp"}}
    data = raw.get("data")
    # The dataset implies keys of other sections, such as its model, so its section is read before the whole.
    if isinstance(data, dict) and data.get("dataset") is not None:
        # The same faults are reported when the whole scenario is validated.
        with suppress(ValidationError, NotImported):
            implied = _merged(implied, DataSection.model_validate(data, context=context).dataset.defaults())
    return _merged(implied, raw)


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return `below` overridden by `above`, mapping by mapping; a key without a value overrides nothing."""
    merged = dict(below)
    for key, value in above.items():
        covered = below.get(key)
        if isinstance(value, dict) and isinstance(covered, dict):
            merged[key] = _merged(covered, value)
        elif value is None:
            merged[key] = covered
        else:
            merged[key] = value
    return merged
