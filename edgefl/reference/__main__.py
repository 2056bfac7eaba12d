"""Writes the pages: python -m edgefl.reference docs/reference."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from edgefl.core.files import read_text, write_atomically
from edgefl.core.own_files import begins_with, remove
from edgefl.reference.markdown_text import MADE_BY
from edgefl.reference.pages import PREFIX, reference_pages


def main(arguments: Sequence[str]) -> None:
    """Write all pages into a folder, and remove pages there that are none any more."""
    parser = argparse.ArgumentParser(prog="python -m edgefl.reference")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder
    texts = {name.removeprefix(PREFIX): text for name, text in reference_pages().items()}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    for path in folder.rglob("*.md"):
        if path.relative_to(folder).as_posix() not in texts and MADE_BY in read_text(path):
            remove(path, begins_with(b"# "))


if __name__ == "__main__":
    main(sys.argv[1:])
