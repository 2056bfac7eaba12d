"""What the documentation shows is what the code prints."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import channel

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "channel.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sh\n(.*?)```\n+```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_has_examples():
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_page(command, output):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == output


def test_docstring_examples():
    assert doctest.testmod(channel, raise_on_error=False).failed == 0


def test_every_test_that_the_page_names_exists():
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    sources = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    missing = {name for name in named if f"def {name}(" not in sources}
    assert named
    assert not missing


def test_import_is_light():
    script = "import sys, channel; print([m for m in ('scipy.signal', 'simpy', 'torch', 'edgefl') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
