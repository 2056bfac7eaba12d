"""No two modules import each other, in a circle of any length: not inside a function, and not for a type either."""

import ast
import graphlib
from pathlib import Path

import pytest

import channel
import edgefl

ROOTS = [Path(package.__file__).parent for package in (edgefl, channel)]


def modules():
    """The files of all modules by their names."""
    found = {}
    for root in ROOTS:
        for path in root.rglob("*.py"):
            name = ".".join(path.relative_to(root.parent).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def imported(path, known):
    """The modules that a file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                found.add(inner if inner in known else node.module)
    return found & known


@pytest.mark.oracle
def test_no_modules_import_each_other():
    files = modules()
    graph = {name: imported(path, files.keys()) - {name} for name, path in files.items()}
    assert sum(map(len, graph.values())) > 1_000  # the files were read
    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises where there is a circle
    assert order.index("edgefl.core.errors") < order.index("edgefl.api")
