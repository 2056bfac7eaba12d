"""Pictures of guides and task pages are shown, described, small, and can be made again."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PICTURES = sorted([*(DOCS / "images" / "guides").iterdir(), *(DOCS / "images" / "tasks").iterdir()])
SHOWN = re.compile(r"!\[([^\]]*)\]\((?:\.\./)*images/([^)]+)\)")
MOST_BYTES = 75_000
LEAST_DESCRIPTION = 30  # characters


@pytest.fixture(scope="module")
def descriptions():
    found = {}
    for page in DOCS.rglob("*.md"):
        for text, name in SHOWN.findall(page.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(text)
    return found


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_picture_is_shown_described_and_small(picture, descriptions):
    name = picture.relative_to(DOCS / "images").as_posix()
    assert all(len(text) >= LEAST_DESCRIPTION for text in descriptions[name])
    assert picture.stat().st_size < MOST_BYTES


def test_every_picture_has_a_program_that_makes_it():
    charts = runpy.run_path(str(DOCS / "pictures" / "charts.py"))
    shots = runpy.run_path(str(DOCS / "pictures" / "take.py"))
    made = {f"guides/{name}" for name in charts["CHARTS"]} | {f"tasks/{charts['METHODS']}"}
    made |= {picture.name for picture in shots["PICTURES"]}
    assert {path.relative_to(DOCS / "images").with_suffix("").as_posix() for path in PICTURES} <= made
