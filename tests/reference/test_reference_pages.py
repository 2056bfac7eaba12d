"""The pages of the reference have every key, member, column and option."""

import re

import pytest
from scenario_schema import scenario_schema
from site_pages import reference_pages
from site_pages.markdown_text import escaped, link, slug
from site_pages.scenario_keys import FOLDER

from edgefl.cli.listing import CATALOGUES
from edgefl.core.key_notes import with_short_numbers
from edgefl.results.result_tables import columns_of_files


@pytest.fixture(scope="module")
def pages():
    return reference_pages.pages()


@pytest.mark.oracle
def test_every_key_of_the_json_schema_has_a_row(pages):
    root = scenario_schema()
    for section, node in root["properties"].items():
        assert f"| `{section}` |" in pages[f"{FOLDER}/README.md"]
        page = pages.get(f"{FOLDER}/{section}.md", "")
        for key in _own_keys(node, root):
            if page:
                assert f"| `{key}` |" in page, f"{section}.{key}"


def _own_keys(node, root):
    """Return the keys of the mapping that a node of the schema describes; none for members of catalogues."""
    if "$ref" in node:
        found = root
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return _own_keys(found, root)
    own = set(node.get("properties", {}))
    others = [found for found in (_own_keys(other, root) for other in node.get("anyOf", [])) if found]
    if others and "dataset" in others[0]:  # each dataset's own keys stand beside those of the section
        own |= set.intersection(*others)
    else:
        own = own.union(*others)
    return own if "kind" not in own else set()


def test_every_member_has_a_section_and_each_of_its_keys_a_row(pages):
    for kind, catalogue in CATALOGUES.items():
        sections = re.split(r"^## ", pages[f"reference/catalogues/{kind}.md"], flags=re.MULTILINE)
        told = {section.partition("\n")[0]: section for section in sections}
        for name in catalogue.members:
            fields = catalogue.load(name).model_fields
            for key, field in fields.items():
                assert field.exclude or f"| `{key}` |" in told[name], f"{kind}: {name}.{key}"


def test_every_key_is_explained(pages):
    for name, text in pages.items():
        if "| key | type |" in text:
            empty = re.findall(r"^\| (`[^`]+`) \|.*\|\s*\|$", text, flags=re.MULTILINE)
            assert empty == [], name


def test_every_column_has_a_row(pages):
    for columns in columns_of_files().values():
        for column in columns:
            assert f"| `{column.name}` |" in pages["reference/columns.md"]


def test_options_are_listed_under_their_verb(pages):
    text = pages["reference/command-line.md"]
    run = text.partition("## edgefl run\n")[2].partition("\n## ")[0]
    assert "| `--seed N` |" in run
    assert "| `--over KEY` |" not in run
    assert "edgefl flower APP --world SCENARIO.yaml [OPTION ...]" in text  # what must be given stands in the usage


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3500000000.0", "3.5e9"),
        ("1e-28", "1e-28"),
        ("1e-08", "1e-8"),
        ("<= 1e+09", "<= 1e9"),
        ("100", "100"),
        ("0.0005", "0.0005"),
        ("10.0", "10"),
        ("-174.0", "-174"),
        ("resnet18", "resnet18"),
        ("TR 38.901", "TR 38.901"),
    ],
)
def test_numbers_are_written_short(text, expected):
    assert with_short_numbers(text) == expected


def test_markup_in_texts_is_escaped_outside_of_code():
    assert escaped("|grad F|^2 in [0, 1], a * b <c>") == r"\|grad F\|^2 in \[0, 1], a \* b &lt;c>"
    assert escaped("``x|y`` or {kind: time}") == r"`x\|y` or `{kind: time}`"


def test_links_are_relative_to_their_page():
    assert link("x", "reference/scenario/radio.md", "channel/tdd.md#slots") == "[x](../../channel/tdd.md#slots)"
    assert link("x", "reference/columns.md", "reference/columns.md#a") == "[x](#a)"


def test_anchors_match_those_of_both_renderers():
    assert slug("radio.noise_figure_db") == "radionoise_figure_db"
    assert slug("edgefl data fetch") == "edgefl-data-fetch"
