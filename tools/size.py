"""Prints lines of code beside the budget in pyproject.toml, and fails above it.

    python tools/size.py

Code is what is left without blank lines, comments and docstrings. The numbers of `[tool.edgefl.budget]` only go down: a
new feature pays with its own deletion.
"""

import ast
import io
import sys
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = {"package": ("edgefl", "channel"), "tests": ("tests",)}
LAYOUT = {
    tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT,
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstring_lines(text: str) -> set[int]:
    """Return the numbers of the lines that docstrings take."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines.update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return lines


def code_lines(text: str) -> int:
    """Return the number of lines of code."""
    docstrings = docstring_lines(text)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT and token.start[0] not in docstrings:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def main() -> int:
    """Print a line for each part of the repository; the exit code is 1 if one is above its budget."""
    budget = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["edgefl"]["budget"]
    exceeded = False
    for name, folders in FOLDERS.items():
        texts = [path.read_text() for folder in folders for path in (ROOT / folder).rglob("*.py")]
        code = sum(map(code_lines, texts))
        lines = sum(text.count("\n") for text in texts)
        print(f"{' + '.join(folders)}: {code:,} lines of code (budget {budget[name]:,}) in {lines:,} lines")
        if code > budget[name]:
            print(f"{' + '.join(folders)}: delete {code - budget[name]:,} lines of code, or make the change smaller")
            exceeded = True
    return exceeded


if __name__ == "__main__":
    sys.exit(main())
