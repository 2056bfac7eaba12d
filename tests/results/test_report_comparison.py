"""Runs against a reference: rows of numbers, the tables made of them, and the page's section."""

import csv
import json
import re

import numpy as np
import pytest
from result_folders import rewrite

import edgefl
from edgefl.cli import main
from edgefl.core.errors import InputError
from edgefl.records.ledger import Ledger
from edgefl.results.metrics import CURVE_COLUMNS, accuracy_curve
from edgefl.results.report import write
from edgefl.results.report.comparison.comparison import ComparedRun, ComparisonOptions, compare, compared_run
from edgefl.results.report.comparison.comparison_tables import accuracy_blocks, notes, overview
from edgefl.results.report.comparison.formats import formatted
from edgefl.results.report.shared import read
from edgefl.results.result import Result

UPDATE_COLUMNS = ("selected", "received", "late", "departed", "failed", "wasted_j")


def rounds(*accuracies, cost=1.0):
    """Rounds of 2 s and 3 J, times the cost."""
    count = np.arange(1.0, len(accuracies) + 1)
    return {"round": count, "time_s": 2 * cost * count, "energy_j": 3 * cost * count, "test_accuracy": accuracies}


def run(name, *accuracies, cost=1.0, status="finished", **scenario):
    return ComparedRun(
        name, {"algorithm": {"kind": "fedavg"}} | scenario, status, accuracy_curve(rounds(*accuracies, cost=cost))
    )


NO_REFERENCE_ACCURACY = (
    "priced: no accuracy was measured, so no target can be relative to it; "
    "compare with another reference or leave out the relative targets"
)
REFERENCE = run("base", 0.2, 0.5, 0.6, 0.5, targets=[0.6])
BETTER = run("better", None, 0.6, 0.9, cost=2.0, algorithm={"kind": "fedprox", "mu": 1}, seed=7, targets=[0.6])


def texts(comparison):
    return {block.title: block.body for block in accuracy_blocks(comparison)}


def test_row_matches_hand_calculation():
    _, row = compare([REFERENCE, BETTER], ComparisonOptions(relative=[0.5], last=1, initial=2)).rows
    assert {key: row[key] for key in ("run", "algorithm", "status")} == {
        "run": "better",
        "algorithm": "fedprox",
        "status": "finished",
    }
    assert row["differs"] == "seed"  # not the algorithm
    numbers = {key: value for key, value in row.items() if not isinstance(value, str)}
    difference = np.array([0.1, 0.3])
    t = difference.mean() / (difference.std(ddof=1) / np.sqrt(2))
    assert numbers == pytest.approx(
        {
            "rounds": 3,
            "time_s": 12.0,
            "energy_j": 18.0,
            "tests": 2,
            "final_accuracy": 0.9,
            "best_accuracy": 0.9,
            "best_gain_points": 30.0,
            "last_tests": 1,
            "last_mean_accuracy": 0.9,
            "last_std_accuracy": 0.0,
            "initial_tests": 1,
            "initial_mean_accuracy": 0.6,
            "common_tests": 2,
            "accumulated_gain_points": 40.0,
            "paired_t": t,
            "paired_df": 1,
            "paired_p": 1 - 2 * np.arctan(t) / np.pi,  # Cauchy's distribution
            "received": 0,
            "received_share": None,
            "late": 0,
            "departed": 0,
            "failed": 0,
            "wasted_j": 0.0,
            "to_0.6_accuracy": 0.6,
            "to_0.6_rounds": 2,
            "to_0.6_time_s": 8.0,
            "to_0.6_energy_j": 12.0,
            "to_0.6_rounds_speedup": 1.5,
            "to_0.6_time_speedup": 0.75,
            "to_0.6_energy_speedup": 0.75,
            "to_0.5_of_reference_accuracy": 0.3,
            "to_0.5_of_reference_rounds": 2,
            "to_0.5_of_reference_time_s": 8.0,
            "to_0.5_of_reference_energy_j": 12.0,
            "to_0.5_of_reference_rounds_speedup": 1.0,
            "to_0.5_of_reference_time_speedup": 0.5,
            "to_0.5_of_reference_energy_speedup": 0.5,
        }
    )


