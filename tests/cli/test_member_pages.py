"""The pages of `edgefl list NAME`: keys with types, defaults and meanings, and an example that validates."""

import pytest
from example_files import write_example_files

from edgefl.cli.listing import CATALOGUES, PLACES
from edgefl.cli.member_page import NO_EXAMPLE, example, page
from edgefl.core.key_notes import key_notes
from edgefl.core.section import Section
from edgefl.scenario import load
from edgefl.scenario.yaml_reader import parse

MEMBERS = [(kind, name) for kind, catalogue in CATALOGUES.items() for name in catalogue.members]


class Sample(Section):
    """A section with keys of all forms."""

    plain: float = 0.5  # at the end
    # Above the field,
    # on two lines.
    above: int = 3
    without: str = "x"
    needed: bool  # has no default


class Below(Sample):
    """A section that inherits."""

    above: int = 4  # another meaning


def test_meanings_are_the_comments_beside_the_fields():
    notes = {note.name: note for note in key_notes(Sample)}
    assert notes["plain"] == ("plain", "number", "0.5", "at the end")
    assert notes["above"] == ("above", "whole number", "3", "Above the field, on two lines.")
    assert notes["without"].meaning == ""
    assert notes["needed"] == ("needed", "true or false", "required", "has no default")
    below = {note.name: note.meaning for note in key_notes(Below)}
    assert (below["plain"], below["above"]) == ("at the end", "another meaning")


def test_every_catalogue_has_its_place():
    assert set(PLACES) == set(CATALOGUES)


@pytest.mark.oracle
def test_example_of_each_member_validates_and_uses_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_example_files(tmp_path)
    for kind, name in MEMBERS:
        if (kind, name) in NO_EXAMPLE:
            continue
        raw, _ = parse(example(kind, name))
        load(raw)
        node = raw
        for key in PLACES[kind].split("."):
            node = node[key]
        if kind == "measures":
            (node,) = node
        assert (node if isinstance(node, str) else node["kind"]) == name


@pytest.mark.oracle
def test_each_key_of_a_member_has_a_type():
    for kind, name in MEMBERS:
        for note in key_notes(CATALOGUES[kind].load(name)):
            assert note.type not in {"", "any value"}, (kind, name, note)


def test_a_page():
    lines = page("algorithms", "fedprox").splitlines()
    assert lines[0].startswith("fedprox (algorithms): FedProx:")
    assert "source  edgefl.learning.algorithms.fedprox:FedProx" in lines
    assert "  mu: number >= 0; default 0.01" in lines
    assert lines[-1].startswith("  algorithm: {kind: fedprox, mu: 0.01,")
