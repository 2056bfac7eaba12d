"""Measure how the code is built: rooms, import circles, density, start-up; one column for each tree, side by side.

    python benchmarks/house.py                 # this tree
    python benchmarks/house.py ../before .     # an earlier checkout beside this one
    python benchmarks/house.py --runs 5        # also times `edgefl run 01-skewed-data --no-train`, in turn

Circles are strongly connected components of the graph of modules; imports inside functions and under TYPE_CHECKING
count, too. Density is per 1,000 code lines (comments: per 100), without docstrings, comments and blank lines.
A parallel assignment gives several expressions to several targets in one statement, swaps excepted.
"""

import argparse
import ast
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tokenize
from pathlib import Path
from typing import NamedTuple

import networkx as nx

PACKAGES = ("edgefl", "channel")
SCENARIO = "scenarios/01-skewed-data.yaml"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


class Density(NamedTuple):
    """The counts of a tree: code lines, and how many of each are in them."""

    code: int
    parallel: int
    conditional: int
    comments: int


def modules_of(tree):
    """Return the files of both packages, by dotted name."""
    modules = {}
    for package in PACKAGES:
        for path in sorted((tree / package).rglob("*.py")):
            parts = list(path.relative_to(tree).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            modules[".".join(parts)] = path
    return modules


def entries(tree):
    """Return how many modules and packages stand at the root of edgefl."""
    modules = list((tree / "edgefl").glob("*.py"))
    packages = [path for path in (tree / "edgefl").iterdir() if (path / "__init__.py").exists()]
    return len(modules) + len(packages)


def circles(tree):
    """Return the sets of modules that import each other in a circle."""
    modules = modules_of(tree)
    graph = nx.DiGraph()
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    imported = f"{node.module}.{alias.name}"
                    if imported not in modules:
                        imported = node.module
                    graph.add_edge(name, imported)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    graph.add_edge(name, alias.name)
    graph = graph.subgraph(modules)
    return [sorted(found) for found in nx.strongly_connected_components(graph) if len(found) > 1]


def density(tree):
    """Return the counts of both packages."""
    code = 0
    parallel = 0
    conditional = 0
    comments = 0
    for path in modules_of(tree).values():
        syntax = ast.parse(path.read_text(encoding="utf-8"))
        docstring_lines = set()
        for node in ast.walk(syntax):
            if isinstance(node, ast.IfExp):
                conditional += 1
            elif isinstance(node, ast.Assign) and is_parallel(node):
                parallel += 1
            elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                docstring_lines.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        lines = set()
        with tokenize.open(path) as stream:
            for token in tokenize.generate_tokens(stream.readline):
                if token.type == tokenize.COMMENT:
                    comments += 1
                if token.type not in NO_CODE and token.start[0] not in docstring_lines:
                    lines.update(range(token.start[0], token.end[0] + 1))
        code += len(lines)
    return Density(code, parallel, conditional, comments)


def is_parallel(node):
    """Return whether one statement gives several expressions to several targets."""
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Tuple):
        return False
    return texts_of(target) != texts_of(node.value)


def texts_of(several):
    """Return the set of the expressions of a tuple, as text."""
    return {ast.unparse(each) for each in several.elts}


def start_up(tree, folder):
    """Return the seconds from the start of a process to the end of a run without learning."""
    command = [sys.executable, "-m", "edgefl", "run", SCENARIO, "--no-train", "--quiet", "--overwrite"]
    began_s = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve())}
    subprocess.run([*command, "-o", str(folder)], cwd=tree, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began_s


def start_ups(trees, runs):
    """Return the seconds of each tree's starts, which are measured in turn."""
    times = {tree: [] for tree in trees}
    if not runs:
        return times
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs + 1):
            for tree in trees:
                seconds = start_up(tree, Path(folder) / "run")
                if number:  # the first one fills caches
                    times[tree].append(seconds)
    return times


def main():
    """Print a column for each tree, and its circles below."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--runs", type=int, default=0, help="how often to time the start of each tree, in turn")
    arguments = parser.parse_args()
    trees = arguments.trees
    times = start_ups(trees, arguments.runs)
    print("| | " + " | ".join(map(str, trees)) + " |")
    print("|---|" + "---|" * len(trees))
    circles_of = {tree: circles(tree) for tree in trees}
    rows = {
        "entries at the root of edgefl": [],
        "import circles": [],
        "code lines": [],
        "parallel assignments, per 1,000": [],
        "conditional expressions, per 1,000": [],
        "comments, per 100": [],
    }
    for tree in trees:
        counts = density(tree)
        rows["entries at the root of edgefl"].append(str(entries(tree)))
        rows["import circles"].append(str(len(circles_of[tree])))
        rows["code lines"].append(f"{counts.code:,}")
        rows["parallel assignments, per 1,000"].append(f"{1000 * counts.parallel / counts.code:.1f}")
        rows["conditional expressions, per 1,000"].append(f"{1000 * counts.conditional / counts.code:.1f}")
        rows["comments, per 100"].append(f"{100 * counts.comments / counts.code:.1f}")
    if arguments.runs:
        medians = [f"{statistics.median(times[tree]):.2f}" for tree in trees]
        rows["01-skewed-data without learning [s], median"] = medians
    for title, cells in rows.items():
        print(f"| {title} | " + " | ".join(cells) + " |")
    for tree in trees:
        for found in circles_of[tree]:
            print(f"circle in {tree}: {', '.join(found)}")


if __name__ == "__main__":
    main()
