"""docs/stability.md lists the public names, no more and no fewer."""

import argparse
import re
from importlib import import_module
from pathlib import Path

import pytest

from edgefl.cli import command_parser
from edgefl.scenario.scenario import Scenario

PAGE = (Path(__file__).parents[2] / "docs" / "stability.md").read_text()


def listed(heading):
    """Return the names in the first paragraph below a heading."""
    section = re.search(rf"^### {re.escape(heading)}\n(.*?)(?:\n\n|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    names = re.findall(r"`([^`]+)`", section[1])
    assert len(names) == len(set(names))
    return set(names)


@pytest.mark.parametrize("module", ["edgefl", "edgefl.testing", "edgefl.gym", "edgefl.flower", "channel"])
def test_page_lists_the_public_names_of_a_module(module):
    assert listed(module) == set(import_module(module).__all__)


def test_page_lists_the_verbs():
    (verbs,) = (
        action.choices for action in command_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    assert listed("Verbs") == verbs.keys()


def test_page_lists_the_sections_of_a_scenario():
    assert listed("Sections of a scenario") == {field.alias or name for name, field in Scenario.model_fields.items()}
