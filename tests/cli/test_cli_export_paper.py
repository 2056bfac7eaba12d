"""Tables and figures for papers: means over seeds, targets that were not reached, what is escaped."""

import itertools
import re

import numpy as np
import pytest
from export_cases import BASE, RUNS, exported, made

import edgefl
from edgefl.cli import main

RISING = [0.1, 0.5, 0.7, 0.9]
FLAT = [0.1, 0.2, 0.3, 0.4]
LATER = [0.1, 0.2, 0.6, 0.8]


def table(*folders, part=None):
    """Head and rows of a Markdown table."""
    lines = exported(folders, "markdown", part and ("table", part)).decode().splitlines()
    head, _, *rows = [line.strip("| ").split(" | ") for line in lines[: lines.index("")]]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_means_and_deviations_over_seeds(tmp_path):
    """Half the accuracy is reached in rounds 2 and 3: 25 s and 5 J on average, s = 10 / √2 s."""
    folders = [
        made(tmp_path / str(seed), seed=seed, accuracies=each, targets=[0.5])
        for seed, each in enumerate([RISING, LATER])
    ]
    (row,) = table(*folders)
    assert row["seeds"] == "2"
    assert row["to 50 %: rounds"] == "2.50 ± 0.71"
    assert row[r"to 50 %: time \[s\]"] == "25.0 ± 7.1"
    assert row[r"to 50 %: energy \[J\]"] == "5.00 ± 1.41"
    assert row[r"accuracy: final \[%\]"] == "85.00 ± 7.07"


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([FLAT], ">4"),
        ([FLAT, FLAT[:3]], ">3 (0/2)"),  # the most that can be said of all
        ([RISING, FLAT], ">4 (1/2)"),
        ([RISING, LATER, FLAT], "3 (2/3)"),  # the median, with the third above all
        ([RISING, RISING, FLAT], "2 (2/3)"),
        ([RISING, FLAT, FLAT], ">4 (1/3)"),
    ],
)
def test_a_target_not_reached_is_never_averaged(tmp_path, runs, text):
    folders = [made(tmp_path / str(seed), seed=seed, accuracies=each, targets=[0.5]) for seed, each in enumerate(runs)]
    for order in itertools.permutations(folders):
        (row,) = table(*order, part="targets")
        assert row["to 50 %: rounds"] == text


def test_the_best_is_bold(tmp_path):
    """The least cost, the most accuracy; neither a bound nor the length of a run."""
    folders = [
        made(tmp_path / "a", accuracies=RISING, targets=[0.5, 0.95]),
        made(tmp_path / "b", accuracies=[*LATER, 0.9], algorithm="fedprox", targets=[0.5, 0.95]),
        made(tmp_path / "c", accuracies=FLAT[:2], algorithm="scaffold", targets=[0.5, 0.95]),
    ]
    first, second, third = table(*folders)
    assert [row["algorithm"] for row in (first, second, third)] == ["FedAvg", "FedProx", "SCAFFOLD"]
    assert [row["to 50 %: rounds"] for row in (first, second, third)] == ["**2**", "3", ">2"]
    assert [row["to 95 %: rounds"] for row in (first, second, third)] == [">4", ">5", ">2"]
    assert [row[r"accuracy: final \[%\]"] for row in (first, second, third)] == ["**90.00**", "**90.00**", "20.00"]
    assert [row["in all: rounds"] for row in table(*folders, part="summary")] == ["4", "5", "2"]


def test_runs_that_differ_in_more_than_the_seed_get_rows(tmp_path):
    same = [made(tmp_path / f"a{seed}", seed=seed, accuracies=RISING, data={"alpha": 1}) for seed in (1, 2)]
    other = made(tmp_path / "b", accuracies=RISING, data={"alpha": 2})
    assert [(row["run"], row["seeds"]) for row in table(*same, other)] == [("alpha 1", "2"), ("alpha 2", "1")]


