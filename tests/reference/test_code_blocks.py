"""Code of committed and generated pages fits into a window of 1400 pixels."""

from pathlib import Path

import lessons
import pytest
import yaml
from site_pages.wide_code import WIDEST, fitted

from edgefl.core.plugin_import import Access
from edgefl.scenario import load
from edgefl.scenario.plausibility import check_world, implausible

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


def test_fitted_code_is_the_same_yaml_with_shorter_lines():
    key = f"  cpu_hz: 1.4e9   # {'its highest clock, as measured ' * 5}"
    mapping = f"  devices: {{{', '.join(f'key_{n}: {n}' for n in range(20))}}}"
    block = f"radio:\n{key}\n{mapping}\n  short: 1  # stays"
    lines = fitted(block).split("\n")
    assert max(map(len, lines)) <= WIDEST
    assert yaml.safe_load("\n".join(lines)) == yaml.safe_load(block)
    assert lines[1].startswith("  # its highest clock")
    assert lines[-1] == "  short: 1  # stays"
