"""Values of Python and its libraries in mappings: what YAML has in another type is accepted, and gives the same."""

import argparse
import dataclasses
import datetime as dt
import enum
import re
import types
from collections import UserDict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from example_files import write_example_files
from hypothesis import given
from hypothesis import strategies as st

import edgefl
from edgefl.cli.explanations import explain
from edgefl.core.errors import InputError
from edgefl.scenario import load
from edgefl.scenario.examples import as_yaml, examples
from edgefl.scenario.key_index import keys_of_members
from edgefl.scenario.overrides import Override
from edgefl.scenario.python_values import as_in_yaml
from edgefl.scenario.yaml_reader import parse

SMALL = {"rounds": 2, "devices": {"count": 6}, "server": {"participants": 3}}


class Algorithm(enum.Enum):
    PROX = "fedprox"


@dataclasses.dataclass
class Devices:
    count: int


def with_scalars(value, forms):
    """Return nested keys with another form of each scalar, by its type."""
    if isinstance(value, dict):
        return {key: with_scalars(item, forms) for key, item in value.items()}
    if isinstance(value, list):
        return [with_scalars(item, forms) for item in value]
    return forms.get(type(value), lambda same: same)(value)


def with_arrays(value):
    """Return nested keys with lists of numbers as arrays, other lists as tuples, and mappings of another class."""
    if isinstance(value, dict):
        return UserDict({key: with_arrays(item) for key, item in value.items()})
    if not isinstance(value, list):
        return value
    if value and {type(item) for item in value} <= {int, float}:
        return np.array(value)
    return tuple(with_arrays(item) for item in value)


FORMS = {
    "numpy": lambda raw: with_scalars(raw, {int: np.int64, float: np.float64, bool: np.bool_, str: np.str_}),
    "narrow": lambda raw: with_scalars(raw, {int: lambda n: np.int32(n) if abs(n) < 2**31 else n, bool: np.bool_}),
    "floats": lambda raw: with_scalars(raw, {int: float, float: lambda x: Decimal(repr(x))}),
    "fractions": lambda raw: with_scalars(raw, {int: Fraction, float: Fraction}),
    "arrays without axes": lambda raw: with_scalars(raw, dict.fromkeys((int, float, bool), np.array)),
    "arrays": with_arrays,
}


@pytest.fixture(autouse=True)
def files_of_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_example_files(tmp_path)


