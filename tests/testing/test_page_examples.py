"""The members on the page about one's own pass the kit that the page recommends."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "your-own.md"
FILE = re.compile(r"^\*\*`(?P<name>\w+\.py)`\*\*\n```python\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

PROGRAM = """
from edgefl.testing import check
from my_algorithm import Capped
from my_allocation import WeakFirst
from my_mobility import Circling
from my_model import Small
from my_text import NextLetter

for member in (Capped, WeakFirst, Circling):
    assert check(member).ok
assert check(Small, shape=(1, 8, 8), classes=10).ok
assert check(NextLetter, shape=(12,), classes=27, labels=(12,), vocabulary=27).ok
"""


@pytest.mark.process
def test_the_examples_of_the_page_conform(tmp_path):
    files = {}
    for match in FILE.finditer(PAGE.read_text(encoding="utf-8")):
        files.setdefault(match["name"], match["text"])  # names come again in later sections, with shorter examples
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