def test_the_tables_of_that_row():
    comparison = compare([REFERENCE, BETTER], ComparisonOptions(relative=[0.5], last=1, initial=2))
    assert overview(comparison).body == [["fedavg", "4", "8 s", "12 J", "–"], ["fedprox", "3", "12 s", "18 J", "seed"]]
    assert texts(comparison) == {
        "Accuracy": [
            ["60.00 %", "–", "50.00 ± 0.00 %", "35.00 %", "–", "–"],
            ["90.00 %", "+30.00", "90.00 ± 0.00 %", "60.00 %", "+40.00", "t(1) = 2, p = 0.295"],
        ],
        "To 60 %": [["3 · 1.00×", "6 s · 1.00×", "9 J · 1.00×"], ["2 · 1.50×", "8 s · 0.75×", "12 J · 0.75×"]],
        "To 50 % of the reference's best, 30.0 %": [
            ["2 · 1.00×", "4 s · 1.00×", "6 J · 1.00×"],
            ["2 · 1.00×", "8 s · 0.50×", "12 J · 0.50×"],
        ],
    }


def test_missed_target_is_a_bound():
    wanted = ComparisonOptions(targets=[0.7, 0.95])
    found = texts(compare([REFERENCE, BETTER], wanted))
    assert found["To 70 %"] == [[">4", ">8 s", ">12 J"], ["3 · ≥1.33×", "12 s · ≥0.67×", "18 J · ≥0.67×"]]
    assert found["To 95 %"] == [[">4", ">8 s", ">12 J"], [">3", ">12 s", ">18 J"]]
    row = compare([BETTER, REFERENCE], wanted).rows[1]
    assert (row["to_0.7_rounds"], row["to_0.7_time_s"], row["to_0.7_rounds_speedup"]) == (None, None, 0.75)  # T counts
    assert texts(compare([BETTER, REFERENCE], wanted))["To 70 %"][1] == [
        ">4 · ≤0.75×",
        ">8 s · ≤1.50×",
        ">12 J · ≤1.50×",
    ]


def test_identical_runs_say_so():
    comparison = compare([REFERENCE, REFERENCE], ComparisonOptions())
    assert texts(comparison)["Accuracy"][1][-2:] == ["+0.00", "identical"]
    assert comparison.rows[1]["paired_p"] is None


def test_mean_of_few_tests_names_their_number():
    assert texts(compare([REFERENCE, BETTER], ComparisonOptions(last=4)))["Accuracy"][1][2] == "75.00 ± 15.00 % (2)"


def test_a_run_without_accuracy_has_costs_alone():
    priced = run("priced", None, None, status="interrupted")
    comparison = compare([REFERENCE, priced], ComparisonOptions())
    assert [cells[1] for cells in texts(comparison).values()] == [["–"] * 6, ["–"] * 3]
    assert notes(comparison) == ["priced: interrupted after 2 rounds", "priced: measured no accuracy"]
    assert accuracy_blocks(compare([priced, priced], ComparisonOptions(targets=[0.5]))) == []
    assert texts(compare([priced, REFERENCE], ComparisonOptions()))["To 60 %"][1] == ["3", "6 s", "9 J"]  # no speed-up


def test_the_targets_of_all_scenarios_count_once_also_relative_ones():
    other = run("other", 0.5, targets=[0.6, {"relative": 0.9, "reference": "x", "accuracy": 0.45}])
    targets = compare([REFERENCE, other], ComparisonOptions(targets=[0.6, 0.3], relative=[1.0])).targets
    assert [(target.name, target.limit) for target in targets] == [
        *(("0.3", 0.3), ("0.45", 0.45), ("0.6", 0.6)),
        ("1_of_reference", 0.6),
    ]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (ComparisonOptions(last=0), "compare: last must be > 0, got 0"),
        (ComparisonOptions(initial=-1), "compare: initial must be > 0, got -1"),
        (ComparisonOptions(relative=[np.nan]), "compare: a relative target must be > 0 and <= 1, got nan"),
        (ComparisonOptions(relative=[0.9]), NO_REFERENCE_ACCURACY),
    ],
)
def test_wrong_numbers(wanted, said):
    with pytest.raises(InputError) as caught:
        compare([run("priced", None), REFERENCE], wanted)
    assert caught.value.faults == (said,)


