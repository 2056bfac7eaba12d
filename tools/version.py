"""The version of edgefl, which stands in several files: prints it, sets it, checks it.

Examples:
    python tools/version.py                   # prints it, if all files agree
    python tools/version.py set 0.4.0         # writes it and today's date into all of them
    python tools/version.py check v0.4.0      # exits with 1 if a tag is not that version
    python tools/version.py series            # prints 0.4, the documentation's version
    python tools/version.py notes             # prints its section of CHANGELOG.md
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = r"\d+\.\d+\.\d+"
# Each pattern matches one line of its file; its group is the value.
VERSIONS = {
    "pyproject.toml": r'^version = "(.*)"$',
    "CITATION.cff": r"^version: (.*)$",
    "codemeta.json": r'^  "version": "(.*)",$',
    ".zenodo.json": r'^  "version": "(.*)",$',
    "packaging/conda/recipe.yaml": r'^  version: "(.*)"$',
}
DATES = {
    "CITATION.cff": r'^date-released: "(.*)"$',
    "codemeta.json": r'^  "dateModified": "(.*)",$',
    ".zenodo.json": r'^  "publication_date": "(.*)",$',
}


def values(patterns: dict[str, str], root: Path = ROOT) -> dict[str, str]:
    """Return the value in each file; a ValueError unless it occurs exactly once."""
    found = {}
    for name, pattern in patterns.items():
        (found[name],) = re.findall(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
    return found


def version(root: Path = ROOT) -> str:
    """Return the version, on which all files agree."""
    found = values(VERSIONS, root)
    if len(set(found.values())) > 1:
        sys.exit(f"the files name different versions: {found}; write one with `python tools/version.py set VERSION`")
    return found["pyproject.toml"]


def set_version(new: str, date: str, root: Path = ROOT) -> None:
    """Write a version and its date into all files."""
    if re.fullmatch(VERSION, new) is None:
        sys.exit(f"{new!r} is not a version such as 0.4.0")
    for patterns, value in ((VERSIONS, new), (DATES, date)):
        for name, pattern in patterns.items():
            path = root / name
            text = path.read_text(encoding="utf-8")
            (match,) = re.finditer(pattern, text, re.MULTILINE)
            path.write_text(text[: match.start(1)] + value + text[match.end(1) :], encoding="utf-8")


def notes(root: Path = ROOT) -> str:
    """Return what changed in this version."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.search(rf"^## \[{re.escape(version(root))}\].*?\n(.*?)(?=^## \[|\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        sys.exit(f"CHANGELOG.md has no section for {version(root)}; make it with `make version`")
    return section[1].strip()


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description="The version of edgefl in all files that name it.")
    parser.add_argument("verb", nargs="?", choices=("show", "set", "check", "series", "notes"), default="show")
    parser.add_argument("value", nargs="?", default="", help="the version to set, or the tag to check")
    options = parser.parse_args()
    if options.verb == "set":
        set_version(options.value, datetime.now(UTC).date().isoformat())
    elif options.verb == "check" and options.value != f"v{version()}":
        sys.exit(f"the tag is {options.value}, the version {version()}: tag v{version()}, or run `make version`")
    elif options.verb == "notes":
        print(notes())
    elif options.verb == "series":
        print(version().rpartition(".")[0])
    else:
        print(version())


if __name__ == "__main__":
    main()
