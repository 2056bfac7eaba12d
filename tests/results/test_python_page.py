"""The script of docs/python.md runs unchanged."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def _without_numbers(text):
    """Processors round differently."""
    return re.sub(r"[\d.]+", "#", text)


@pytest.mark.process
def test_examples_of_the_python_page_run(tmp_path):
    script = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "-W", "error", "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert _without_numbers(done.stdout.splitlines()[0]) in _without_numbers(PAGE.read_text())
    assert {path.name for path in tmp_path.iterdir()} == {"script.py", "fedprox", "both.html", "accuracy.pdf"}
