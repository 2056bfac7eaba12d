"""Paths into edgefl's own packages: catalogues' entries have names, and nothing that modules import or define."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

import channel
import edgefl
from edgefl.cli.listing import CATALOGUES
from edgefl.coordination.policies import POLICIES
from edgefl.core.plugin_import import Access
from edgefl.learning.algorithms.reweighted import BASES
from edgefl.reproductions.readings import READINGS
from edgefl.reproductions.relations import RELATIONS

EVERY_CATALOGUE = [*CATALOGUES.values(), BASES, READINGS, RELATIONS]
# What may follow a name: what a module holds, and ways from a function or class to all that its module holds.
BEYOND = ("run", "system", "rmtree", "__globals__.update", "__init__.__globals__.clear", "__class__.mro")
IMPORTS_ALLOWED = SimpleNamespace(context={"access": Access(mode="import")})


def modules():
    """Return the name of each module of edgefl's packages, and its file."""
    for package in (edgefl, channel):
        folder = Path(package.__file__).parent
        for file in folder.rglob("*.py"):
            parts = file.relative_to(folder.parent).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), file


def bound(nodes):
    """Return the names that statements import or define, also within conditions and classes."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
            yield from (f"{node.name}.{name}" for name in bound(node.body))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from bound(ast.iter_child_nodes(node))


def takes(catalogue, path):
    """Return whether a catalogue makes a member of what a path leads to, or at least looks at its keys."""
    try:
        catalogue.parse({"kind": path}, IMPORTS_ALLOWED)
    except PydanticCustomError:
        return False
    except ValidationError:
        return True
    return True


@pytest.mark.oracle
def test_no_import_and_no_definition_of_any_module_has_a_name_unless_a_catalogue_lists_it():
    named = [f"{module}:{name}" for module, file in modules() for name in bound(ast.parse(file.read_bytes()).body)]
    assert {"edgefl.results.provenance:subprocess", "edgefl.results.export:shutil"} < set(named)
    assert {"edgefl.core.files:write_for_user", "channel._compiled:find_spec"} < set(named)
    beyond = [f"{path}.{name}" for path in named for name in BEYOND]
    for catalogue in EVERY_CATALOGUE:
        entries = {*catalogue.members.values(), *catalogue.unlisted}
        tried = named
        if catalogue.adapter is not None:  # it takes functions, too
            tried = named + beyond
        taken = {path for path in tried if takes(catalogue, path)}
        assert taken == entries, catalogue.noun


def test_an_entry_may_be_named_by_its_path_too():
    info = SimpleNamespace(context={"access": Access(mode="refuse")})
    policy = POLICIES.parse({"kind": "edgefl.coordination.policies.buffered:Buffered", "buffer": 3}, info)
    assert POLICIES.dump(policy) == {"kind": "buffered", "buffer": 3}
