# ruff: noqa: INP001  # MkDocs reads this file; nothing imports it
"""Adds the reference and the pages of reproductions to the site; they follow from the code and are not committed."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from site_pages import reference_pages, reproduction_pages

from edgefl.reproductions.library import Library


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for name, text in (reference_pages.pages() | reproduction_pages.pages(Library())).items():
        files.append(File.generated(config, name, content=text))
    return files
