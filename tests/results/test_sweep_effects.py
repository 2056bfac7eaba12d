"""One key changed, all else equal: closed forms, scipy's paired tests, and what many tests of single points miss."""

import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sweep_folders import ALGORITHMS, BANDWIDTHS, FAILED, make

import edgefl
from edgefl.cli import main
from edgefl.core.errors import InputError
from edgefl.results import statistics
from edgefl.results.export.effects_table import EFFECT_FORMATS, effect_table, formatted
from edgefl.results.report.sweep.effects import effect_sentence, effects
from edgefl.results.report.sweep.estimates import estimate_columns
from edgefl.results.report.sweep.gathering import gathered
from edgefl.results.report.sweep.selection import StudyChoice, baseline_levels
from edgefl.results.report.sweep.study import load

NEVER_80 = ["target_0.8_round", "target_0.8_time_s", "target_0.8_energy_j"]
METHODS = {"algorithm": ["fedavg", "scaffold"]}
BANDS = {"radio.bandwidth_hz": [5e6, 10e6, 20e6, 40e6]}
CHURN = {"churn.arrivals_per_s": [0.5, 1, 2]}
FACTORS = {"fedavg": 1.0, "scaffold": 5.0}


def time_of(values, seed, noise=0.2):
    """A time that is a product of a factor of each key and of noise."""
    key = (values["algorithm"], values["radio.bandwidth_hz"], values["churn.arrivals_per_s"], seed)
    draw = np.random.default_rng(
        [int(1000 * part) if not isinstance(part, str) else len(part) for part in key]
    ).normal()
    size = 1e9 / values["radio.bandwidth_hz"] / values["churn.arrivals_per_s"]
    return FACTORS[values["algorithm"]] * size * math.exp(noise * draw)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """A sweep over methods, bands and churn; the second method takes five times as long, but for noise."""
    grid = METHODS | BANDS | CHURN
    folder = tmp_path_factory.mktemp("effects") / "sweep"
    return make(folder, grid, seeds=(1, 2, 3, 4), change=lambda values, seed: {"time_s": time_of(values, seed, 0.4)})


def index_rows(folder):
    return list(csv.DictReader(io.StringIO((folder / "index.csv").read_text())))


def effects_on(study, name):
    found = effects(study, estimate_columns(study)[name].measure, [0] * len(study.keys))
    return {(effect.key.path, effect.key.texts[effect.level]): effect for effect in found}


def test_ratio_and_difference_are_those_of_scipy(noisy):
    effect = effects_on(load(noisy), "time_s")["algorithm", "SCAFFOLD"]
    rows = index_rows(noisy)
    times = {}
    for row in rows:
        setting = (row["radio.bandwidth_hz"], row["churn.arrivals_per_s"], row["seed"])
        times.setdefault(row["algorithm"], {})[setting] = float(row["time_s"])
    ours = np.array([times["scaffold"][setting] for setting in times["fedavg"]])
    theirs = np.array(list(times["fedavg"].values()))
    assert effect.matched.n == effect.matched.known == 48
    assert effect.matched.difference.n == 4  # pairs of one seed are not independent: its mean counts once
    by_seed = np.array([int(seed) for _, _, seed in times["fedavg"]])
    differences = [(ours - theirs)[by_seed == seed].mean() for seed in (1, 2, 3, 4)]
    difference = stats.ttest_1samp(differences, 0)
    assert effect.matched.difference.mean == pytest.approx((ours - theirs).mean())
    assert effect.matched.difference.p == pytest.approx(difference.pvalue)
    low, high = difference.confidence_interval(0.95)
    assert effect.matched.difference.half == pytest.approx((high - low) / 2)
    ratio = stats.ttest_1samp([np.log(ours / theirs)[by_seed == seed].mean() for seed in (1, 2, 3, 4)], 0)
    low, high = ratio.confidence_interval(0.95)
    assert effect.matched.ratio == pytest.approx(stats.gmean(ours / theirs))
    assert (effect.matched.ratio_low, effect.matched.ratio_high) == pytest.approx((math.exp(low), math.exp(high)))
    assert effect.matched.p == pytest.approx(ratio.pvalue)


