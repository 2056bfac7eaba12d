"""Cells of CSV files, as spreadsheets and programs read them."""

import csv
import io

import numpy as np
import pytest

from edgefl.results.csv_format import csv_bytes, csv_cell, spreadsheet_bytes, spreadsheet_cell


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-cmd|x", "@SUM(1)", "\t=1"])
def test_text_is_never_a_formula_in_an_export(text):
    (header, row) = csv.reader(io.StringIO(spreadsheet_bytes({text: [text]}).decode(), newline=""))
    assert header == row == [f"'{text}"]
    (header, row) = csv.reader(io.StringIO(csv_bytes({text: [text]}).decode(), newline=""))  # which edgefl reads again
    assert header == row == [text]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (-1.5, "-1.5"),
        (-3, "-3"),
        (np.float32(-1.5), "-1.5"),
        ("-1e-3", "-1e-3"),
        (float("-inf"), "-inf"),
        ("a=1", "a=1"),
    ],
)
def test_numbers_stay_numbers(value, cell):
    assert csv_cell(value) == spreadsheet_cell(value) == cell
