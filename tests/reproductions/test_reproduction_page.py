"""The files of a study: its page, CSV and LaTeX show the numbers of the comparison, and text stays text."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from comparison_cases import cell, comparison, curves, run

from edgefl.reproductions import pages
from edgefl.reproductions.charts import charts
from edgefl.reproductions.figure import Figure
from edgefl.reproductions.paper_table import as_latex
from edgefl.reproductions.texts import difference_text, mean_text

EVIL = "</script><script>document.title='owned'</script>"


@pytest.fixture
def written(tmp_path):
    """Writes a comparison; returns the text of a file by its name."""

    def write(compared):
        files = {path.name: path.read_text(encoding="utf-8") for path in pages.write(compared, tmp_path)}
        assert set(files) == {"comparison.csv", "comparison.tex", "report.html"}
        return files

    return write


def figures_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])["figures"]


def traces_of(figure):
    return {trace["name"]: trace for trace in figure["data"]}


def test_the_chart_has_each_number_once(written):
    page = written(comparison())["report.html"]
    traces = traces_of(figures_of(page)["cells-0"])
    assert traces["published"]["y"] == [45, 22, 76, 24]
    assert traces["by seed"]["y"] == [43, 40, 43, 15, 17, 16, 80, 72, 80, 100, 100, 100]
    assert traces["measured"]["y"] == pytest.approx([42, 77.333333, 100], abs=1e-6)
    assert traces["measured"]["x"] == [["IID", "DiD1", "DiD1"], ["FedAvg", "FedAvg", "FedSSG"]]
    assert traces["measured"]["marker"]["symbol"] == ["circle", "circle", "triangle-up-open"]
    assert traces["measured"]["error_y"]["array"] == pytest.approx([3**0.5, 21.3333333**0.5, 0])
    assert traces["outside tolerance"]["y"] == [16]


def test_diverged_cell_keeps_its_place_in_the_chart():
    cells = [
        replace(cell("IID", "FedAvg", None, {1: 43}), diverged=frozenset({2}), mean=None),
        replace(cell("IID", "SCAFFOLD", None, {}), diverged=frozenset({1, 2})),
        cell("IID", "FedSSG", 22, {1: 15, 2: 17}),
    ]
    (chart,) = charts(comparison(cells))
    said = traces_of(chart.figure)["diverged"]
    assert said["x"] == ["FedAvg", "SCAFFOLD"]
    assert said["text"] == ["1 of 2 diverged", "diverged"]
    assert said["y"] == [16, 16]  # at the foot of the chart: the lowest number in it


def test_columns_named_by_numbers_have_places_side_by_side():
    """On an axis of numbers 0.0001 and 0.01 would lie on each other beside 1."""
    cells = [cell("IID", name, 10, {1: 11}) for name in ("0.0001", "0.01", "1")]
    (chart,) = charts(comparison(cells))
    assert chart.figure["layout"]["xaxis"] == {"type": "category"}


def test_many_cells_are_drawn_over_printed_numbers():
    cells = [cell(f"row {number}", "A", number + 1.0, {1: 2.0 * (number + 1)}) for number in range(80)]
    (chart,) = charts(comparison(cells))
    line, inside, _ = chart.figure["data"]
    assert line["x"] == line["y"] == [1.0, 160.0]
    assert inside["y"] == [2 * x for x in inside["x"]]


def test_page_has_tolerance_orders_and_gap(written):
    page = written(comparison())["report.html"]
    for text in ("seeds differ by as much", "FedSSG is earlier than printed.", "a named gap", "not known yet"):
        assert text in page
    assert "does not hold" not in page


def test_page_names_what_the_data_of_its_runs_lacked(written):
    rows = [run("IID", "FedAvg", seed) for seed in (1, 2)]
    assert "Data lack" not in written(comparison(rows=tuple(rows)))["report.html"]
    partial = tuple(replace(row, origin={**row.origin, "data_lacks": "59 of 50,000 samples"}) for row in rows)
    page = written(comparison(rows=partial))["report.html"].replace("\xa0", " ")
    assert page.count("Data lack: 59 of 50,000 samples.") == 1


def test_page_links_existing_runs(tmp_path):
    folder = tmp_path / "runs" / "setting=IID,algorithm=FedAvg"
    (folder / "seed-2").mkdir(parents=True)
    (folder / "seed-2" / "report.html").write_text("a page")
    (folder / "seed-3").mkdir()
    pages.write(comparison(), tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert re.findall(r'href="([^"]*)"', page.partition("<main")[2]) == [
        "runs/setting=IID,algorithm=FedAvg/seed-2/report.html",
        "runs/setting=IID,algorithm=FedAvg/seed-3/",
    ]


def test_the_csv_has_a_line_for_each_cell(written):
    lines = list(csv.DictReader(io.StringIO(written(comparison())["comparison.csv"])))
    assert [line["mean"] for line in lines] == ["42", "16", "77.3333333333", ">100"]
    assert [line["within"] for line in lines] == ["true", "false", "true", ""]
    assert lines[1]["difference"] == "-6"


def test_latex_has_pairs_of_published_and_measured():
    lines = as_latex(comparison()).splitlines()
    assert lines[2] == r"\begin{tabular}{lrrrr}"
    assert r"\multicolumn{2}{c}{FedAvg} & \multicolumn{2}{c}{FedSSG}" in lines[4]
    assert r"IID & 45 & 42.0 $\pm$ 1.7 & 22 & 16.0 $\pm$ 1.0 \\" in lines
    assert r"DiD1 & 76 & 77.3 $\pm$ 4.6 & 24 & $>$100 \\" in lines


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((43, 40, 43), "42.0 ± 1.7"),
        ((98.07, 97.96, 98.01), "98.013 ± 0.055"),
        ((5, 5), "5"),
        ((17000, 17200), "17100 ± 141"),
        ((7,), "7"),
        ((), ""),
    ],
)
def test_means_have_as_many_digits_as_are_known(numbers, text):
    assert mean_text(cell("IID", "A", 1, dict(enumerate(numbers)))) == text


def test_differences_have_a_sign():
    assert difference_text(cell("IID", "A", 22, {1: 16})) == "−6 (−27.3 %)"
    assert difference_text(cell("IID", "A", None, {1: 16})) == ""
    assert difference_text(cell("IID", "A", 1e-194, {1: 2e-10})) == "+2e−10"  # a p value: no percentage


def test_hostile_text_stays_text(written):
    cells = [cell(EVIL, f"{EVIL}&_%$#", 45, {1: 43})]
    rows = (run(EVIL, EVIL, 1, rounds=EVIL),)
    files = written(comparison(cells, rows=rows, title=EVIL, source=EVIL, gap=EVIL, covers=(EVIL,), name=f"a/{EVIL}"))
    assert EVIL not in files["report.html"]
    assert "&lt;/script&gt;" in files["report.html"]
    tex = files["comparison.tex"]
    assert r"\&\_\%\$\#" in tex
    assert "<" not in tex.replace("$<$", "")


@pytest.mark.oracle
def test_the_page_shows_the_figure_of_its_recipe(tmp_path):
    pytest.importorskip("matplotlib")
    files = pages.write(replace(curves(), figure=Figure(y=("path",), group=("algorithm",))), tmp_path)
    assert files[-1].name == "figure.svg"
    assert '<img alt="figure" src="data:image/svg+xml;base64,' in (tmp_path / "report.html").read_text()


def test_labels_have_only_the_names_that_tell_rows_apart():
    rows = [("MNIST", "0.3", "Proposed", "1"), ("MNIST", "0.3", "Average", "7"), ("SVHN", "0.7", "Proposed", "1")]
    cells = []
    for dataset, alpha, method, number in rows:
        made = cell("", "latency", 10, {1: 11})
        cells.append(replace(made, row={"dataset": dataset, "alpha": alpha, "method": method, "rounds": number}))
    (chart,) = charts(comparison(cells))
    assert traces_of(chart.figure)["published"]["x"] == [
        ["MNIST", "MNIST", "SVHN"],
        ["Proposed", "Average", "Proposed"],
    ]


def test_an_axis_of_many_decades_has_few_ticks():
    cells = [cell("IID", name, None, {1: 10.0**power}) for name, power in (("A", 1), ("B", -39))]
    (chart,) = charts(comparison(cells))
    axis = {"type": "log", "dtick": 5, "exponentformat": "power"}
    assert chart.figure["layout"]["yaxis"] == axis | {"title": {"text": cells[0].measure}}


def test_the_page_opens_with_its_chart(written):
    text = written(comparison([cell("IID", "A", 10, {1: 11})], gap="a gap"))["report.html"]
    assert text.index('data-figure="cells-0"') < text.index("Gap: a gap.") < text.index('id="cells"')


def test_a_measure_is_shown_in_words():
    made = replace(cell("IID", "A", 10, {1: 11}), measure="rounds_to_97")
    (chart,) = charts(comparison([made]))
    assert chart.title == chart.figure["layout"]["yaxis"]["title"]["text"] == "rounds to 97"
