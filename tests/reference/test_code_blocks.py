"""Code of committed and generated pages fits into a window of 1400 pixels."""

from pathlib import Path

import lessons
import pytest
import yaml
from example_files import write_example_files
from site_pages.wide_code import WIDEST, fitted

from edgefl.core.errors import InputError
from edgefl.core.plugin_import import Access, NotImported
from edgefl.core.written_yaml import NotYaml
from edgefl.scenario import load
from edgefl.scenario.plausibility import check_world, implausible
from edgefl.scenario.yaml_reader import parse

ROOT = Path(__file__).parents[2]
PAGES = [path for place in ("*.md", "docs/**/*.md") for path in sorted(ROOT.glob(place))]
CODE = {"sh", "bash", "python", ""}  # languages of blocks; `text` is what a command prints
WIDEST_CODE = 105  # characters


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_programs_of_a_page_fit_into_a_window(page):
    blocks = lessons.blocks_of(page.read_text(encoding="utf-8").splitlines(), 0)
    lines = [line for block in blocks if block.language in CODE for line in block.text.splitlines()]
    assert [line for line in lines if len(line) > WIDEST_CODE] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_scenario_files_of_a_page_are_plausible_unless_it_shows_the_warning(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for step in lessons.steps(page):
        lessons.write_files(step)
        for name in {block.file_name() for block in step.blocks if "\nrounds:" in f"\n{block.text}"} - {""}:
            scenario = load(name, access=Access(mode="skip"))
            lines = [*implausible(scenario), *check_world(scenario)]
            assert [line for line in lines if line not in text] == []


@pytest.mark.oracle
def test_pieces_of_yaml_bring_no_warning_in_a_5g_cell(tmp_path, monkeypatch):
    """Each piece of a guide is pasted into a scenario with the radio of NR; those that need other keys are left out."""
    monkeypatch.chdir(tmp_path)
    write_example_files(tmp_path)
    warnings = {}
    pasted = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in lessons.blocks_of(text.splitlines(), 0):
            try:
                raw, _ = parse(block.text if block.language == "yaml" else "base: not a scenario")
                scenario = load({**raw, "radio": {"preset": "nr", **raw.get("radio", {})}}, access=Access(mode="skip"))
                lines = [*implausible(scenario), *check_world(scenario)]
            except (InputError, NotYaml, NotImported):
                continue
            pasted += 1
            warnings |= {f"{page.name}: {line}": block.text for line in lines if line not in text}
    assert warnings == {}
    assert pasted >= 50


def test_fitted_code_is_the_same_yaml_with_shorter_lines():
    key = f"  cpu_hz: 1.4e9   # {'its highest clock, as measured ' * 5}"
    mapping = f"  devices: {{{', '.join(f'key_{n}: {n}' for n in range(20))}}}"
    block = f"radio:\n{key}\n{mapping}\n  short: 1  # stays"
    lines = fitted(block).split("\n")
    assert max(map(len, lines)) <= WIDEST
    assert yaml.safe_load("\n".join(lines)) == yaml.safe_load(block)
    assert lines[1].startswith("  # its highest clock")
    assert lines[-1] == "  short: 1  # stays"