@pytest.mark.oracle
def test_sections_and_members_take_every_form_of_their_values():
    members = [one.example for key in keys_of_members() for one in explain(key)]
    names = list(FORMS)
    for number, text in enumerate(dict.fromkeys([*map(as_yaml, examples()), *members])):
        raw = parse(text)[0] or {}
        expected = load(raw).model_dump_json()
        for name in (names[number % 6], names[(number + 1 + number // 6 % 5) % 6]):  # all pairs of them in turn
            if "what_if" not in text or name not in {"floats", "fractions"}:  # its values are kept as they are written
                assert load(FORMS[name](raw)).model_dump_json() == expected, (text, name)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text("ab ", max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@pytest.mark.oracle
@given(PLAIN)
def test_values_of_yaml_stay_as_they_are(value):
    found = as_in_yaml(value, "scenario")
    assert found == value
    assert repr(found) == repr(value)  # True is not 1


@pytest.mark.oracle
@given(PLAIN)
def test_scalars_of_numpy_become_those_of_yaml(value):
    assert repr(as_in_yaml(FORMS["numpy"](value), "scenario")) == repr(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.datetime64("2026-01-01"), "numpy.datetime64(2026-01-01)"),
        (np.timedelta64(5, "s"), "numpy.timedelta64(5 seconds)"),
        (dt.timedelta(seconds=5), "datetime.timedelta(0:00:05)"),
        (pd.NA, "pandas.NAType(<NA>)"),
        (Path("a"), "pathlib.PosixPath(a)"),
        (np.float64(5.5), "5.5"),
        (np.array([1, 2]), "[1, 2]"),
        (True, "true"),
    ],
)
def test_a_refused_value_is_shown_with_its_type(value, shown):
    with pytest.raises(InputError) as error:
        load({"rounds": value})
    assert error.value.faults[0].startswith(f"scenario: rounds: must be a whole number, got {shown}")


def test_a_quantity_keeps_its_unit_and_is_not_taken_for_a_number():
    quantity = np.array(20.0).view(type("Array", (np.ndarray,), {"unit": "MHz"}))  # as astropy's
    assert as_in_yaml(quantity, "scenario") is quantity
    with pytest.raises(InputError, match=r"got .*Array\(20\.0\)"):
        load({"devices": {"cpu_hz": quantity}})


@pytest.mark.parametrize(
    ("given", "remedy", "follow"),
    [
        (argparse.Namespace(count=5), "write vars() of it", vars),
        (types.SimpleNamespace(count=5), "write vars() of it", vars),
        (Devices(count=5), "write dataclasses.asdict() of it", dataclasses.asdict),
    ],
)
def test_objects_with_attributes_become_mappings_as_the_message_says(given, remedy, follow):
    with pytest.raises(InputError, match=f"{re.escape(remedy)}$"):
        load({"devices": given})
    assert load({"devices": follow(given), "server": {"participants": 2}}).devices.count == 5


@pytest.mark.parametrize("text", ["rounds: 2\nseed: 4\n", '{"rounds": 2, "seed": 4}'])
@pytest.mark.parametrize("call", [edgefl.run, edgefl.sweep])
def test_the_text_of_a_scenario_is_told_from_the_name_of_a_file(text, call):
    with pytest.raises(InputError, match=r"is a scenario itself, .*: give yaml.safe_load\(\) of it$") as error:
        call(text)
    assert "\n" not in str(error.value)
    assert load(yaml.safe_load(text)).seed == 4


def test_a_set_is_refused_as_its_order_may_differ():
    with pytest.raises(InputError) as error:
        load({"report": {"measures": frozenset({"gradient_norm"})}})
    (line,) = error.value.faults
    assert line.startswith("scenario: report.measures: must be a list, got the set")


def test_enums_and_torch_scalars_count_as_their_values():
    torch = pytest.importorskip("torch")
    scenario = load({"algorithm": Algorithm.PROX, "rounds": torch.tensor(5), "targets": torch.tensor([0.5])})
    assert scenario == load({"algorithm": "fedprox", "rounds": 5, "targets": [0.5]})


def test_overrides_in_code_take_values_of_numpy():
    override = Override(("devices", "cpu_hz", "uniform"), np.array([1e9, 2e9]), "here")
    assert load({}, [override]) == load({}, ["devices.cpu_hz={uniform: [1e9, 2e9]}"])


@pytest.mark.process
@pytest.mark.usefixtures("forked_sweeps")
def test_sweeps_over_arrays_give_the_folders_and_bytes_of_lists(tmp_path):
    lists = {"grid": {"radio.bandwidth_hz": [5_000_000, 10_000_000], "devices.count": [6, 7]}, "seeds": [1, 2]}
    arrays = {
        "grid": {"radio.bandwidth_hz": np.linspace(5e6, 10e6, 2), "devices.count": np.arange(6.0, 8.0)},
        "seeds": range(1, 3),
    }
    for name, varied in (("lists", lists), ("arrays", arrays)):
        edgefl.sweep({"base": SMALL, **varied}, out=tmp_path / name, train=False, workers=1)
    kinds = {".csv", ".yaml"}
    # sweep.yaml keeps the values as they are written.
    written = {file.relative_to(tmp_path / "lists") for file in (tmp_path / "lists").rglob("*") if file.suffix in kinds}
    written.remove(Path("sweep.yaml"))
    assert len(written) > 8
    for file in written:
        assert (tmp_path / "arrays" / file).read_bytes() == (tmp_path / "lists" / file).read_bytes(), file


@pytest.mark.process
@pytest.mark.usefixtures("forked_sweeps")
def test_a_sweep_takes_a_path_or_a_loaded_scenario_as_its_base(tmp_path):
    (tmp_path / "s.yaml").write_text("rounds: 2\ndevices: {count: 6}\nserver: {participants: 3}\n")
    for base in (Path("s.yaml"), load(SMALL), SMALL):
        out = tmp_path / type(base).__name__
        rows = edgefl.sweep({"base": base, "seeds": [1]}, out=out, train=False, workers=1)
        assert list(rows["rounds"]) == [2]


def test_seeds_of_a_table_are_whole_numbers():
    table = pd.DataFrame({"seed": [3, 4], "share": [0.5, 0.6]})
    seeds = [edgefl.run(SMALL, seed=row["seed"], train=False).scenario["seed"] for _, row in table.iterrows()]
    assert seeds == [3, 4]
    with pytest.raises(InputError, match=r"run: seed: must be a whole number, got 3\.5"):
        edgefl.run(SMALL, seed=3.5)


def test_overrides_as_a_mapping_are_written_out_without_numpys_names():
    with pytest.raises(InputError, match=r"write \[\"targets=\[0\.5, 0\.6\]\"\]"):
        edgefl.run(SMALL, overrides={"targets": np.array([0.5, 0.6])})
