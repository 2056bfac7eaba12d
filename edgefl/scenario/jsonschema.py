"""The JSON Schema of a scenario file."""

from __future__ import annotations

from typing import Any

from edgefl.learning.datasets import DATASETS
from edgefl.scenario.schema import Scenario


def schema() -> dict[str, Any]:
    """For editors: completion and checks while typing. Every key is optional."""
    root = Scenario.model_json_schema(mode="validation")
    root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    root["title"] = "edgefl scenario"
    _inline_dataset(root["$defs"]["DataSection"])
    _untagged_model(root["properties"]["model"])
    _nothing_allowed(root)
    return root


def _nothing_allowed(node: Any) -> None:
    """A key with nothing after it counts as left out, unless it is required."""
    if isinstance(node, list):
        for item in node:
            _nothing_allowed(item)
    elif isinstance(node, dict):
        for item in list(node.values()):
            _nothing_allowed(item)
        optional = set(node.get("properties", {})) - set(node.get("required", []))
        for name in optional:
            if "const" not in node["properties"][name]:
                node["properties"][name] = {"anyOf": [node["properties"][name], {"type": "null"}]}


def _inline_dataset(section: dict[str, Any]) -> None:
    """In YAML a dataset's own keys stand beside `dataset: name`."""
    beside = {name: value for name, value in section["properties"].items() if name != "dataset"}
    variants = [v for v in section["properties"]["dataset"]["anyOf"] if "properties" in v]
    for variant in variants:
        name = variant["properties"].pop("kind")["const"]
        variant["properties"] = {"dataset": {"const": name}, **variant["properties"], **beside}
        variant["required"] = ["dataset", *(key for key in variant["required"] if key != "kind")]
    section.clear()
    section |= {"anyOf": variants, "description": f"dataset: one of {', '.join(DATASETS.members)}"}


def _untagged_model(model: dict[str, Any]) -> None:
    """`kind` of a model may be left out: the dataset implies it."""
    for variant in model["anyOf"]:
        if "const" in variant.get("properties", {}).get("kind", {}):
            variant["required"] = [key for key in variant["required"] if key != "kind"]
