"""The guard of bytes sees every table that a run can write, each number of its summary, and the model's tensors."""

from dataclasses import replace

import numpy as np
import pytest

import edgefl
from edgefl.learning.report_section import ReportSection
from edgefl.records.result_files import BY_ROWS, COLUMNS_OF
from tests.digests import EVERYTHING, digest_of, tables_of

# `strict_auc` is for data of rankings alone, and `what_if` prices a finished run in a file of its own.
OTHER_KEYS = {"strict_auc", "what_if"}
METHODS = {
    "rounds.csv": "round_columns",
    "devices.csv": "device_columns",
    "events.parquet": "event_columns",
}


@pytest.fixture(scope="module")
def result():
    return edgefl.run(EVERYTHING, device="cpu")


def test_its_run_asks_for_every_key_of_the_report():
    assert EVERYTHING["report"].keys() == set(ReportSection.model_fields) - OTHER_KEYS


def test_it_reads_every_table(result):
    tables = tables_of(result)
    assert tables.keys() == COLUMNS_OF.keys()
    for file, columns in tables.items():
        assert all(len(column) > 1 for column in columns.values()), file


def reversed_rows(columns):
    return {name: list(column)[::-1] for name, column in columns.items()}


@pytest.mark.parametrize("file", COLUMNS_OF)
def test_reversed_rows_of_a_table_are_seen(result, file, monkeypatch):
    before = digest_of(result)
    if file in BY_ROWS:
        rows = {**result.ledger._rows, file: result.ledger._rows[file][::-1]}
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


def test_another_number_of_the_summary_is_seen(result):
    before = digest_of(result)
    for name in set(result.summary) - {"wall_s"}:
        assert digest_of(replace(result, summary={**result.summary, name: "another"})) != before, name


def test_another_bit_of_the_model_is_seen(result):
    before = digest_of(result)
    for name, tensor in result.trained.tensors.items():
        moved = {**result.trained.tensors, name: np.nextafter(tensor, tensor.dtype.type(9))}
        assert digest_of(replace(result, trained=replace(result.trained, tensors=moved))) != before, name
