"""The pages of the reference: complete, and as the code is."""

import re
from pathlib import Path

import pytest

from edgefl.cli.listing import CATALOGUES
from edgefl.reference.markdown_text import escaped, link, slug, with_short_numbers
from edgefl.reference.pages import reference_pages
from edgefl.reference.scenario_keys import FOLDER
from edgefl.results.result_tables import columns_of_files
from edgefl.scenario.jsonschema import schema

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def pages():
    return reference_pages()


def test_pages_on_disk_are_up_to_date(pages):
    stale = [name for name, text in pages.items() if not _same_as_on_disk(name, text)]
    left_over = {path.relative_to(DOCS).as_posix() for path in (DOCS / "reference").rglob("*.md")} - set(pages)
    assert (stale, left_over) == ([], set()), "make reference"


def _same_as_on_disk(name, text):
    path = DOCS / name
    return path.is_file() and path.read_text(encoding="utf-8") == text


def test_every_key_of_the_json_schema_has_a_row(pages):
    root = schema()
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


def test_every_member_has_a_section_and_every_key_of_it_a_row(pages):
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


def test_options_stand_with_their_verb(pages):
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
def test_numbers_read_as_a_person_writes_them(text, expected):
    assert with_short_numbers(text) == expected


def test_texts_are_no_markup_outside_of_code():
    assert escaped("|grad F|^2 in [0, 1], a * b <c>") == r"\|grad F\|^2 in \[0, 1], a \* b &lt;c>"
    assert escaped("``x|y`` or {kind: time}") == r"`x\|y` or `{kind: time}`"


def test_a_link_is_relative_to_its_page():
    assert link("x", "reference/scenario/radio.md", "channel/tdd.md#slots") == "[x](../../channel/tdd.md#slots)"
    assert link("x", "reference/columns.md", "reference/columns.md#a") == "[x](#a)"


def test_an_anchor_is_that_of_the_renderers():
    assert slug("radio.noise_figure_db") == "radionoise_figure_db"
    assert slug("edgefl data fetch") == "edgefl-data-fetch"
