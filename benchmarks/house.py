"""How the code is built: rooms, import circles, density, start-up; one column for each tree, side by side.

    python benchmarks/house.py                 # this tree
    python benchmarks/house.py ../before .     # an earlier checkout beside this one
    python benchmarks/house.py --runs 5        # also times `edgefl run 01-skewed-data --no-train`, in turn

Circles are strongly connected components of the graph of modules; imports inside functions and under TYPE_CHECKING
count, too. Density is per 1,000 code lines (comments: per 100), where docstrings, comments and blank lines are no code.
A parallel assignment gives several expressions to several targets in one statement, and is no swap.
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

import networkx as nx

PACKAGES = ("edgefl", "channel")
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def modules_of(tree):
    """The files of both packages, by dotted name."""
    modules = {}
    for package in PACKAGES:
        for path in sorted((tree / package).rglob("*.py")):
            parts = list(path.relative_to(tree).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            modules[".".join(parts)] = path
    return modules


def entries(tree):
    """How many modules and packages stand at the root of edgefl."""
    modules = list((tree / "edgefl").glob("*.py"))
    packages = [path for path in (tree / "edgefl").iterdir() if (path / "__init__.py").exists()]
    return len(modules) + len(packages)


def circles(tree):
    """The sets of modules that import each other in a circle."""
    modules = modules_of(tree)
    graph = nx.DiGraph()
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    graph.add_edge(name, whole if whole in modules else node.module)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    graph.add_edge(name, alias.name)
    graph = graph.subgraph(modules)
    return [sorted(found) for found in nx.strongly_connected_components(graph) if len(found) > 1]


def density(tree):
    """Code lines, parallel assignments, conditional expressions and comments of both packages."""
    code = parallel = conditional = comments = 0
    for path in modules_of(tree).values():
        syntax = ast.parse(path.read_text(encoding="utf-8"))
        docstring_lines = set()
        for node in ast.walk(syntax):
            if isinstance(node, ast.IfExp):
                conditional += 1
            elif isinstance(node, ast.Assign):
                parallel += is_parallel(node)
            elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                docstring_lines.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        lines = set()
        with tokenize.open(path) as stream:
            for token in tokenize.generate_tokens(stream.readline):
                comments += token.type == tokenize.COMMENT
                if token.type not in NO_CODE and token.start[0] not in docstring_lines:
                    lines.update(range(token.start[0], token.end[0] + 1))
        code += len(lines)
    return code, parallel, conditional, comments


def is_parallel(node):
    """Whether one statement gives several expressions to several targets."""
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Tuple):
        return False
    return {ast.unparse(each) for each in target.elts} != {ast.unparse(each) for each in node.value.elts}


def start_up(tree, folder):
    """Seconds from the start of a process to the end of a run without learning."""
    command = [
        sys.executable,
        "-m",
        "edgefl",
        "run",
        "scenarios/01-skewed-data.yaml",
        "--no-train",
        "--quiet",
        "--overwrite",
    ]
    began_s = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve())}
    subprocess.run([*command, "-o", str(folder)], cwd=tree, env=environment, check=True, capture_output=True)
    return time.perf_counter() - began_s


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--runs", type=int, default=0, help="how often to time the start of each tree, in turn")
    arguments = parser.parse_args()
    times = {tree: [] for tree in arguments.trees}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.runs + 1 if arguments.runs else 0):
            for tree in arguments.trees:
                seconds = start_up(tree, Path(folder) / "run")
                if number:  # the first one fills caches
                    times[tree].append(seconds)
    print("| | " + " | ".join(str(tree) for tree in arguments.trees) + " |")
    print("|---|" + "---|" * len(arguments.trees))
    rows = {
        "entries at the root of edgefl": [str(entries(tree)) for tree in arguments.trees],
        "import circles": [str(len(circles(tree))) for tree in arguments.trees],
        "code lines": [],
        "parallel assignments, per 1,000": [],
        "conditional expressions, per 1,000": [],
        "comments, per 100": [],
    }
    for tree in arguments.trees:
        code, parallel, conditional, comments = density(tree)
        rows["code lines"].append(f"{code:,}")
        rows["parallel assignments, per 1,000"].append(f"{1000 * parallel / code:.1f}")
        rows["conditional expressions, per 1,000"].append(f"{1000 * conditional / code:.1f}")
        rows["comments, per 100"].append(f"{100 * comments / code:.1f}")
    if arguments.runs:
        rows["01-skewed-data without learning [s], median"] = [
            f"{statistics.median(times[tree]):.2f}" for tree in arguments.trees
        ]
    for title, cells in rows.items():
        print(f"| {title} | " + " | ".join(cells) + " |")
    for tree in arguments.trees:
        for found in circles(tree):
            print(f"circle in {tree}: {', '.join(found)}")


if __name__ == "__main__":
    main()
