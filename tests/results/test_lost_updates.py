"""Updates that were lost: their number by cause, their share, and the first sentence of a run."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import edgefl
from edgefl.results.participation import LOSS_CAUSES, Updates, updates_of
from edgefl.results.report import write
from edgefl.results.report.comparison import comparison
from edgefl.results.report.comparison.comparison import ComparisonOptions
from edgefl.results.report.comparison.formats import formatted
from edgefl.results.report.comparison.pooled_seeds import main_results
from edgefl.results.report.run import narrative
from edgefl.results.report.shared.read import load

COUNTS = st.integers(0, 1000)


@pytest.mark.oracle
@given(received=COUNTS, late=COUNTS, departed=COUNTS, failed=COUNTS, unfinished=COUNTS)
def test_every_participation_is_received_lost_or_unfinished(received, late, departed, failed, unfinished):
    sums = {"received": received, "late": late, "departed": departed, "failed": failed}
    sums["selected"] = sum(sums.values()) + unfinished
    updates = updates_of(sums.__getitem__)
    assert updates == Updates(received, late, departed, failed, unfinished)
    assert updates.received + sum(updates.losses.values()) + updates.unfinished == sums["selected"]
    if updates.received_share is not None:
        assert updates.received_share * updates.ended == pytest.approx(received)


@pytest.mark.parametrize(
    ("received", "late", "share", "many"),
    [(0, 0, None, False), (0, 4, 0.0, True), (95, 5, 0.95, False), (94, 6, 0.94, True), (9, 0, 1.0, False)],
)
def test_many_are_lost_below_95_percent(received, late, share, many):
    updates = Updates(received, late, 0, 0, unfinished=7)
    assert updates.received_share == share
    assert updates.many_lost is many


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """A run whose deadline is too short for most updates, and one whose deadline is long."""
    folder = tmp_path_factory.mktemp("late")
    scenario = {
        "rounds": 6,
        "devices": {"count": 20, "cpu_hz": {"uniform": [1e8, 2e9]}},
        "server": {"participants": 5, "policy": "deadline", "deadline_s": 1.0},
        "radio": {"bandwidth_hz": 1e6},
    }
    for name, time_s in (("short", 0.09), ("long", 1000.0)):
        scenario["server"]["deadline_s"] = time_s
        edgefl.run(scenario, out=folder / name, train=False)
    return folder


def test_summary_counts_what_devices_csv_lists(late):
    run = load(late / "short")
    statuses = list(run.devices["status"])
    summary = json.loads((late / "short" / "summary.json").read_text())
    assert 0 < summary["received"] == statuses.count("received")
    assert 0 < summary["drops"]["late"] == statuses.count("late")
    assert summary["received_share"] == summary["received"] / len(statuses) < 0.95
    assert json.loads((late / "long" / "summary.json").read_text())["received_share"] == 1


def test_lost_updates_come_first(late):
    run = load(late / "short")
    updates = run.updates
    first = narrative.sentences(run)[0]
    share = 100 * run.summary["wasted_j"] / run.summary["energy_j"]
    assert first.startswith(f"Only {updates.received} of {updates.ended} updates")
    assert f"not used: {updates.late} late. " in first
    assert float(first.split(" % of the energy")[0].split()[-1]) == pytest.approx(share, rel=0.01)
    page = write([late / "short"], late / "page.html").read_text()
    assert f"<strong>Only {updates.received}" in page.replace("\u00a0", " ")


def test_comparison_has_a_table_of_losses(late):
    frame = edgefl.compare([late / "long", late / "short"])
    for place, name in enumerate(("long", "short")):
        run = load(late / name)
        assert frame["received"][place] == run.updates.received
        assert frame["received_share"][place] == run.updates.received_share
        assert frame["wasted_j"][place] == pytest.approx(run.summary["wasted_j"])
        assert [frame[cause][place] for cause in LOSS_CAUSES] == list(run.updates.losses.values())


def test_tables_leave_out_the_time_of_a_run_under_a_deadline(late, result):
    titles = [each.title for each in main_results([load(late / "short")])]
    assert titles[0] == "updates received"
    assert "virtual time" not in titles
    assert "virtual time" in [each.title for each in main_results([load(result())])]


def test_tables_call_runs_by_their_labels(late):
    reference, other = (load(late / name) for name in ("long", "short"))
    labelled = replace(other, scenario={**other.scenario, "label": "Hasty"})
    compared = [comparison.compared_run(run, str(run.folder)) for run in (reference, labelled)]
    text = formatted(comparison.compare(compared, ComparisonOptions()), "table")
    assert "Hasty  " in text
    assert str(late) not in text
    assert "Updates\n" in text
    text = formatted(comparison.compare(compared[:1] * 2, ComparisonOptions()), "table")
    assert str(late / "long") in text
    assert "Updates\n" not in text  # none was lost
