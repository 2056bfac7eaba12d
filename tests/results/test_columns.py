"""The table of columns: what runs write stands in it, the page is made from it, and the ledger holds on to it."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml

import edgefl
from edgefl.learning.learner.ranking import ranking
from edgefl.records.columns import DEVICE_COLUMNS, ROUND_COLUMNS, check_known, fixed_names
from edgefl.records.ledger import Ledger
from edgefl.records.quantities import INDEX_COLUMNS
from edgefl.results import reader
from edgefl.results.result_tables import columns_of_files
from tests.digests import EVERYTHING, of_numbers

PAGE = Path(__file__).parents[2] / "results" / "README.md"
CASES = Path(__file__).parents[1] / "cases"

RUNS = yaml.safe_load((CASES / "every_column.yaml").read_text(encoding="utf-8"))
RUNS["measures"] = {**RUNS["geometry"], "report": {"measures": EVERYTHING["report"]["measures"]}}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The columns that these runs write, by file."""
    folder = tmp_path_factory.mktemp("handover")
    names = {file: set() for file in columns_of_files()}
    for name, scenario in {**RUNS, "numbers": of_numbers()}.items():
        result = edgefl.run(scenario, out=folder / "run" if name == "handover" else None, device="cpu")
        assert result.status == "finished", result.error
        names["rounds.csv"].update(result.ledger.round_columns())
        names["devices.csv"].update(result.ledger.device_columns())
        for table in result.ledger.tables:
            names[table.name].update(result.ledger.columns_by_rows(table))
        names["events.parquet"].update(result.ledger.event_columns())
    for file in ("labels.csv", "tracks.csv", "device_accuracy.csv"):
        names[file].update(reader.header_of(folder / "run", file))
    with warnings.catch_warnings():  # Flower warns of its own dependencies
        warnings.simplefilter("ignore")
        from tests.cases.flower_cases import emulated, write_app

        app = write_app(folder / "app", "columns", "    grid.send_and_receive(ask(list(grid.get_node_ids())))")
        names["rounds.csv"].update(emulated(app).ledger.round_columns())
    scores = np.arange(4.0)
    names["rounds.csv"].update(ranking(scores, scores > 2, np.zeros(4, dtype=np.int64), strict_auc=True))
    return names


@pytest.mark.parametrize("file", columns_of_files())
def test_the_table_has_the_columns_that_runs_write_and_no_others(written, file):
    assert written[file] == {column.name for column in columns_of_files()[file]}


@pytest.mark.parametrize("columns", columns_of_files().values(), ids=columns_of_files())
def test_a_column_stands_once_in_its_file(columns):
    names = [column.name for column in columns]
    assert len(set(names)) == len(names)


def test_a_column_has_the_same_type_in_every_file():
    """So that an exported table, which may be any of them, knows the type by the name."""
    types = {}
    for columns in columns_of_files().values():
        for column in columns:
            types.setdefault(column.name, set()).add(column.type)
    assert {name for name, found in types.items() if len(found) > 1} == set()


def test_the_unit_is_at_the_end_of_the_name():
    for columns in columns_of_files().values():
        for column in columns:
            for ending, unit in (("_s", "s"), ("_j", "J"), ("_m", "m"), ("_db", "dB")):
                assert column.name.endswith(ending) == (column.unit == unit), column.name


@pytest.mark.process
@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.usefixtures("forked_sweeps")
def test_the_index_of_a_sweep_has_the_columns_of_the_table(tmp_path, optional):
    keys = ""
    if optional:
        keys = "cells: {energy: {static_w: 112, slope: 2.6, carbon_g_kwh: 350}}\n"
        keys += "radio: {server_power: total, held_out: {uplink: {sigma: 0.2, numbers: 3}}}\n"
        keys += "devices: {battery: {capacity_j: 1000}, carbon_g_kwh: 350}\nstop: {depleted: 1}\n"
    (tmp_path / "base.yaml").write_text(f"rounds: 1\ntargets: [0.8]\n{keys}", encoding="utf-8")
    (tmp_path / "sweep.yaml").write_text("base: base.yaml\ngrid: {server.participants: [1]}\n", encoding="utf-8")
    index = edgefl.sweep(tmp_path / "sweep.yaml", out=tmp_path / "out", workers=1, train=False)
    columns = [column for column in INDEX_COLUMNS if optional or not column.optional]
    names = [column.name.replace("<key>", "server.participants").replace("<A>", "0.8") for column in columns]
    assert list(index.columns) == names


def a_round(**more):
    return dict.fromkeys(fixed_names(ROUND_COLUMNS), 0) | more


def test_the_ledger_refuses_a_column_that_the_table_does_not_have():
    with pytest.raises(KeyError, match="column speed is unknown"):
        Ledger().close_round(a_round(speed=1.0), {})
    with pytest.raises(KeyError, match="column speed is unknown"):
        Ledger().close_round(a_round(), {"speed": np.ones(1)})
    check_known(["device"], DEVICE_COLUMNS)


def test_algorithm_from_outside_may_trace_any_column():
    ledger = Ledger()
    ledger.close_round(a_round(speed=1.0), {}, traced=["speed"])
    assert list(ledger.round_columns()) == [*fixed_names(ROUND_COLUMNS), "speed"]
