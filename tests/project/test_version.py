"""The version stands in several files; `tools/version.py` writes it into all of them, and towncrier its changes."""

import json
import re
import runpy
import shutil
from pathlib import Path

import pytest
import yaml

import edgefl

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "version.py"))


@pytest.fixture
def copy(tmp_path):
    """A copy of all files that name the version."""
    for name in (*TOOL["VERSIONS"], "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_all_files_name_the_same_version_and_date():
    newest = re.search(r"^## \[(\d.*)\] - (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert set(TOOL["values"](TOOL["VERSIONS"]).values()) == {newest[1]} == {edgefl.__version__}
    assert set(TOOL["values"](TOOL["DATES"]).values()) == {newest[2]}


def test_patterns_find_what_readers_of_the_files_find():
    version = TOOL["version"]()
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version
    assert yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())["context"]["version"] == version
    for name in ("codemeta.json", ".zenodo.json"):
        assert json.loads((ROOT / name).read_text())["version"] == version


def test_setting_a_version_changes_one_line_for_each_value(copy):
    before = {name: (copy / name).read_text().splitlines() for name in TOOL["VERSIONS"]}
    TOOL["set_version"]("12.0.1", "2031-02-03", copy)
    assert TOOL["version"](copy) == "12.0.1"
    assert set(TOOL["values"](TOOL["DATES"], copy).values()) == {"2031-02-03"}
    for name, lines in before.items():
        changed = [
            pair for pair in zip(lines, (copy / name).read_text().splitlines(), strict=True) if len(set(pair)) > 1
        ]
        assert len(changed) == 1 + (name in TOOL["DATES"])


def test_version_of_another_form_is_refused(copy):
    with pytest.raises(SystemExit, match=r"'0\.4' is not a version such as 0\.4\.0"):
        TOOL["set_version"]("0.4", "2031-02-03", copy)


def test_different_versions_are_refused(copy):
    path = copy / "codemeta.json"
    path.write_text(path.read_text().replace(TOOL["version"](), "0.0.1"))
    with pytest.raises(SystemExit, match="the files name different versions"):
        TOOL["version"](copy)


def test_notes_are_the_section_of_the_version(copy):
    changelog = copy / "CHANGELOG.md"
    sections = "## [Unreleased]\n\n## [12.0.1] - 2031-02-03\n### Added\n- New.\n\n## [1.0.0] - 2030-01-01\n- Old.\n"
    changelog.write_text(sections)
    TOOL["set_version"]("12.0.1", "2031-02-03", copy)
    assert TOOL["notes"](copy) == "### Added\n- New."
    TOOL["set_version"]("12.0.2", "2031-02-03", copy)
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md has no section for 12\.0\.2"):
        TOOL["notes"](copy)


def test_fragments_have_a_kind_and_no_bullet():
    fragments = [path for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
    for path in fragments:
        assert re.fullmatch(r"\+[a-z0-9-]+\.(added|changed|deprecated|removed|fixed)\.md", path.name)
        assert not path.read_text().lstrip().startswith(("-", "*", "#"))
