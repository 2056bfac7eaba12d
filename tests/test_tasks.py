"""The task pages: each answers its question on one screen, and its commands print what the page says."""

import re
from pathlib import Path

import lessons
import pytest
from test_tutorial import check_outputs

FOLDER = Path(__file__).parents[1] / "docs" / "tasks"
PAGES = [path for path in sorted(FOLDER.glob("*.md")) if path.stem != "index"]
CHEAP = {"sumo", "my-csv"}  # seconds; the others are run by the slow tests
MOST_WORDS = 330  # of prose and tables, without blocks
SHOWN = re.compile(r"^(?:!\[[^\]]{20,}\]|\|[- :|]+\|$)", re.MULTILINE)  # a picture with a description, or a table


def the_step(page):
    (step,) = lessons.steps(page)
    return step


def identified(pages):
    return [pytest.param(page, id=page.stem) for page in pages]


@pytest.mark.oracle
@pytest.mark.parametrize("page", identified(page for page in PAGES if page.stem in CHEAP))
def test_cheap_page_prints_what_it_says(page, tmp_path, monkeypatch):
    check_outputs(the_step(page), tmp_path, monkeypatch, most=None)


@pytest.mark.slow
@pytest.mark.parametrize("page", identified(page for page in PAGES if page.stem not in CHEAP))
def test_page_prints_what_it_says(page, tmp_path, monkeypatch):
    check_outputs(the_step(page), tmp_path, monkeypatch, most=None)


@pytest.mark.parametrize("page", identified(PAGES))
def test_page_has_a_command_and_a_picture_or_table_and_stays_short(page):
    step = the_step(page)
    assert any(block.language == "sh" for block, _ in step.commands())
    assert SHOWN.search("\n".join(step.lines))
    assert len(lessons.prose(step).split()) <= MOST_WORDS


@pytest.mark.parametrize("page", identified(PAGES))
def test_numbers_in_the_text_are_printed_or_stand_in_a_block(page):
    step = the_step(page)
    known = lessons.numbers("\n".join(block.text for block in step.blocks))
    unknown = [told for told, percent in lessons.told_numbers(step) if not lessons.is_known(told, percent, known)]
    assert unknown == []


def test_the_overview_names_every_page():
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert all(f"({page.name})" in text for page in PAGES)
