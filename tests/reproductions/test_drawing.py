"""Figures of recipes: each kind of panel draws what was measured, and the same rows give the same bytes."""

from dataclasses import replace

import pytest

from edgefl.reproductions import drawing
from edgefl.reproductions.comparison import Comparison
from edgefl.reproductions.figure import Figure
from edgefl.reproductions.readings.rounds import ColumnCurve
from edgefl.reproductions.records import Row

EMPTY = Comparison("textbook/x", "", "", (), "full", (), (), None, None, "measured", 1, 1, (1,), ())
CURVE = "0.1 0.2 nan 0.4"
ENTRIES = "1 3 0 10 1 8 0 30 2 3 0 10 2 5 1 10"


def rows(axes, **measures):
    """A row for each point; an axis' values are separated by spaces."""
    names = list(axes)
    points = [[]]
    for name in names:
        points = [[*point, value] for point in points for value in axes[name].split()]
    return tuple(Row(dict(zip(names, point, strict=True)), 1, measures) for point in points)


DRAWN = {  # figure, rows, lines or titles that are in the picture
    "lines": ({"y": "curve", "group": "alg"}, rows({"setting": "iid did", "alg": "A B"}, curve=CURVE), "iid did A B"),
    "two measures": ({"y": ["a", "b"], "group": ["alg"]}, rows({"p": "1 2", "alg": "A"}, a=CURVE, b=CURVE), "1 2"),
    "two axes a line": ({"y": "a", "group": ["m", "k"], "log": True}, rows({"m": "A", "k": "2 5"}, a=CURVE), "A,2 A,5"),
    "over an axis": (
        {"x": "mhz", "y": "time_s", "factors": {"Fast": 1, "Slow": 52}},
        rows({"mhz": "50 100"}, time_s="7"),
        "Fast Slow",
    ),
    "percentiles": ({"kind": "percentiles", "y": "a", "group": "s"}, rows({"s": "U V"}, a="1 2 3"), "U V"),
    "histogram": ({"kind": "histogram", "y": "a", "group": "alg"}, rows({"alg": "A B"}, a="10 40 45 70"), "A B"),
    "boxes": ({"kind": "boxes", "y": "gain", "group": "p"}, rows({"p": "iid did", "e": "1 3"}, gain=CURVE), "iid did"),
    "dots": ({"kind": "dots", "x": "a", "y": "b"}, rows({"alg": "A B"}, a="-1 0", b="0.5 2"), "A B"),
    "entries as dots": ({"kind": "dots", "y": "held"}, rows({"p": "iid"}, held=ENTRIES), "iid"),
    "counts": ({"kind": "heatmap", "y": "n", "rows": 2}, rows({"d": "D"}, n="1 2 3 4 5 6"), "D"),
    "entries as counts": ({"kind": "heatmap", "y": "n"}, rows({"alg": "A"}, n="0 0 3 1 0 1"), "A"),
}


@pytest.mark.oracle
@pytest.mark.parametrize("case", DRAWN)
def test_figure_names_what_it_draws_and_keeps_its_bytes(case, tmp_path):
    pytest.importorskip("matplotlib")
    keys, measured, names = DRAWN[case]
    figure = Figure.model_validate(keys)
    compared = replace(EMPTY, figure=figure, rows=measured)
    (path,) = drawing.draw(compared, tmp_path)
    text = path.read_text()
    for name in names.split():
        assert f">{name.replace(',', ', ')}<" in text
    assert drawing.draw(compared, tmp_path)[0].read_text() == text
    assert drawing.draw(replace(EMPTY, figure=figure), tmp_path) == []


def test_each_measure_and_setting_has_a_panel():
    figure = Figure.model_validate({"y": ["a", "b"], "group": "alg"})
    panels = drawing.panels_of(figure, rows({"p": "1 2", "alg": "A B"}, a="1", b="2"))
    assert [(panel.title, panel.measure, list(panel.rows)) for panel in panels] == [
        (title, measure, ["A", "B"]) for measure in "ab" for title in "12"
    ]


def test_mean_curve_ends_with_the_shortest():
    (one, other) = rows({"alg": "A B"})
    found = drawing.mean_curve([replace(one, measures={"a": "1 2 3"}), replace(other, measures={"a": "3 4"})], "a")
    assert found.tolist() == [2.0, 3.0]


def test_entries_of_a_curve_belong_to_the_rounds_that_its_reading_keeps():
    assert drawing.rounds_of(ColumnCurve(column="loss", every=2), 3).tolist() == [2, 4, 6]
    assert drawing.rounds_of(None, 3).tolist() == [1, 2, 3]


def test_factors_without_an_axis_are_refused():
    with pytest.raises(ValueError, match="are for lines over an axis: set x, or leave them out"):
        Figure.model_validate({"y": "a", "factors": {"A": 2.0}})
