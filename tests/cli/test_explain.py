"""`edgefl explain`: every key, member, column and preset, and other words for them."""

import json
from pathlib import Path

import pytest
from example_files import write_example_files

from edgefl.cli.explanations import explain, text_of
from edgefl.cli.listing import CATALOGUES
from edgefl.core.errors import InputError
from edgefl.results.result_tables import columns_of_files
from edgefl.runs.emulation import Options
from edgefl.runs.forecast import forecast
from edgefl.scenario import load, presets
from edgefl.scenario.examples import example_of_key
from edgefl.scenario.key_index import keys_of_members, keys_of_sections
from edgefl.scenario.key_words import synonyms
from edgefl.scenario.yaml_reader import parse


@pytest.fixture(autouse=True)
def files_of_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_example_files(tmp_path)


@pytest.mark.oracle
def test_example_of_each_key_of_a_section_validates_and_uses_it():
    for key in keys_of_sections():
        raw, lines = parse(example_of_key(key))
        load(raw)
        used = {".".join(str(part) for part in path if isinstance(part, str)) for path in lines}
        assert key in used, key


@pytest.mark.oracle
def test_example_of_each_key_of_a_member_validates():
    found = [one for key in keys_of_members() for one in explain(key)]
    assert all(one.guide.startswith("docs/") and one.type for one in found)
    for text in dict.fromkeys(one.example for one in found if one.example):
        load(parse(text)[0])


@pytest.mark.oracle
def test_explanation_of_each_key_has_all_parts():
    for key in keys_of_sections():
        (found,) = explain(key)
        assert found.name == key
        assert all([found.meaning, found.type, found.where, found.example]), key
        assert found.guide.startswith("docs/"), key


@pytest.mark.oracle
def test_guides_exist(request):
    root = request.config.rootpath
    found = [one for key in keys_of_sections() for one in explain(key)]
    found += [one for kind in CATALOGUES for one in explain(kind)]
    assert not [one.guide for one in found if not (root / one.guide).is_file()]


@pytest.mark.oracle
def test_every_member_column_preset_and_synonym_is_explained():
    words = [name for catalogue in CATALOGUES.values() for name in catalogue.members]
    words += [column.name for columns in columns_of_files().values() for column in columns]
    words += [name for section in presets.SECTIONS for name in presets.names(section)]
    for word in dict.fromkeys([*words, *synonyms("keys"), *columns_of_files()]):
        assert text_of(word, explain(word)), word


@pytest.mark.oracle
def test_unit_and_bounds_of_a_key():
    (found,) = explain("noise_dbm_hz")
    assert (found.unit, found.type, found.default) == ("dBm/Hz", "number >= -300, <= 300", "-174")
    (found,) = explain("devices.cpu_hz")
    assert found.unit == "Hz"
    assert found.type.startswith("number from 1e-40 to 1e18 for each device")


def test_keys_of_sweep_files_are_explained():
    for name in ("base", "set", "grid", "zip", "points", "seeds", "train"):
        assert "a sweep file" in [one.where for one in explain(name)], name


def test_synonym_is_explained_as_the_key_that_it_means():
    assert explain("learning_rate") == explain("training.lr")
    assert explain("clients") == explain("devices.count")
    assert explain("rician") == explain("ricean")
    assert [one.name for one in explain("non-iid")] == ["dirichlet"]
    assert explain("broadcast") == explain("radio.downlink")  # one of its values
    assert [one.name for one in explain("energy")] == ["cells.energy", "energy_j", "energy_j"]


def test_column_of_several_files_is_explained_once():
    (found,) = explain("wasted_j")
    assert found.unit == "J"
    assert found.where == "rounds.csv; index.csv of a sweep"


def test_word_with_many_meanings_gets_a_line_for_each():
    lines = text_of("alpha", explain("alpha")).splitlines()
    assert any(line.startswith("feddyn.alpha (key): ") for line in lines)
    assert lines[-1].startswith("alpha has 13 meanings; `edgefl explain ")
    assert explain("feddyn.alpha")[0].example.startswith("algorithm: {kind: feddyn, ")


@pytest.mark.oracle
def test_unknown_word_gets_the_nearest_name():
    with pytest.raises(InputError, match=r'explain: unknown "bandwith" \(did you mean "bandwidth"\?\)'):
        explain("bandwith")


def test_example_of_the_page_is_what_the_command_prints(request):
    page = (request.config.rootpath / "docs/command-line.md").read_text(encoding="utf-8")
    assert f"```\n{text_of('learning_rate', explain('learning_rate'))}\n```" in page


def test_explain_as_a_command(edgefl):
    done = edgefl("explain", "radio.bandwidth_hz")
    assert done.returncode == 0, done.stderr
    assert "unit     Hz\n" in done.stdout
    assert "example  radio: {bandwidth_hz: 2e7}\n" in done.stdout
    document = json.loads(edgefl("explain", "fedprox", "lr", "--json").stdout)
    assert [one["name"] for one in document["names"]] == ["fedprox", "lr"]
    assert document["names"][1]["found"][0]["default"] == "0.1"
    assert edgefl("explain", "learning", "rate").stdout == edgefl("explain", "learning_rate").stdout
    assert len(edgefl.refused("explain", "xyzzy", "zyxxy")) == 2


@pytest.mark.oracle
def test_capacity_is_that_of_the_cell_of_the_defaults():
    priced = dict(forecast(load({}), Options(train=False), Path("nowhere")))
    assert priced["capacity"] in explain("capacity")[0].meaning
