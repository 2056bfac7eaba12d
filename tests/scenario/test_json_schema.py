"""The JSON Schema: every key is described, and what occurs several times stands in it once."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from edgefl.core.errors import InputError
from edgefl.core.version import edgefl_version
from edgefl.scenario import load_sweep, shipped
from edgefl.scenario.jsonschema import schema, sweep_schema, write_schema
from edgefl.scenario.shared_definitions import REFERENCE, share_definitions
from edgefl.scenario.yaml_reader import parse as parse_yaml

LARGEST_BYTES = 320_000  # of the schema without blanks; it was ten times as large when each use had a copy of its own


def parts(node):
    """Return all schemas in a schema."""
    if isinstance(node, list):
        for item in node:
            yield from parts(item)
    elif isinstance(node, dict):
        yield node
        for value in node.values():
            yield from parts(value)


def expanded(node, definitions):
    """Return a schema with each reference replaced by what it refers to."""
    if isinstance(node, list):
        return [expanded(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    own = {key: expanded(value, definitions) for key, value in node.items() if key != "$ref"}
    if "$ref" not in node:
        return own
    return expanded(definitions[node["$ref"].removeprefix(REFERENCE)], definitions) | own


@pytest.mark.oracle
def test_every_key_is_described():
    without = []
    for part in parts(schema()):
        properties = part.get("properties", {})
        if "const" in properties:  # a key of this name, not the keyword
            continue
        without += [name for name, key in properties.items() if isinstance(key, dict) and not key.get("description")]
    assert without == []


@pytest.mark.oracle
def test_schema_is_small_enough_for_an_editor():
    assert len(json.dumps(schema(), separators=(",", ":"))) < LARGEST_BYTES


@pytest.mark.oracle
def test_all_references_lead_somewhere_and_no_definition_is_superfluous():
    root = schema()
    used = {part["$ref"].removeprefix(REFERENCE) for part in parts(root) if "$ref" in part}
    assert used == set(root["$defs"])


LEAVES = st.fixed_dictionaries(
    {"type": st.sampled_from(["number", "integer", "string"]), "pattern": st.sampled_from(["a" * 130, "b" * 130, "c"])},
    optional={"description": st.text(max_size=5), "default": st.integers(0, 3)},
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=4)}),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"prefixItems": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from(["x", "y", "kind"]), inner, max_size=3)}),
        st.fixed_dictionaries({"additionalProperties": inner}),
    ),
    max_leaves=12,
)


@pytest.mark.oracle
@given(SCHEMAS, st.dictionaries(st.sampled_from(["Given", "Other"]), SCHEMAS, max_size=2))
def test_sharing_changes_nothing_but_where_parts_stand(one, given_definitions):
    original = {"properties": {"first": one, "second": one}, "$defs": given_definitions}
    shared = json.loads(json.dumps(original))
    share_definitions(shared)
    definitions = shared.pop("$defs")
    assert expanded(shared, definitions) == {"properties": original["properties"]}
    for name, part in given_definitions.items():
        assert expanded(definitions[name], definitions) == part
    new = [part for name, part in definitions.items() if name not in given_definitions]
    texts = [json.dumps(part, sort_keys=True) for part in new]
    assert len(texts) == len(set(texts))


@pytest.mark.oracle
@pytest.mark.parametrize(("kind", "made"), [("scenario", schema), ("sweep", sweep_schema)])
def test_schema_has_an_id_of_its_kind_and_version(kind, made):
    root = made()
    assert root["$id"] == f"urn:edgefl:{kind}:{edgefl_version()}"
    Draft202012Validator.check_schema(root)


@pytest.mark.parametrize("path", shipped.sweeps().values(), ids=shipped.sweeps())
def test_shipped_sweeps_follow_the_schema_of_sweeps(path):
    data, _ = parse_yaml(path.read_text())
    Draft202012Validator(sweep_schema()).validate(data)


@pytest.mark.parametrize(
    "text",
    [
        "base: quickstart\ngrid: {rounds: 3}",
        "base: quickstart\ngrid: {rounds: []}",
        "base: quickstart\nset: {bad key: 1}",
        "base: quickstart\nseeds: [-1]",
        "base: quickstart\ngird: {rounds: [1, 2]}",
        "grid: {rounds: [1, 2]}",
    ],
)
def test_schema_of_sweeps_and_loader_refuse_the_same(text, tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        load_sweep(path)
    assert not Draft202012Validator(sweep_schema()).is_valid(yaml.safe_load(text))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["quickstart", "bandwidth"])
def test_copy_names_the_schema_beside_it_which_accepts_it(name, tmp_path):
    copy = shipped.copy_to(name, tmp_path)
    first = copy.read_text().partition("\n")[0]
    file = tmp_path / first.removeprefix("# yaml-language-server: $schema=")
    write_schema(file)
    data, _ = parse_yaml(copy.read_text())
    Draft202012Validator(json.loads(file.read_text())).validate(data)


def test_schema_replaces_one_of_another_version_and_no_foreign_file(tmp_path):
    path = tmp_path / shipped.SCHEMA_FILES["sweep"]
    path.write_text('{"$id":"urn:edgefl:sweep:0.1.0"}')
    write_schema(path)
    assert json.loads(path.read_text()) == sweep_schema()
    path.write_text("{}")
    with pytest.raises(InputError, match=path.name):
        write_schema(path)
    assert path.read_text() == "{}"
