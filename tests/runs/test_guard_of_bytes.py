"""The guard of bytes sees every table that a run can write, each number of its summary, and the model's tensors."""

from dataclasses import replace

import numpy as np
import pytest

import edgefl
from edgefl.learning.report_section import ReportSection
from edgefl.results.result_tables import columns_of_files
from tests.digests import EVERYTHING, digest_of, of_numbers, tables_of

# `strict_auc` is for data of rankings alone, and `what_if` prices a finished run in a file of its own.
OTHER_KEYS = {"strict_auc", "what_if"}
METHODS = {
    "rounds.csv": "round_columns",
    "devices.csv": "device_columns",
    "events.parquet": "event_columns",
}


NUMBERS = {"binary_accuracy.csv", "binary_scores.csv", "mae.csv", "r2.csv"}  # tables that only a regression has


@pytest.fixture(scope="module")
def result():
    return edgefl.run(EVERYTHING, device="cpu")


@pytest.fixture(scope="module")
def of_regression():
    return edgefl.run(of_numbers(), device="cpu")


def test_run_uses_every_key_of_the_report():
    assert EVERYTHING["report"].keys() == set(ReportSection.model_fields) - OTHER_KEYS


def test_guard_reads_every_table(result, of_regression):
    tables = tables_of(result)
    assert tables.keys() == columns_of_files().keys() - NUMBERS
    tables |= {file: tables_of(of_regression)[file] for file in NUMBERS}
    for file, columns in tables.items():
        assert all(len(column) > 1 for column in columns.values()), file


def reversed_rows(columns):
    return {name: list(column)[::-1] for name, column in columns.items()}


@pytest.mark.parametrize("file", columns_of_files())
def test_reversed_rows_of_a_table_are_seen(result, of_regression, file, monkeypatch):
    if file in NUMBERS:
        result = of_regression
    before = digest_of(result)
    by_rows = {table.name: table for table in result.ledger.tables}
    if file in by_rows:
        table = by_rows[file]
        rows = {**result.ledger._rows, table: result.ledger._rows[table][::-1]}
        monkeypatch.setattr(result.ledger, "_rows", rows)
        assert digest_of(result) != before
        return
    if file in METHODS:
        columns = reversed_rows(getattr(result.ledger, METHODS[file])())
        monkeypatch.setattr(result.ledger, METHODS[file], lambda: columns, raising=False)
        assert digest_of(result) != before
        return
    columns = reversed_rows(result.more_tables[file]())
    assert digest_of(replace(result, more_tables={**result.more_tables, file: lambda: columns})) != before


@pytest.mark.oracle
def test_another_number_of_the_summary_is_seen(result):
    before = digest_of(result)
    for name in set(result.summary) - {"wall_s"}:
        assert digest_of(replace(result, summary={**result.summary, name: "another"})) != before, name


def test_another_bit_of_the_model_is_seen(result):
    before = digest_of(result)
    for name, tensor in result.trained.tensors.items():
        moved = {**result.trained.tensors, name: np.nextafter(tensor, tensor.dtype.type(9))}
        assert digest_of(replace(result, trained=replace(result.trained, tensors=moved))) != before, name
