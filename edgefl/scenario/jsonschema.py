"""The JSON Schemas of scenario files and of sweep files."""

import json
from pathlib import Path
from typing import Any

from edgefl.core.files import write_for_user
from edgefl.core.own_files import begins_with, check_replaceable
from edgefl.core.version import edgefl_version
from edgefl.learning.datasets import DATASETS
from edgefl.scenario import shipped
from edgefl.scenario.scenario import Scenario
from edgefl.scenario.shared_definitions import OF_A_KEY, share_definitions
from edgefl.scenario.sweep_file import SweepFile

NULL = {"type": "null"}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_ID = "urn:edgefl:"
_BEGINNING = f'{{"$id":"{_ID}'.encode()  # of a schema that edgefl has written


def schema() -> dict[str, Any]:
    """Return the schema that lets editors complete and check files; every key is optional."""
    root = _headed("scenario", Scenario.model_json_schema(mode="validation"))
    _merge_dataset_keys(root["$defs"]["DataSection"])
    _make_model_kind_optional(root["properties"]["model"])
    _remove_titles(root)
    _allow_null(root)
    share_definitions(root)
    return root


def sweep_schema() -> dict[str, Any]:
    """Return the schema of sweep files, whose keys under `set`, `grid`, `zip` and `points` are dotted."""
    root = _headed("sweep", SweepFile.model_json_schema(mode="validation"))
    _remove_titles(root)
    for key in ("set", "grid", "zip"):
        root["properties"][key]["additionalProperties"] = False  # a key has the form of the pattern
    _allow_null(root)
    return root


def check_replaceable_schema(path: Path) -> None:
    """Check that no file, or an earlier schema of edgefl, is where the schema of a copied file is to be written.

    Raises:
        InputError: another file has this name.
    """
    check_replaceable(path.parent, {path.name: begins_with(_BEGINNING)})


def write_schema(path: Path) -> None:
    """Write the schema that the first line of a copied file names; `path` ends in one of `shipped.SCHEMA_FILES`.

    Raises:
        InputError: another file has this name, or it cannot be written.
    """
    check_replaceable_schema(path)
    root = sweep_schema() if path.name == shipped.SCHEMA_FILES["sweep"] else schema()
    write_for_user(path, json.dumps(root, separators=(",", ":")).encode())


def _headed(of: str, root: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of files of a kind with what says which schema this is, first."""
    head = {"$id": f"{_ID}{of}:{edgefl_version()}", "$schema": _DRAFT, "title": f"edgefl {of}"}
    return {**head, **{key: value for key, value in root.items() if key not in head}}


def _remove_titles(node: Any) -> None:
    """Remove the titles that pydantic derives from names: "Bandwidth Hz" only repeats `bandwidth_hz`."""
    if isinstance(node, list):
        for item in node:
            _remove_titles(item)
    elif isinstance(node, dict):
        for part in [*node.get("properties", {}).values(), *node.get("$defs", {}).values()]:
            part.pop("title", None)
        for value in node.values():
            _remove_titles(value)


def _allow_null(node: Any) -> None:
    """Let every optional key have no value, as the loader does."""
    if isinstance(node, list):
        for item in node:
            _allow_null(item)
    elif isinstance(node, dict):
        for item in list(node.values()):
            _allow_null(item)
        optional = set(node.get("properties", {})) - set(node.get("required", []))
        for name in optional:
            value = node["properties"][name]
            if "const" not in value:  # the name of a member, which tells the variants apart
                node["properties"][name] = _or_null(value)


def _or_null(value: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that also takes null; the description stays at the key, where editors show it."""
    own = {key: value[key] for key in OF_A_KEY if key in value}
    rest = {key: item for key, item in value.items() if key not in own}
    choices = [rest]
    if set(rest) == {"anyOf"}:
        choices = [choice for choice in rest["anyOf"] if choice != NULL]
    return {**own, "anyOf": [*choices, NULL]}


def _merge_dataset_keys(section: dict[str, Any]) -> None:
    """Describe the section `data` as in YAML, where a dataset's keys are keys of the section, too."""
    other_keys = {name: value for name, value in section["properties"].items() if name != "dataset"}
    variants = [variant for variant in section["properties"]["dataset"]["anyOf"] if "properties" in variant]
    for variant in variants:
        name = variant["properties"].pop("kind")
        variant["properties"] = {"dataset": name, **variant["properties"], **other_keys}
        variant["required"] = ["dataset", *(key for key in variant["required"] if key != "kind")]
    # In place, as other parts refer to this definition.
    section.clear()
    section["anyOf"] = variants
    section["description"] = f"dataset: one of {', '.join(DATASETS.members)}"


def _make_model_kind_optional(model: dict[str, Any]) -> None:
    for variant in model["anyOf"]:
        if "const" in variant.get("properties", {}).get("kind", {}):
            variant["required"] = [key for key in variant["required"] if key != "kind"]