def test_comparison_without_runs():
    with pytest.raises(InputError, match="name a reference"):
        edgefl.compare([])


class TestFormats:
    @pytest.fixture
    def comparison(self):
        return compare([REFERENCE, run("a|b", 0.4, targets=[0.6])], ComparisonOptions())

    def test_the_table_is_aligned(self, comparison):
        for block in formatted(comparison, "table").strip().split("\n\n"):
            _, *lines = block.splitlines()
            assert len({len(line) for line in lines}) == 1

    def test_markdown_has_as_many_cells_in_every_row(self, comparison):
        for block in formatted(comparison, "markdown").strip().split("\n\n")[1::2]:
            assert len({line.count("|") for line in block.splitlines()}) == 1

    def test_csv_and_json_hold_the_rows(self, comparison):
        lines = formatted(comparison, "csv").splitlines()
        row = json.loads(formatted(comparison, "json"))[1]
        cells = list(csv.DictReader(lines))[1]
        assert row == comparison.rows[1]
        assert list(cells) == list(row)
        assert cells["to_0.6_rounds"] == ""
        assert float(cells["best_accuracy"]) == row["best_accuracy"]


def test_folders_and_results_give_the_same_frame(result):
    folder = result(rounds=5)
    found = read.load(folder)
    ledger = Ledger()
    for row in range(5):
        values = {key: found.rounds[key][row] for key in (*CURVE_COLUMNS, *UPDATE_COLUMNS)}
        ledger.close_round(values, {})
    memory = Result(dict(found.scenario), {}, None, "finished", ledger)
    frame = edgefl.compare([folder, memory], relative=[0.97])
    assert frame["run"].tolist() == [str(folder), "quickstart · seed 1"]
    assert frame["paired_note"].tolist() == ["identical"] * 2
    assert frame["label"].tolist() == ["quickstart (1)", "quickstart (2)"]
    # The ledger has no devices, so only the folder has parts.
    same = frame.drop(columns="label").loc[:, "algorithm":"to_0.97_of_reference_energy_speedup"]
    assert same.iloc[0].equals(same.iloc[1])


PLACES = {  # session, round, accuracy; the second run has two extra rounds in each session after the first
    "previous": [(1, 1, 0.1), (1, 2, 0.3), (2, 1, 0.4), (2, 2, 0.6), (3, 1, 0.2), (3, 2, 0.8)],
    "proposed": [
        *((1, 1, 0.1), (1, 2, 0.3), (2, -1, None), (2, 0, None), (2, 1, 0.5), (2, 2, 0.7)),
        *((3, -1, None), (3, 0, 0.99), (3, 1, 0.7), (3, 2, 0.7)),
    ],
}


def columns_of(name):
    session, number, accuracy = zip(*PLACES[name], strict=True)
    return rounds(*accuracy) | {"session": session, "round": number}


def with_sessions(folder):
    """A result folder whose rounds are those of `PLACES`, by its name."""
    table = columns_of(folder.name)
    rows = iter(zip(*table.values(), strict=True))
    return rewrite(
        folder, "rounds.csv", lambda _: dict(zip(table, ["" if x is None else x for x in next(rows)], strict=True))
    )