def test_copies_of_a_setting_do_not_add_evidence():
    """The same numbers at more settings, as where a key changes nothing, leave interval and p as they are."""
    theirs = np.array([1.0, 2.0, 4.0])
    ours = np.array([1.5, 2.1, 5.0])
    once = statistics.matched(theirs, ours, [1, 2, 3])
    often = statistics.matched(np.tile(theirs, 12), np.tile(ours, 12), [1, 2, 3] * 12)
    assert (once.known, often.known) == (3, 36)
    assert often.difference == pytest.approx(once.difference)
    assert often[3:] == pytest.approx(once[3:])


def test_a_factor_that_tests_of_single_points_miss_is_found(noisy):
    """Among 23 tests against the best point no setting's own pair of methods is significant."""
    study = load(noisy)
    column = estimate_columns(study)["time_s"]
    best = study.points[column.best].value_indices
    counterpart = next(
        number for number, point in enumerate(study.points) if point.value_indices == (1 - best[0], *best[1:])
    )
    assert column.p[counterpart] > 0.05
    effect = effects_on(study, "time_s")["algorithm", "SCAFFOLD"]
    assert effect.p < 0.01
    assert effect.matched.ratio_low < 5 < effect.matched.ratio_high


def test_p_values_are_corrected_for_the_tests_of_one_measure(noisy):
    found = list(effects_on(load(noisy), "time_s").values())
    assert len(found) == 1 + 3 + 2
    assert [effect.p for effect in found] == pytest.approx(
        statistics.holm([effect.matched.p for effect in found]).tolist()
    )


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(0.1, 100), min_size=2, max_size=30),
    st.floats(0.01, 100),
)
def test_a_constant_factor_is_the_ratio(reference, factor):
    theirs = np.array(reference)
    seeds = range(len(theirs))
    matched = statistics.matched(theirs, factor * theirs, seeds)
    assert matched.ratio == pytest.approx(factor)
    assert matched.ratio_low == pytest.approx(factor)
    assert matched.difference.mean == pytest.approx((factor - 1) * theirs.mean(), abs=1e-9)
    swapped = statistics.matched(factor * theirs, theirs, seeds)
    assert swapped.ratio * matched.ratio == pytest.approx(1)


@pytest.mark.oracle
@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=2, max_size=20), st.randoms())
def test_pairs_with_an_unknown_number_do_not_count(pairs, random):
    reference, values = np.array(pairs).T
    hidden = np.array([random.random() < 0.3 for _ in pairs])
    seeds = np.arange(len(pairs)) // 2
    matched = statistics.matched(np.where(hidden, np.nan, reference), values, seeds)
    rest = statistics.matched(reference[~hidden], values[~hidden], seeds[~hidden])
    assert matched.n == len(pairs)
    assert matched.known == rest.n == (~hidden).sum()
    assert str(matched[1:]) == str(rest[1:])
    assert math.isnan(matched.ratio) == (not matched.known or min(*reference[~hidden], *values[~hidden]) <= 0)


def test_missed_targets_leave_their_pairs_out(tmp_path):
    """The second method misses the target under one seed at 50 MHz, the first one at 200 MHz throughout."""

    def missed(values, seed):
        case = (values["algorithm"], values["radio.bandwidth_hz"])
        is_missed = case == ("fedavg", 200_000_000) or (case == ("scaffold", 50_000_000) and seed == 1)
        return dict.fromkeys(NEVER_80) if is_missed else {}

    study = load(make(tmp_path / "sweep", METHODS | BANDWIDTHS, change=missed))
    effect = effects_on(study, "target_0.8_time_s")["algorithm", "SCAFFOLD"]
    assert (effect.matched.n, effect.matched.known, effect.reached, effect.baseline_reached) == (9, 5, 8, 6)
    sentence = effect_sentence(effect, "time to 80 %")
    assert sentence.endswith("SCAFFOLD reached it in 8 of 9 pairs, FedAvg in 6.")


def test_runs_that_failed_have_no_pair(tmp_path):
    failed = lambda values, seed: FAILED if (values["algorithm"], seed) == ("scaffold", 2) else {}  # noqa: E731
    study = load(make(tmp_path / "sweep", METHODS | BANDWIDTHS, change=failed))
    assert effects_on(study, "time_s")["algorithm", "SCAFFOLD"].matched.n == 6


