"""Keys in the wrong place or by another name: the answers name the key that is meant."""

import re

import pytest

from edgefl.core.errors import InputError
from edgefl.scenario import load, load_sweep
from edgefl.scenario.answers import with_place
from edgefl.scenario.key_index import keys_of_members, keys_of_sections, places
from edgefl.scenario.key_words import member_synonyms, plain_word, synonyms
from edgefl.scenario.number_forms import plain
from edgefl.scenario.overrides import Override
from edgefl.scenario.sections import Sections
from edgefl.scenario.written_units import stem_and_unit
from edgefl.scenario.yaml_reader import parse

KEYS = {*keys_of_sections(), *keys_of_members()}
PARTS = ("keys", "sections", "plain_values")
MEANINGS = sorted({meant for part in PARTS for several in synonyms(part).values() for meant in several})


def fault_of(scenario):
    """Return the only fault of a scenario."""
    with pytest.raises(InputError) as refused:
        load(scenario)
    (line,) = refused.value.faults
    return line


@pytest.mark.oracle
def test_each_synonym_leads_to_a_key_that_exists():
    for meant in MEANINGS:
        name, colon, value = meant.partition(": ")
        assert name in KEYS, meant
        if colon:
            load({}, [Override(tuple(name.split(".")), parse(value)[0], "test")])


def test_words_are_in_the_form_in_which_they_are_looked_up():
    for part in (*PARTS, "options"):
        for word in synonyms(part):
            assert word == plain_word(word)
    for names in member_synonyms().values():
        assert all(word == plain_word(word) for word in names)


def test_no_synonym_hides_a_key_at_the_top():
    assert not Sections.model_fields.keys() & {*synonyms("keys"), *synonyms("options")} - {"algorithm"}


def test_synonyms_of_members_lead_to_members():
    catalogues = {catalogue.kind: catalogue for catalogue in places().values()}
    for kind, names in member_synonyms().items():
        assert {meant for several in names.values() for meant in several} <= set(catalogues[kind].members), kind
        assert not names.keys() & catalogues[kind].members.keys(), kind


@pytest.mark.parametrize(
    ("scenario", "answer"),
    [
        (
            {"stop": {"patience": 5}},
            "stop.patience: must be a mapping of keys to values, got 5: write stop.patience: {rounds: 5}",
        ),
        ({"participants": 10}, "participants: unknown key at the top: did you mean server.participants?"),
        ({"server": {"lr": 0.1}}, "server.lr: unknown key: did you mean training.lr?"),
        ({"numClients": 5}, "did you mean devices.count?"),
        ({"non-iid": True}, "write data.partition: {kind: dirichlet, alpha: 0.3}"),
        ({"scheduler": "pf"}, "did you mean training.lr_schedule or server.selection or radio.allocation?"),
        ({"radio": {"frequency": 1e9}}, "radio.frequency: unknown key: did you mean radio.carrier_hz?"),
        (
            {"radio.bandwidth_hz": 20e6},
            "dots stand for sections only in settings and sweeps: write radio: {bandwidth_hz: 20000000.0}",
        ),
        ({"mobility": {"kind": "static", "speed": 3}}, "write mobility: {kind: random_waypoint, speed_mps: 1.4}"),
        ({"devices": {"groups": [{"name": "a", "count": 100, "power": 3}]}}, "did you mean devices.tx_power_dbm?"),
        ({"gpu": True}, "unknown key: it is an option of the command line: --device cuda"),
        ({"algorithm": {"name": "fedprox", "mu": 0.1}}, "write {kind: fedprox, mu: 0.1}"),
        ({"data": {"name": "mnist"}}, "data.name: unknown key: did you mean data.dataset?"),
        ({"xyzzy": 1}, "xyzzy: unknown key; known: "),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_answer_names_the_key_that_is_meant(scenario, answer):
    assert answer in fault_of(scenario)


def test_overrides_and_grids_get_the_same_answers(tmp_path):
    with pytest.raises(InputError, match=r"--set lr=0\.1: lr: unknown key at the top: did you mean training\.lr\?"):
        load({}, ["lr=0.1"])
    file = tmp_path / "sweep.yaml"
    file.write_text("base: quickstart\ngrid:\n  clients: [10, 20]\n")
    with pytest.raises(InputError, match=r"sweep\.yaml:3: clients: unknown key at the top: did you mean devices\.c"):
        load_sweep(file)
    file.write_text("base: quickstart\nlearning_rate: [0.1, 0.2]\n")
    with pytest.raises(InputError, match=r"sweep\.yaml:2: learning_rate: .*write it under `set`, or .* `grid`"):
        load_sweep(file)


OTHER_UNITS = {
    "Hz": ("mhz", 1e6),
    "s": ("ms", 1e-3),
    "m": ("km", 1e3),
    "W": ("mw", 1e-3),
    "J": ("kj", 1e3),
    "bit/s": ("mbps", 1e6),
}


@pytest.mark.parametrize("name", [name for name in keys_of_sections() if stem_and_unit(name)[1] in OTHER_UNITS])
def test_a_key_in_another_unit_is_answered_by_the_key_and_the_converted_value(name):
    stem, unit = stem_and_unit(name)
    ending, factor = OTHER_UNITS[unit]
    path = tuple(f"{stem}_{ending}".split("."))
    answer = with_place("unknown key; known: none", path, 4, {})
    assert f"the key is {name}, in {unit}: write {name.rpartition('.')[2]}: {plain(4 * factor)}" in answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("interference: no", "leave it out"),
        ("data: none", "leave it out"),
        ("devices:\ncount: 3", "indent count, as it belongs to devices"),
        ("radio:\n  fading:\n  kind: ricean", "indent kind, as it belongs to radio.fading"),
        ("radio:\n  tdd:\n  uplink: nomaa", "did you mean"),  # and not: indent uplink
        ("model: {mlp: {hidden: [64]}}", "write {kind: mlp, hidden: [64]}"),
        ("algorithm: {name: fedprox, params: {mu: 0.1}}", "write {kind: fedprox, mu: 0.1}"),
        ("algorithm: fedprox(0.1)", "write {kind: fedprox, mu: 0.1}"),
        ("algorithm: [fedavg, fedprox]", "as grid: {algorithm: [fedavg, fedprox]}"),
        ("data: {dataset: {name: mnist, path: x}}", "write data: {dataset: mnist, path: x}"),
        ("devices: {groups: {a: {count: 3}}}", "write [{name: a, count: 3}]"),
        ("radio: wifi", "write radio: {preset: wifi_shared}"),
        ("radio: {technology: nr}", "write preset: nr"),
        ("training: 0.1", "write training: {lr: 0.1}"),
        ("training/lr: 0.1", "write training: {lr: 0.1}"),
        ("targets: {acc: 0.8}", "write [0.8]"),
        ("cells: {positions_m: [0, 0]}", "write positions_m: [[0, 0]]"),
        ("devices: {cpu_hz: 1e9-2e9}", "write {uniform: [1e9, 2e9]}"),
        ("mobility: walk.csv", "write {kind: trace, path: walk.csv}"),
        ("dirichlet_beta: 0.1", "write data.partition: {kind: dirichlet, alpha: 0.3}"),
        ("simulation: {num_clients: 5}", "unknown section: num_clients is devices.count"),
        ("channel: rayleigh", "did you mean radio.fading?"),
        ("grid: {rounds: [1]}", "it belongs to a sweep file"),
    ],
)
def test_another_form_is_answered_by_the_right_one(text, answer, tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=re.escape(answer)):
        load(file)
