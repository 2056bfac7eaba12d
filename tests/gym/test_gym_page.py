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
