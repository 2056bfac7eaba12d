"""Cases from the field: each has all of its parts, and a test that exists."""

import ast
from functools import cache
from pathlib import Path

import pytest
from site_pages import cases_page

ROOT = Path(__file__).parents[2]
CASES = [case for of_area in cases_page.cases().values() for case in of_area]


@cache
def functions_of(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_file_of_cases_is_on_the_page():
    assert {path.stem for path in cases_page.FOLDER.glob("*.yaml")} == set(cases_page.AREAS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_case_has_all_parts_and_a_test(case):
    assert all(case)
    assert case.kind in cases_page.OUTCOMES
    path, _, name = case.test.partition("::")
    assert name in functions_of(path)
    assert not case.title.endswith(".")


def test_no_two_cases_have_one_title():
    titles = [case.title for case in CASES]
    assert len(set(titles)) == len(titles)
