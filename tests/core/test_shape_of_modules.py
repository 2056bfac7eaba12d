"""Constructors with many parameters take keywords only, and modules stay short enough to be read at once."""

import ast
from pathlib import Path

import pytest

import channel
import edgefl

MOST_BY_POSITION = 5
MOST_LINES = 450
ROOTS = [Path(package.__file__).parent for package in (edgefl, channel)]
FILES = {path.relative_to(root.parent).as_posix(): path for root in ROOTS for path in root.rglob("*.py")}


def many_by_position(tree):
    """Return the classes whose constructor has many parameters and takes some of them by position."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                by_position = len(method.args.posonlyargs) + len(method.args.args) - 1  # without `self`
                if by_position and by_position + len(method.args.kwonlyargs) > MOST_BY_POSITION:
                    found.append(node.name)
    return found


@pytest.mark.oracle
def test_constructors_with_many_parameters_take_keywords_only():
    found = {name: many_by_position(ast.parse(path.read_text(encoding="utf-8"))) for name, path in FILES.items()}
    assert len(found) > 500  # the files were read
    assert {name: classes for name, classes in found.items() if classes} == {}


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ("a, b, c, d, e, f", ["A"]),
        ("a, *, b, c, d, e, f", ["A"]),
        ("a, b, c, d, e", []),
        ("*, a, b, c, d, e, f", []),
    ],
)
def test_a_constructor_is_named_if_it_takes_many_by_position(parameters, named):
    assert many_by_position(ast.parse(f"class A:\n    def __init__(self, {parameters}): pass")) == named


def test_modules_are_short():
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in FILES.items()}
    assert {name for name, count in lines.items() if count > MOST_LINES} == set()
