"""Scenario files: what is read, what is refused, and that what is dumped is what was loaded."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from scenario_schema import scenario_schema, validator

import edgefl
from edgefl.core.errors import InputError
from edgefl.core.written_yaml import NotYaml
from edgefl.scenario import dump, load, shipped
from edgefl.scenario.sweep_file import load_sweep
from edgefl.scenario.yaml_reader import parse

SHIPPED = list(shipped.scenarios().values())
LARGE = {"allow_nan": False, "allow_infinity": False, "max_value": 1e12}
POSITIVE = st.floats(min_value=1e-6, **LARGE)
SHARE = st.floats(min_value=0.01, max_value=0.99)


def kind(name, **keys):
    return st.just(name) | st.fixed_dictionaries({"kind": st.just(name)}, optional=keys)


def per_device(low, high):
    number = st.floats(low, high)
    pair = st.tuples(number, number).map(sorted)
    return st.one_of(
        number,
        pair.map(lambda value: {"uniform": value}),
        st.tuples(number, st.floats(0, 10)).map(lambda value: {"normal": list(value)}),
        st.tuples(st.floats(-5, 20), st.floats(0, 1)).map(lambda value: {"lognormal": list(value)}),
        st.lists(number, min_size=1, max_size=3).map(lambda value: {"choice": value}),
    )


SCENARIOS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.from_regex(r"\A[A-Za-z0-9_-][A-Za-z0-9_ .-]{0,20}\Z"),
        "seed": st.integers(0, 2**63 - 1),
        "rounds": st.integers(1, 10**9),
        "targets": st.lists(SHARE, max_size=3),
        "stop": st.fixed_dictionaries({}, optional={"accuracy": st.none() | SHARE, "time_s": st.none() | POSITIVE}),
        "data": st.fixed_dictionaries(
            {"dataset": st.sampled_from(["digits", "mnist"])},
            optional={"partition": kind("iid") | kind("dirichlet", alpha=POSITIVE), "path": st.none()},
        ),
        "model": kind("fcn", hidden=st.lists(st.integers(1, 300), max_size=3)) | kind("logistic"),
        "training": st.fixed_dictionaries(
            {},
            optional={
                "local_steps": st.integers(1, 100),
                "batch_size": st.integers(1, 1000) | st.just("full"),
                "lr": st.floats(min_value=0, **LARGE),
                "lr_schedule": kind("exponential", decay=SHARE),
                "clip_norm": st.none() | POSITIVE,
            },
        ),
        "algorithm": kind("fedprox", mu=SHARE, weighting=st.sampled_from(["samples", "uniform"])),
        "server": st.fixed_dictionaries(
            {}, optional={"participants": st.integers(1, 100), "selection": kind("bernoulli", probability=SHARE)}
        ),
        "devices": st.fixed_dictionaries(
            {"count": st.integers(100, 10**9)},
            optional={"cpu_hz": per_device(1, 1e12), "height_m": per_device(1.5, 22.5)},
        ),
        "radio": st.none() | st.fixed_dictionaries({}, optional={"bandwidth_hz": st.floats(1, 1e12)}),
        "mobility": kind("random_waypoint", speed_mps=per_device(0, 100))
        | kind("gauss_markov", alpha=SHARE, heading_deg=st.none() | st.floats(-360, 360)),
    },
)


@pytest.mark.oracle
@settings(max_examples=40)
@given(SCENARIOS)
def test_round_trip_of_random_scenarios(raw):
    scenario = load(raw)
    text = dump(scenario)
    again = parse(text)[0]
    assert load(again) == scenario
    assert dump(load(again)) == text
    validator().validate(raw)
    validator().validate(again)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_scenarios(path):
    scenario = load(path)
    validator().validate(parse(path.read_text())[0])
    resolved = parse(dump(scenario))[0]
    validator().validate(resolved)
    assert load(resolved) == scenario


@pytest.mark.oracle
def test_schema_is_one():
    Draft202012Validator.check_schema(scenario_schema())


WRONG = [
    "round: 5",
    "rounds: 0",
    "rounds: 1.5",
    "rounds: '5'",
    "rounds: true",
    "seed: -1",
    "name: a/b",
    "targets: 0.5",
    "data: digits",
    "data: {dataset: digit}",
    "data: {dataset: digits, partion: iid}",
    "data: {partition: {kind: dirichlet, alpha: 0}}",
    "data: {dataset: npz}",
    "data: {dataset: npz, path: 5}",
    "model: {kind: fcn, hidden: [0]}",
    "training: {lr: -1}",
    "training: {batch_size: all}",
    "server: {policy: [synchronous]}",
    "devices: {cpu_hz: {uniform: [1]}}",
    "devices: {cpu_hz: {unifrom: [1, 2]}}",
    "cells: {layout: hex}",
    "churn: {kind: lots}",
]


@pytest.mark.parametrize("text", WRONG)
def test_schema_and_loader_refuse_the_same(text):
    raw = parse(text)[0]
    assert not validator().is_valid(raw)
    with pytest.raises(InputError) as caught:
        load(raw)
    assert len(caught.value.faults) == 1


CONSISTENCY = {
    "server: {participants: 101}": "server.participants: must be <= devices.count = 100, got 101",
    "server: {selection: {kind: schedule, rounds: [[0, 100]]}}": "server.selection: names device 100",
    "server: {selection: {kind: schedule, rounds: [[3, 3]]}}": "server.selection: round 1 names a device twice",
    "training: {local_steps: 1, local_epochs: 1}": "training: local_epochs and local_steps exclude each other",
    "training: {wrap: false}": "training.wrap: false needs local_steps",
    "model: {init: {kind: value}}": "model.init: kind value and the key value go together",
}


@pytest.mark.parametrize(("text", "message"), CONSISTENCY.items())
def test_loader_refuses_wrong_files(tmp_path, text, message):
    path = tmp_path / "s.yaml"
    path.write_text(f"rounds: 3\n{text}\n")
    with pytest.raises(InputError) as caught:
        load(path)
    (fault,) = caught.value.faults
    assert fault.partition(": ")[2].startswith(message)


@pytest.mark.parametrize("section", ["stop", "data", "model", "training", "server", "radio", "churn", "name", "seed"])
def test_key_without_a_value_counts_as_left_out(section):
    assert load({section: None}) == load({})
    validator().validate({section: None})


def test_keys_of_the_file_override_those_of_the_dataset():
    raw = {"data": {"dataset": "quadratic", "coefficients": [[1, 0, 0], [1, 1, 0]]}, "devices": None}
    scenario = load(raw)
    assert scenario.devices.count == 2
    assert dump(scenario) == dump(load({**raw, "model": {"kind": "quadratic"}, "devices": {"count": 2}}))
    assert load({**raw, "devices": {"count": 3}}).devices.count == 3


def test_other_keys_of_a_section_override_its_preset():
    assert load({"radio": {"preset": "dynamic_devices"}}).radio.downlink == "broadcast"
    assert load({"radio": {"preset": "dynamic_devices", "downlink": "unicast"}}).radio.downlink == "unicast"


def test_paths_are_looked_for_beside_the_file(tmp_path, monkeypatch):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/s.yaml").write_text("data: {dataset: npz, path: d.npz}\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.npz").touch()
    assert load(tmp_path / "deep/s.yaml").data.dataset.path == tmp_path / "d.npz"
    (tmp_path / "deep/d.npz").touch()
    assert load(tmp_path / "deep/s.yaml").data.dataset.path == tmp_path / "deep/d.npz"


@pytest.mark.parametrize("path", ["~no-such-user/x", "x" * 5000, "a\0b"])
def test_odd_paths_are_refused(path):
    with pytest.raises(InputError, match=r"model\.init|data\.path"):
        load({"data": {"dataset": "npz", "path": path}}).data.dataset.load()


SCALARS = st.one_of(
    st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text("abc e.", max_size=5)
)
KEYS = st.from_regex(r"\A[a-z_]{1,8}\Z")


@pytest.mark.oracle
@given(st.lists(KEYS, min_size=1, max_size=4), SCALARS)
def test_set_is_the_same_as_the_mapping(keys, value):
    """Whatever the key and the value: the same scenario, or the same faults."""
    raw = value
    for key in reversed(keys):
        raw = {key: raw}
    text = f"{'.'.join(keys)}={yaml.safe_dump(value, default_flow_style=True).removesuffix('...' + chr(10)).strip()}"
    assert outcome({}, [text]) == outcome(parse(yaml.safe_dump(raw))[0], [])


@pytest.mark.oracle
@given(st.sampled_from(["radio.bandwidth_hz", "training.lr", "stop.time_s"]), st.floats(1, 1e12))
def test_set_reaches_the_number(key, value):
    section, name = key.split(".")
    assert getattr(getattr(load({}, [f"{key}={value!r}"]), section), name) == value


def outcome(raw, overrides):
    try:
        return load(raw, overrides)
    except InputError as error:
        prefixes = [f"--set {override}: " for override in overrides] or ["scenario: "]
        return [fault.removeprefix(prefixes[0]) for fault in error.faults]


@pytest.mark.oracle
def test_python_overrides_may_come_one_by_one():
    """A generator can be read only once."""
    assert edgefl.load("quickstart", overrides=(f"rounds={count}" for count in (20, 30))).rounds == 30
    result = edgefl.run("quickstart", overrides=(f"rounds={count}" for count in (3, 2)), train=False)
    assert len(result.rounds) == 2


def test_set_of_a_name_keeps_its_kind_for_the_next():
    scenario = load({"algorithm": "fedprox"}, ["algorithm.mu=0.5", "server.selection=bernoulli", "rounds=1e2"])
    assert (scenario.algorithm.mu, scenario.rounds) == (0.5, 100)
    assert type(scenario.server.selection).__name__ == "BernoulliSelection"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.5e9", 3_500_000_000),
        ("1e3", 1000),
        ("-2E+2", -200),
        ("1e22", 10**22),
        ("2.5", 2.5),
        ("1e-28", 1e-28),
        (".5", 0.5),
        ("5.", 5.0),
        ("010", 10),
        ("0x1F", 31),
        ("+7", 7),
        ("1_000", "1_000"),
        ("0o10", "0o10"),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("~", None),
        ("null", None),
        ("'5'", "5"),
        ("!!float 1", 1.0),
        ("!!str 5", "5"),
    ],
)
def test_plain_values(text, value):
    data, _ = parse(f"key: {text}\n")
    assert data["key"] == value
    assert type(data["key"]) is type(value)


@pytest.mark.parametrize("text", ["!!int abc", "!!bool maybe", "!!timestamp 2001-01-01", "!own 3", "1" * 5000, "*a"])
def test_values_that_are_none(text):
    with pytest.raises(NotYaml) as caught:
        parse(f"a: 1\nkey: {text}\n")
    assert caught.value.line == 2


def test_lines_of_keys_and_entries():
    text = "a: 1\nb:\n  c: [1,\n    2]\n  5: {d: 1}\n"
    assert parse(text)[1] == {
        ("a",): 1,
        ("b",): 2,
        ("b", "c"): 3,
        ("b", "c", 0): 3,
        ("b", "c", 1): 4,
        ("b", "5"): 5,
        ("b", "5", "d"): 5,
    }


def test_anchors_and_merges():
    data, lines = parse("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\nd: {<<: [*a, {z: 5}]}\n")
    assert data["b"] == {"x": 1, "y": 3}
    assert data["c"] == {"x": 1, "y": 2}
    assert data["d"] == {"x": 1, "y": 2, "z": 5}
    assert lines["b", "y"] == 2


def test_aliases_that_multiply_are_refused():
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(NotYaml, match="more than 1000000 entries"):
        parse("\n".join(["a0: &a0 [x, x]", *rows]))


MULTIPLYING = {
    "merges": "{{<<: [{nine}]}}",
    "merges of pairs": "{{<<: [{two}], own: {one}}}",
    "lists": "[{nine}]",
    "mappings": "{{a: {one}, b: {one}, c: {one}, d: {one}}}",
}


@pytest.mark.parametrize("form", MULTIPLYING.values(), ids=MULTIPLYING.keys())
def test_a_short_text_that_stands_for_billions_of_entries_is_refused_before_it_is_read(form, tmp_path, monkeypatch):
    rows = ["a0: &a0 {x: 1}"]
    for number in range(1, 40):
        one = f"*a{number - 1}"
        rows.append(f"a{number}: &a{number} " + form.format(one=one, two=f"{one}, {one}", nine=", ".join([one] * 9)))
    text = "\n".join(rows)
    monkeypatch.setattr(yaml.SafeLoader, "construct_document", None)  # what makes the entries, if it is called
    with pytest.raises(NotYaml, match="more than 1000000 entries, with aliases expanded: write fewer"):
        parse(text)
    for name, reader in (("scenario.yaml", load), ("sweep.yaml", load_sweep)):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(InputError, match=rf"{name}:\d+: not valid YAML: more than 1000000 entries"):
            reader(path)


@pytest.mark.parametrize("text", ["a: &a {<<: *a}", "a: &a {<<: [*a]}", "a: &a [*a]", "a: &a {b: {c: *a}}"])
def test_an_alias_within_its_own_anchor_is_refused(text):
    with pytest.raises(NotYaml, match="an alias stands within its own anchor"):
        parse(text)


def test_only_the_root_fault_of_a_list_is_reported():
    with pytest.raises(InputError) as caught:
        load({"data": {"dataset": "quadratic", "coefficients": [[1, 2, "a"]]}})
    assert caught.value.faults == ('scenario: data.coefficients.0.2: must be a number, got "a"',)


@pytest.mark.parametrize("name", ["0E0", "1e3", "true", "null", "0x1f", "plain", "with space", "12"])
def test_a_name_stays_a_name(name, tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(dump(load({"name": name})))
    assert load(path).name == name
