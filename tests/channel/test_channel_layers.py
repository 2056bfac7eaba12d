"""No module of `channel` imports another in a circle, not inside a function either."""

import ast
import graphlib
from pathlib import Path

import channel

FOLDER = Path(channel.__file__).parent


def imported(path):
    """Modules of `channel` that a file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        if node.module == "channel":
            found |= {name.name for name in node.names}
        elif node.module.startswith("channel."):
            found.add(node.module.removeprefix("channel."))
    return found


def test_no_module_imports_another_in_a_circle():
    graph = {path.stem: imported(path) for path in FOLDER.glob("*.py") if path.stem != "__init__"}
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert order.index("slot_walk") < order.index("first_passage") < order.index("transfer")
