"""The generated pages that are committed follow from the code, and links between committed pages lead somewhere."""

import re
from pathlib import Path

import pytest
import write_pages
from site_pages.markdown_text import slug

from edgefl.core.key_notes import key_notes, meanings
from edgefl.reproductions.library import Library
from edgefl.scenario.key_index import keys_of_members, keys_of_sections
from edgefl.scenario.sections import Sections

ROOT = Path(__file__).parents[2]
PAGES = [path for place in ("*.md", "docs/**/*.md", "results/README.md") for path in sorted(ROOT.glob(place))]
BLOCK = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(#[^)\s]*)?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
WORDS_OF_A_KEY = 23  # with its type and default; the mean over all keys


@pytest.mark.oracle
def test_committed_pages_follow_from_the_code():
    for name, text in write_pages.pages(Library()).items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, "make pages"


@pytest.mark.oracle
def test_the_list_of_keys_has_every_section_and_stays_short():
    text = (ROOT / "docs/keys.md").read_text(encoding="utf-8")
    assert all(f"| `{note.name}` |" in text or f"## {note.name}\n" in text for note in key_notes(Sections))
    keys = sum(line.startswith("| `") for line in text.splitlines())
    assert len(text.split()) <= WORDS_OF_A_KEY * keys


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_a_page_lead_to_files_and_headings_of_the_repository(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for path, anchor in LINK.findall(text):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        if anchor and target.suffix == ".md":
            headings = {slug(heading) for heading in HEADING.findall(target.read_text(encoding="utf-8"))}
            assert anchor.removeprefix("#") in headings, path + anchor


@pytest.mark.oracle
def test_meanings_of_keys_are_sentences():
    keys = [*keys_of_sections().values(), *(key for same in keys_of_members().values() for key in same)]
    for key in keys:
        meaning = meanings(key.owner).get(key.leaf, "")
        # What a key without a meaning takes is said by its type.
        assert not meaning or (meaning[0].isupper() and meaning.endswith(".")), (key, meaning)
    assert all(meanings(key.owner)[key.leaf] for key in keys_of_sections().values())