def test_latex_is_whole_and_escaped(tmp_path):
    folders = [made(tmp_path / key, accuracies=RISING, targets=[0.95], key=f"{key}_&%$#{{}}~^\\") for key in "ab"]
    text = exported(folders, "latex").decode()
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert lines[0] == r"\begin{tabular}{llrrrrr}"
    assert [line for line in lines if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert r"\multicolumn{3}{c}{to 95 \%}" in text
    assert lines[3] == r"\cmidrule(lr){3-5} \cmidrule(lr){6-7}"
    first, _ = (line for line in lines if line.startswith("key"))
    label, *cells = re.split(r"(?<!\\)&", first.removesuffix(r" \\"))
    assert label == r"key a\_\&\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{} "
    assert [cell.strip() for cell in cells] == [
        "FedAvg",
        "$>$4",
        "$>$40.0",
        "$>$8.00",
        r"\textbf{90.00}",
        r"\textbf{90.00}",
    ]
    for line in lines[4:]:
        if line.endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", line)) == 6


def test_a_run_without_learning_has_its_costs(tmp_path):
    edgefl.run(BASE | RUNS["synchronous"], train=False, out=tmp_path / "priced")
    (row,) = table(tmp_path / "priced")
    assert row["in all: rounds"] == "6"
    assert not any("accuracy" in name for name in row)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two priced runs with accuracies put in; the second one's label is not a formula."""
    folder = tmp_path_factory.mktemp("pair")
    for name, algorithm in (("a", "fedavg"), ("b", "fedprox")):
        edgefl.run(BASE | {"algorithm": algorithm}, train=False, out=folder / name)
        made(folder / f"{name}-made", accuracies=RISING, algorithm=algorithm, key=f"${name}_x$")
        for file in ("rounds.csv", "summary.json", "scenario.yaml", "manifest.json"):
            (folder / f"{name}-made" / file).replace(folder / name / file)
    return [folder / "a", folder / "b"]


def size_inches(content):
    """Return the width and height of a PNG file of 600 dots an inch."""
    width, height = np.frombuffer(content[16:24], ">u4")
    return width / 600, height / 600


@pytest.mark.oracle
def test_the_same_figure_has_the_same_bytes_without_a_date_and_with_its_fonts(pair):
    first, second = (exported(pair, "pdf", ("figure", "phases")) for _ in range(2))
    assert first == second
    assert first.startswith(b"%PDF-")
    assert b"/FontFile2" in first
    assert b"/Type3" not in first
    assert b"CreationDate" not in first
    assert exported(pair, "png", ("figure", "phases")) == exported(pair, "png", ("figure", "phases"))


@pytest.mark.oracle
def test_a_figure_is_a_column_wide_and_all_of_them_a_page(pair):
    assert size_inches(exported(pair, "png", ("figure", "phases")))[0] == pytest.approx(3.5, abs=0.01)
    assert size_inches(exported(pair, "png"))[0] == pytest.approx(7.16, abs=0.01)


@pytest.mark.oracle
def test_the_figure_shows_the_numbers(pair):
    """Drawn by a Matplotlib that keeps its figure: the curves are the accuracies, the bars the ledger's joules."""
    from matplotlib.figure import Figure

    kept = []
    with pytest.MonkeyPatch.context() as patch:
        save = Figure.savefig
        patch.setattr(
            Figure, "savefig", lambda self, *args, **options: (kept.append(self), save(self, *args, **options))
        )
        exported(pair, "pdf")
    (figure,) = kept
    *curves, bars = figure.axes
    for axes, step in zip(curves, (1, 10, 2), strict=True):
        for line in axes.lines:
            assert line.get_xdata() == pytest.approx(step * np.arange(1, 5))
            assert line.get_ydata() == pytest.approx(100 * np.array(RISING))
    ends = [
        max(bar.get_x() + bar.get_width() for bar in bars.patches if round(bar.get_y() + 0.35) == row) for row in (0, 1)
    ]
    scale = {"mJ": 1e-3, "J": 1.0}[re.search(r"\[(\w+)\]", bars.get_xlabel())[1]]
    for folder, end in zip(pair, ends, strict=True):
        rows = np.genfromtxt(folder / "devices.csv", delimiter=",", names=True, dtype=None, encoding=None)
        spent = sum(rows[f"{kind}_energy_j"].sum() for kind in ("rx", "cpu", "tx", "idle"))
        assert end * scale == pytest.approx(spent)


@pytest.mark.oracle
def test_figures_of_accuracy_need_one(tmp_path, capsys):
    edgefl.run(BASE, train=False, out=tmp_path / "priced")
    arguments = ["export", str(tmp_path / "priced"), "--format", "png", "-o", str(tmp_path / "x.png")]
    assert main([*arguments, "--figure", "time"]) == 2
    assert "no accuracy was measured; there is --figure phases" in capsys.readouterr().err
    assert main(arguments) == 0
    assert size_inches((tmp_path / "x.png").read_bytes())[0] == pytest.approx(3.5, abs=0.01)


def test_missing_package_is_refused_in_one_line(pair, capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert main(["export", str(pair[0]), "--format", "pdf", "-o", str(tmp_path / "x.pdf")]) == 2
    expected = "edgefl: export --format pdf: needs matplotlib, which is missing: pip install 'edgefl-emulator[plot]'\n"
    assert capsys.readouterr().err == expected
    assert not list(tmp_path.iterdir())