def test_keys_that_vary_together_have_no_pairs(tmp_path):
    folder = make(tmp_path / "sweep", METHODS | BANDWIDTHS, seeds=(1, 2))
    rows = index_rows(folder)
    kept = [row for row in rows if (row["algorithm"] == "fedavg") == (row["radio.bandwidth_hz"] == "50000000")]
    with (folder / "index.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(kept[0]))
        writer.writeheader()
        writer.writerows(kept)
    effect = effects_on(load(folder), "time_s")["algorithm", "SCAFFOLD"]
    assert effect.matched.n == 0
    assert effect_sentence(effect, "time") == "SCAFFOLD and FedAvg have no runs that are otherwise equal."


def test_accuracies_have_differences_but_no_ratios(noisy):
    effect = effects_on(load(noisy), "final_accuracy")["algorithm", "SCAFFOLD"]
    assert math.isnan(effect.matched.ratio)
    assert "multiplied" not in effect_sentence(effect, "final accuracy")


@pytest.mark.parametrize(
    ("baseline", "levels"),
    [
        ((), [0, 0, 0]),
        (("scaffold",), [1, 0, 0]),
        (("bandwidth_hz=10e6",), [0, 1, 0]),
        (("radio.bandwidth_hz=10 MHz", "Scaffold"), [1, 1, 0]),
        (("10MHz",), [0, 1, 0]),
        (("24",), [1, 3, 2]),  # a point
        (("24/seed-2",), [1, 3, 2]),  # a run
    ],
)
def test_a_baseline_is_a_method_a_value_a_point_or_a_run(noisy, baseline, levels):
    assert baseline_levels(load(noisy), baseline) == levels


def test_facets_compare_at_each_value(noisy):
    table = effect_table(load(noisy), StudyChoice(facet=("bandwidth_hz",), measure=("time",), target="none"))
    groups = table.groups
    assert [group.setting for group in groups] == [f"bandwidth {band} MHz" for band in (5, 10, 20, 40)]
    for group in groups:
        assert {effect.key.path for effect in group.effects} == {"algorithm", "churn.arrivals_per_s"}
        assert [effect.matched.n for effect in group.effects] == [12, 8, 8]


def test_points_are_paired_by_their_seeds(noisy):
    study = gathered([noisy / "1", noisy / "13"])
    (effect,) = effects_on(study, "time_s").values()
    assert effect.key.texts == ["FedAvg", "SCAFFOLD"]
    column = estimate_columns(load(noisy))["time_s"].estimates
    assert effect.matched.n == 4
    assert effect.matched.difference.mean == pytest.approx(column[12].mean - column[0].mean)


@pytest.mark.oracle
def test_sweeps_over_the_same_keys_are_paired_by_point_and_seed(noisy, tmp_path):
    grid = METHODS | BANDS | CHURN
    other = make(
        tmp_path / "b", grid, seeds=(1, 2, 3, 4), change=lambda values, seed: {"time_s": 2 * time_of(values, seed, 0.4)}
    )
    effect = effects_on(gathered([noisy, other]), "time_s")["sweep", str(other)]
    assert effect.matched.n == 96
    assert effect.matched.ratio == pytest.approx(2)
    with pytest.raises(InputError, match="must vary the same keys"):
        gathered([noisy, make(tmp_path / "c", METHODS)])
    with pytest.raises(InputError, match="whole sweep"):
        gathered([noisy, noisy / "1"])


def test_sweeps_without_a_shared_run_are_parts_of_one(tmp_path):
    """Seeds and points of one sweep in three folders give the numbers of the whole."""
    whole = load(make(tmp_path / "whole", METHODS | BANDS, seeds=(1, 2)))
    parts = [make(tmp_path / f"array-{seed}", METHODS | BANDS, seeds=(seed,)) for seed in (1, 2)]
    for methods in (METHODS["algorithm"][:1], METHODS["algorithm"][1:]):
        parts.append(make(tmp_path / f"{len(parts)}", {"algorithm": methods} | BANDS, seeds=(1, 2)))
    for folders in (parts[:2], parts[2:]):
        study = gathered(folders)
        assert len(study.points) == len(whole.points)
        assert str(effects_on(study, "time_s")) == str(effects_on(whole, "time_s"))  # NaN is not NaN
        assert all(study.run_folder(row).is_dir() for rows in study.finished_rows for row in rows)
    for folder, seed in zip(parts, (1, 2), strict=False):
        (folder / f"1/seed-{seed}/scenario.yaml").write_text(f"radio: {{carrier_hz: {seed}}}")
    with pytest.raises(InputError, match=r"array-2: radio\.carrier_hz: is not that of .*array-1"):
        gathered(parts[:2])


@pytest.mark.parametrize("form", EFFECT_FORMATS)
def test_every_format_has_every_effect(noisy, form):
    table = effect_table(load(noisy), StudyChoice(measure=("time", "energy"), target="none"))
    text = formatted(table, form)
    if form == "csv":
        assert len(list(csv.DictReader(io.StringIO(text)))) == 12
    elif form == "json":
        assert [row["key"] for row in json.loads(text)][:2] == ["algorithm", "radio.bandwidth_hz"]
    else:
        for value in ("SCAFFOLD", "40 MHz", "2 /s"):
            assert text.count(value) >= 2


def test_python_compares_a_sweep(noisy):
    table = edgefl.compare(noisy, where=["bandwidth_hz=5e6,10e6"], baseline=["scaffold"], measures=["time_s"])
    assert table["pairs"].tolist() == [24, 24, 16, 16]
    assert table["baseline"].iloc[0] == "SCAFFOLD"
    assert table["ratio"].iloc[0] == pytest.approx(0.2, rel=0.5)
    assert len(edgefl.compare([noisy / "1", noisy / "2"], measures=["time_s"])) == 1
    with pytest.raises(InputError, match="is not a value, point or run"):
        edgefl.compare([noisy / "1", noisy / "2"], baseline=["fedavg"])


def test_a_block_is_named_by_its_kind(tmp_path):
    study = load(make(tmp_path / "sweep", ALGORITHMS | BANDWIDTHS))
    assert baseline_levels(study, ["fedprox"]) == [1, 0]
    assert baseline_levels(study, ["algorithm=FedProx"]) == [1, 0]


def test_a_comparison_begins_with_lost_updates(tmp_path):
    lost = {"received": 1, "received_share": 0.1, "late": 9, "departed": 0, "failed": 0}
    table = effect_table(load(make(tmp_path / "sweep", METHODS, change=lambda *_: lost)), StudyChoice())
    assert formatted(table, "table").startswith("Fewer than 95 % of the updates arrive at ")
    assert "received_share" in {group.effects[0].measure.name for group in table.groups}


def test_the_table_of_a_terminal_quotes_the_first_measure_in_lines_that_fit(noisy):
    table = effect_table(load(noisy), StudyChoice(measure=("time", "energy"), target="none"))
    text = formatted(table, "table")
    assert max(map(len, text.splitlines())) <= 120
    assert "the time of the whole run" in text
    assert "the energy of the whole run" not in text
    assert "the energy of the whole run" in formatted(table, "markdown")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (
            ["--baseline", "nope"],
            "--baseline nope: is not a value, point or run of the sweep: use one of FedAvg, SCAFFOLD",
        ),
        (["--where", "bandwidth_hz=7e6"], "--where bandwidth_hz=7e6: '7e6' is not a value of radio.bandwidth_hz: use"),
        (
            ["--where", "bandwidth_hz=5e6", "--facet", "band"],
            "--facet band: band is not a key of the sweep: use one of",
        ),
        (["--target", "high"], "--target high: write an accuracy such as 0.8"),
        (["--relative", "0.9"], "compare: of a sweep, name at most one --target, and no --relative"),
        (["--measure", "speed"], "--measure speed: is not a measure of the sweep: use one of time, energy"),
    ],
)
def test_wrong_choices_are_one_line(noisy, tmp_path, capsys, options, fault):
    out = tmp_path / "table.csv"
    assert main(["compare", str(noisy), *options, "-o", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"edgefl: {fault}")
    assert not out.exists()


def test_the_command_writes_what_python_returns(noisy, tmp_path, capsys):
    out = tmp_path / "table.csv"
    assert main(["compare", str(noisy), "--measure", "time,energy", "--format", "csv", "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    table = edgefl.compare(noisy, measures=["time", "energy"])
    written = pd.read_csv(out)
    assert written["ratio"].to_numpy() == pytest.approx(table["ratio"].to_numpy())
    assert written["measure"].tolist() == table["measure"].tolist()
