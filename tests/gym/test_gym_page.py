"""The programs on the page about agents run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "gym.md"
FIRST, LEARNING = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.process
@pytest.mark.parametrize("program", [FIRST, pytest.param(LEARNING, marks=pytest.mark.slow)], ids=["first", "learning"])
def test_the_program_runs_as_it_stands_on_the_page(program, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_page_names_every_part_and_entry():
    from edgefl.gym.actions import PARTS
    from edgefl.gym.observations import ENTRIES, GROUPS

    text = PAGE.read_text(encoding="utf-8")
    for name in (*PARTS, *ENTRIES, *GROUPS):
        assert f"`{name}`" in text, name
    for part, least in PARTS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{part}` |"))
        shown = row.split("|")[-2].strip()
        assert (float(shown) if shown else 0.0) == least
