"""docs/stability.md lists the public names, no more and no fewer; pages about the project name commands that exist."""

import argparse
import re
from importlib import import_module
from pathlib import Path

import pytest

from edgefl.cli import command_parser
from edgefl.scenario.scenario import Scenario

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "stability.md").read_text()


def listed(heading):
    """Return the names in the first paragraph below a heading."""
    section = re.search(rf"^### {re.escape(heading)}\n(.*?)(?:\n\n|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    names = re.findall(r"`([^`]+)`", section[1])
    assert len(names) == len(set(names))
    return set(names)


MODULES = [
    "edgefl",
    "edgefl.testing",
    "edgefl.learning.algorithms",
    "edgefl.learning.codecs",
    "edgefl.coordination.policies",
    "edgefl.gym",
    "edgefl.flower",
]


@pytest.mark.parametrize("module", MODULES)
def test_page_lists_the_public_names_of_a_module(module):
    assert listed(module) == set(import_module(module).__all__)


def verbs():
    """Return the parser of each verb."""
    actions = command_parser()._actions
    return next(action.choices for action in actions if isinstance(action, argparse._SubParsersAction))


def test_the_command_line_lists_the_verbs():
    table = re.search(r"^\| verb \|.*?\n\n", (DOCS / "command-line.md").read_text(), re.MULTILINE | re.DOTALL)
    cells = [line.split(" | ")[0] for line in table[0].splitlines()[2:]]
    assert {quoted.split()[0] for cell in cells for quoted in re.findall(r"`([^`]+)`", cell)} == verbs().keys()


@pytest.mark.oracle
def test_commands_of_artifact_evaluation_exist():
    commands = re.findall(r"`edgefl ([^`]+)`", (DOCS / "artifact-evaluation.md").read_text())
    assert len(commands) > 10
    for command in commands:
        verb, *words = command.split()
        if verb == "VERB":
            continue
        parser = verbs()[verb]
        options = [word for word in words if word.startswith("-")]
        assert not [option for option in options if option not in parser._option_string_actions], command
        formats = [words[place + 1] for place, word in enumerate(words) if word == "--format"]
        assert all(form in parser._option_string_actions["--format"].choices for form in formats), command


def test_page_lists_the_sections_of_a_scenario():
    assert listed("Sections of a scenario") == {field.alias or name for name, field in Scenario.model_fields.items()}
