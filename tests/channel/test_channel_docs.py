"""The documentation shows what the code prints."""

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import channel

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"
PAGES = {
    path.stem: path.read_text(encoding="utf-8") for path in [DOCS / "channel.md", *(DOCS / "channel").glob("*.md")]
}
EXAMPLES = [
    pytest.param(*example, id=f"{name}-{number}")
    for name, page in sorted(PAGES.items())
    for number, example in enumerate(re.findall(r"```sh\n(.*?)```\n+```text\n(.*?)```", page, re.DOTALL))
]


def test_the_pages_have_examples():
    assert len(EXAMPLES) >= 10


@pytest.mark.process
@pytest.mark.parametrize(("command", "output"), EXAMPLES)
def test_page(command, output, capsys):
    """A program that Python gets as its argument runs here: libraries are imported once."""
    words = shlex.split(command)
    if words[:2] == ["python", "-c"]:
        assert len(words) == 3
        exec(words[2], {"__name__": "__main__"})  # noqa: S102 - the page's own program
        assert capsys.readouterr().out == output
        return
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == output


def test_the_index_names_every_page_and_every_link_leads_somewhere():
    index = PAGES["channel"]
    assert all(f"(channel/{name}.md)" in index for name in PAGES if name != "channel")
    for path in [DOCS / "channel.md", *(DOCS / "channel").glob("*.md")]:
        targets = re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8"))
        assert all((path.parent / target).exists() for target in targets), path


def test_every_figure_is_drawn_and_shown():
    shown = set(re.findall(r"images/channel/([\w-]+)\.svg", "".join(PAGES.values())))
    assert {path.stem for path in (DOCS / "images" / "channel").glob("*.svg")} == shown


MODULES = ["channel", *(f"channel.{module.name}" for module in pkgutil.iter_modules(channel.__path__))]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_docstrings_have_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(examples) >= 30


def test_every_test_that_a_page_names_exists():
    named = set(re.findall(r"`(test_\w+)`", "".join(PAGES.values())))
    sources = "".join(file.read_text(encoding="utf-8") for file in (REPOSITORY / "tests").rglob("test_*.py"))
    missing = {name for name in named if f"def {name}(" not in sources}
    assert named
    assert not missing


@pytest.mark.process
def test_import_is_light():
    heavy = ("scipy.signal", "scipy.stats", "simpy", "torch", "edgefl")
    script = f"import sys, channel; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
