"""The name `edgefl` on the Python package index belongs to another project: no page tells users to install it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (
    "*.md",
    "Makefile",
    "Dockerfile",
    "pyproject.toml",
    "docs/**/*.md",
    "docs/slurm/*",
    "edgefl/**/*.py",
    "benchmarks/*.py",
    "scenarios/**/*",
)
# After `install`, or with an extra: the bare name, not edgefl-emulator, edgefl.something or a path.
STRANGER = re.compile(r"""install[^\n`]*[\s'"=]edgefl(?![-\w./])|(?<![-\w./])edgefl\[[a-z]""")


@pytest.mark.oracle
def test_no_text_names_the_other_project():
    found = []
    for path in sorted({path for place in PLACES for path in ROOT.glob(place) if path.is_file()}):
        if path.suffix in {".png", ".gz", ".npz"}:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if STRANGER.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found
