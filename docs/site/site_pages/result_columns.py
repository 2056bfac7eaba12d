"""The page of the columns of result files."""

import re

from site_pages.markdown_text import link, page, words
from site_pages.results_readme import sections

OWN = "reference/columns.md"
INTRODUCTION = """\
A run writes a folder with these files. Their names and columns are the same for every scenario, but for the columns
that need something (*only with*).
"""
_PAGE_NAME = re.compile(r"`docs/([\w/-]+\.md)`")


def pages() -> dict[str, str]:
    """Return the text of the page by its path in docs/."""
    texts = [_PAGE_NAME.sub(lambda match: link(words(match[1]), OWN, match[1]), text) for text in sections()]
    return {OWN: page("Columns of result files", INTRODUCTION, *texts)}
