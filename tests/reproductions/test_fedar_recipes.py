"""FedAR's recipes: all printed items, the scenario of Figure 1, and the figures that they draw."""

import pytest

import edgefl
from edgefl.reproductions.comparison import compare
from edgefl.reproductions.library import Library
from edgefl.reproductions.plan import plan
from edgefl.reproductions.records import Row
from edgefl.reproductions.scenarios import scenarios_of

LIBRARY = Library()


def planned(item, scale="full"):
    return plan(LIBRARY, LIBRARY.load(f"fedar/{item}"), scale)


def measured(found, **measures):
    """A row for each run of a plan."""
    rows = [Row(dict(run.point), run.seed, dict(measures)) for run in found.runs]
    return {row.key: row for row in rows}


@pytest.mark.oracle
def test_client_0_is_away_in_the_last_rounds():
    """By the stale client's name: in so many of nine rounds, and never before."""
    scenarios = scenarios_of(planned("figure-1"))
    for (name, *_), scenario in scenarios.items():
        away = 0 if name == "fresh" else int(name.removeprefix("stale "))
        listed = scenario.server.selection.rounds
        present = [0 in listed[number % len(listed)] for number in range(scenario.rounds)]
        assert present == [True] * (9 - away) + [False] * away
        assert all({1, 2, 3, 4} <= set(ids) for ids in listed)


@pytest.mark.oracle
def test_a_stale_update_counts_in_the_last_round():
    """As in the shipped scenario, on small data: all five have a value; together they are what the round has gained."""
    scenario = {
        "rounds": 9,
        "data": {"dataset": "digits"},
        "model": "logistic",
        "training": {"local_epochs": 1, "lr": 0.1},
        "algorithm": {"kind": "mifa"},
        "server": {"selection": {"kind": "schedule", "rounds": [[0, 1, 2, 3, 4]] * 6 + [[1, 2, 3, 4]] * 3}},
        "devices": {"count": 5},
        "report": {"contributions": {"every": 9, "players": "all"}},
    }
    result = edgefl.run(scenario)
    assert result.contributions["device"].tolist() == [0, 1, 2, 3, 4]
    accuracy = result.rounds["test_accuracy"].to_numpy()
    assert result.contributions["contribution"].sum() == pytest.approx(accuracy[8] - accuracy[7], abs=1e-12)


def test_table_2_compares_each_run_with_fedar():
    found = planned("table-2")
    assert {run.point["algorithm"] for run in found.runs} == {cell.column for cell in found.cells} | {"FedAR"}
    rows = measured(found, curve="0.4 0.5 0.6 0.61")
    for row in rows.values():
        if row.point["algorithm"] == "MIFA":
            row.measures["curve"] = "0.3 0.39 0.5 0.52"
    by_column = {cell.column: cell for cell in compare(found, rows).cells if cell.row["p_min"] == "0.1"}
    assert by_column["MIFA"].mean < 0.001
