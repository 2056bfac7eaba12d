"""The tiles above several runs, against means and tests computed here."""

import json
import math

import numpy as np
import pytest
from result_folders import make
from scipy.stats import ttest_rel

from edgefl.core.units import digits
from edgefl.results.report.comparison import pooled_seeds, verdict
from edgefl.results.report.shared.read import load_all

# By algorithm: seconds and joules to 90 %, by seed; None: not reached.
FIRST = {1: (100.0, 9.0), 2: (110.0, 9.0), 3: (120.0, 9.3), 4: (104.0, 9.1)}
SECOND = {1: (150.0, 8.0), 2: (171.0, 9.2), 3: (180.0, 8.8), 4: (149.0, 9.1)}


@pytest.fixture
def found(tmp_path):
    """Rankings and the text of settings whose runs reached their target at given costs."""

    def build(costs_of, **options):
        folders = []
        for name, costs in costs_of.items():
            for seed, cost in costs.items():
                folder = make(tmp_path / f"{name}-{seed}", seed=seed, rounds=3, algorithm={"kind": name}, **options)
                summary = json.loads((folder / "summary.json").read_text())
                reached = None if cost is None else 2
                time_s, energy_j = cost or (None, None)
                summary["targets"] = [{"accuracy": 0.9, "round": reached, "time_s": time_s, "energy_j": energy_j}]
                (folder / "summary.json").write_text(json.dumps(summary))
                folders.append(folder)
        groups = pooled_seeds.pooled(load_all(folders))
        settings = verdict._settings([], groups)
        text = verdict.section([run for group in groups for run in group.runs], groups)
        return verdict.rankings(settings), " ".join(text.striptags().replace("\N{NO-BREAK SPACE}", " ").split())

    return build


def test_the_lead_is_that_of_the_means_and_its_p_that_of_the_paired_test(found):
    (time, energy, _), text = found({"scaffold": SECOND, "fedavg": FIRST})
    assert [setting.look.label for setting in time.settings] == ["FedAvg", "SCAFFOLD"]
    assert time.means == pytest.approx([108.5, 162.5])
    seconds = [np.array([cost[0] for cost in costs.values()]) for costs in (FIRST, SECOND)]
    joules = [np.array([cost[1] for cost in costs.values()]) for costs in (FIRST, SECOND)]
    assert time.p == pytest.approx(ttest_rel(*seconds).pvalue)
    assert energy.p == pytest.approx(ttest_rel(*joules).pvalue)
    assert f"Least time to 90 %1.81± 0.231 minFedAvg next SCAFFOLD: 2.71 ± 0.410 min; p = {digits(time.p, 3)} " in text
    assert f"8.78± 0.865 JSCAFFOLD next FedAvg: 9.1 ± 0.225 J; p = {digits(energy.p, 3)} " in text


def test_p_of_the_best_of_three_is_holms_over_all_pairs(found):
    third = {seed: (time_s + 3 + 0.01 * seed, joules) for seed, (time_s, joules) in FIRST.items()}
    (time, *_), _ = found({"fedavg": FIRST, "scaffold": SECOND, "fedprox": third})
    assert [setting.look.label for setting in time.settings] == ["FedAvg", "FedProx", "SCAFFOLD"]
    seconds = [np.array([cost[0] for cost in costs.values()]) for costs in (FIRST, third, SECOND)]
    raw = [ttest_rel(seconds[one], seconds[other]).pvalue for one, other in ((0, 1), (0, 2), (1, 2))]
    order = np.argsort(raw)
    adjusted = np.maximum.accumulate(np.array([3, 2, 1]) * np.array(raw)[order])
    assert time.p == pytest.approx(min(1.0, adjusted[list(order).index(0)]))


def test_with_one_seed_all_may_be_chance(found):
    rankings, text = found({"fedavg": {1: FIRST[1]}, "scaffold": {1: SECOND[1]}})
    assert math.isnan(rankings[0].p)
    assert "Least time to 90 %100sFedAvg next SCAFFOLD: 2.5 min Least energy" in text
    assert text.endswith("With one seed, all of this may be chance: run at least 4 seeds of each setting.")


def test_settings_without_a_common_seed_are_not_tested(found):
    rankings, text = found({"fedavg": {1: FIRST[1], 2: FIRST[2]}, "scaffold": {3: SECOND[3], 4: SECOND[4]}})
    assert rankings[0].pair.n == 0
    assert "; no p: fewer than two common seeds " in text


def test_a_setting_that_misses_the_target_under_a_seed_does_not_lead(found):
    missed = {1: (1.0, 1.0), 2: None}
    (time, *_), text = found({"fedavg": {1: FIRST[1], 2: FIRST[2]}, "scaffold": missed})
    assert [setting.look.label for setting in time.settings] == ["FedAvg"]
    assert "Least time to 90 %105(100 to 110) sFedAvg no other got there under every seed " in text


def test_settings_with_equal_costs_share_the_first_place(found):
    lean = {seed: (time_s, joules / 2) for seed, (time_s, joules) in FIRST.items()}
    (time, energy, _), text = found({"fedavg": lean, "fedprox": FIRST, "scaffold": SECOND})
    assert [setting.look.label for setting in time.leaders] == ["FedAvg", "FedProx"]
    assert [setting.look.label for setting in energy.leaders] == ["FedAvg"]
    assert "Least time to 90 %1.81± 0.231 minFedAvg FedProx Least energy" in text


@pytest.mark.parametrize("options", [{"status": "interrupted"}, {"status": "failed"}])
def test_unfinished_runs_get_no_verdict(found, options):
    assert found({"fedavg": FIRST, "scaffold": SECOND}, **options) == ([], "")


def test_runs_of_other_data_get_no_verdict(tmp_path):
    folders = [make(tmp_path / name, rounds=3, data__dataset=name) for name in ("digits", "mnist")]
    assert verdict.rankings(verdict._settings([], pooled_seeds.pooled(load_all(folders)))) == []


def test_runs_without_learning_are_compared_by_all_their_rounds(tmp_path):
    bands_hz = (50e6, 100e6)
    folders = [make(tmp_path / f"{band:g}", rounds=3, kind="none", radio__bandwidth_hz=band) for band in bands_hz]
    runs = load_all(folders)
    time, energy = verdict.rankings(verdict._settings([], pooled_seeds.pooled(runs)))
    assert time.measure.title == "Least time of all rounds"
    assert time.means == pytest.approx(sorted(run.total("time_s") for run in runs))
    assert energy.means == pytest.approx(sorted(run.total("energy_j") for run in runs))
    late = [make(tmp_path / f"l{band:g}", kind="none", rounds=3, server__deadline_s=band) for band in (1.0, 2.0)]
    assert verdict.rankings(verdict._settings([], pooled_seeds.pooled(load_all(late)))) == []