class TestSessions:
    """Rounds are compared within the same session, whatever its extra rounds."""

    @pytest.fixture
    def folders(self, result):
        return [with_sessions(result(name, rounds=len(PLACES[name]))) for name in PLACES]

    def check(self, row):
        difference = np.array([0, 0, 0.1, 0.1, 0.5, -0.1])
        t = difference.mean() / (difference.std(ddof=1) / np.sqrt(6))
        wanted = {
            "rounds": 10,
            "tests": 6,
            "best_accuracy": 0.7,
            "initial_tests": 3,
            "initial_mean_accuracy": (0.1 + 0.5 + 0.7) / 3,
            "common_tests": 6,
            "accumulated_gain_points": 60.0,
            "paired_t": t,
            "session_1_initial_accuracy": 0.1,
            "session_1_best_accuracy": 0.3,
            "session_1_gain_points": 0.0,
            "session_2_initial_accuracy": 0.5,
            "session_2_best_accuracy": 0.7,
            "session_2_gain_points": 20.0,
            "session_3_initial_accuracy": 0.7,
            "session_3_best_accuracy": 0.7,
            "session_3_gain_points": 40.0,
        }
        assert {key: row[key] for key in wanted} == pytest.approx(wanted)

    def test_from_folders_and_from_results(self, folders):
        self.check(edgefl.compare(folders, initial=1).iloc[1])
        memory = []
        for name in PLACES:
            ledger = Ledger()
            table = columns_of(name)
            for cells in zip(*table.values(), strict=True):
                ledger.close_round(dict(zip(table, cells, strict=True)), {})
            memory.append(Result({"name": name, "seed": 1, "algorithm": "fedavg"}, {}, None, "finished", ledger))
        self.check(edgefl.compare(memory, initial=1).iloc[1])

    def test_at_the_command_line(self, folders, capsys):
        assert main(["compare", *map(str, folders), "--initial", "1", "--format", "json"]) == 0
        self.check(json.loads(capsys.readouterr().out)[1])

    def test_session_metrics_are_in_tables_and_on_the_page(self, folders, tmp_path):
        runs = [compared_run(read.load(folder), folder.name) for folder in folders]
        found = texts(compare(runs, ComparisonOptions(initial=1)))
        assert found["First 1 rounds of each session"] == [
            ["10.00 %", "40.00 %", "20.00 %"],
            ["10.00 %", "50.00 %", "70.00 %"],
        ]
        assert found["Gain in each session"] == [["–"] * 3, ["+0.00", "+20.00", "+40.00"]]
        page = write(folders, tmp_path / "page.html").read_text(encoding="utf-8")
        section = re.search(r'<section id="comparison">.*?</section>', page, re.DOTALL)[0]
        assert "<h3>First 10 rounds of each session</h3>" in section
        assert "<td>+60.00</td>" in section

    def test_session_missing_in_one_run_has_no_gain(self):
        short = {name: column[:4] for name, column in columns_of("previous").items()}
        runs = [
            ComparedRun(name, {}, "finished", accuracy_curve(table))
            for name, table in (("a", short), ("b", columns_of("proposed")))
        ]
        first, second = compare(runs, ComparisonOptions()).rows
        assert (
            first["session_3_best_accuracy"]
            is first["session_3_gain_points"]
            is second["session_3_gain_points"]
            is None
        )
        assert second["accumulated_gain_points"] == pytest.approx(20)


class TestPage:
    @pytest.mark.oracle
    def test_several_runs_have_the_section(self, result, tmp_path):
        folders = [result("a"), result("b", pace=2.0, algorithm={"kind": "fedprox"})]
        text = write(folders, tmp_path / "page.html").read_text(encoding="utf-8")
        section = re.search(r'<section id="comparison">.*?</section>', text, re.DOTALL)[0]
        titles = re.findall(r"<h3>(.*?)</h3>", section)
        assert titles == ["Accuracy", "To 80 %", "To 90 %"]
        assert section.count('scope="row"') == 6
        runs = [compared_run(read.load(folder), folder.name) for folder in folders]
        rows = compare(runs, ComparisonOptions([0.8])).rows
        assert f"· {rows[1]['to_0.8_rounds_speedup']:.2f}×" in section
        assert "<h3>Targets</h3>" not in text  # is said there

    @pytest.mark.parametrize("runs", [[{}], [{"kind": "none"}, {"kind": "quadratic"}]], ids=["one", "no accuracy"])
    def test_single_run_or_runs_without_accuracy_have_no_comparison(self, result, tmp_path, runs):
        folders = [result(f"run-{place}", rounds=2, **options) for place, options in enumerate(runs)]
        assert 'id="comparison"' not in write(folders, tmp_path / "page.html").read_text(encoding="utf-8")
