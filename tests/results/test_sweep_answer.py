"""The sentences of a sweep's report."""

import re
from types import SimpleNamespace

import numpy as np
from scipy.stats import t as student
from sweep_folders import ALGORITHMS, BANDWIDTHS, NEVER, make

from edgefl.core.units import TIME, quantity
from edgefl.results.report.sweep import write
from edgefl.results.report.sweep.answer import _bar_sentences, answer, lost_updates_sentence, reached_sentence
from edgefl.results.report.sweep.estimates import estimate_columns
from edgefl.results.report.sweep.measures import goals
from edgefl.results.report.sweep.study import load


def sentences(folder, goal, key=0):
    """Return the answer on a goal, given by its title, and a key, given by its number."""
    study = load(folder)
    chosen = next(one for one in goals(study) if one.title == goal)
    return answer(study, estimate_columns(study), chosen, key)


def test_the_effect_of_a_key_from_its_lowest_to_its_highest_value(tmp_path):
    time, energy = sentences(make(tmp_path / "s", BANDWIDTHS), "to 90 %")
    pattern = (
        r"With bandwidth 200 MHz instead of 50 MHz, the {} to 90 % is multiplied by 0\.254 \(3 pairs under 3 seeds\)\."
    )
    assert re.fullmatch(pattern.format("time"), time)
    assert re.fullmatch(pattern.format("energy"), energy)


def test_an_effect_is_over_all_settings_of_the_other_keys_and_the_best_point_follows(tmp_path):
    texts = sentences(make(tmp_path / "s", BANDWIDTHS | ALGORITHMS), "to 80 %")
    assert "6 pairs under 3 seeds" in texts[0]
    assert texts[2].startswith("The lowest time to 80 % is ")
    assert "with bandwidth 200 MHz · Fed" in texts[2]
    assert "; next is bandwidth 200 MHz · FedProx, with the same value." in texts[2]


def test_key_without_effect_is_the_same(tmp_path):
    (text, *_) = sentences(make(tmp_path / "s", {"radio.bandwidth_hz": [1e8], "training.lr": [0.1, 0.2]}), "to 80 %", 1)
    assert "the time to 80 % is the same in all 3 known pairs" in text


def test_points_that_missed_a_target_are_counted(tmp_path):
    def change(values, seed):
        missed = values["radio.bandwidth_hz"] < 6e7 and seed > 1
        return NEVER if missed else {}

    folder = make(tmp_path / "s", BANDWIDTHS, change=change)
    first, _ = sentences(folder, "to 90 %")
    assert "; 200 MHz reached it in 3 of 3 pairs, 50 MHz in 1." in first
    study = load(folder)
    said = "All 9 runs reached 80 % and 7 of 9 runs reached 90 %."
    assert reached_sentence(study, estimate_columns(study), goals(study)) == said


def test_a_point_where_a_run_missed_is_not_compared_with_the_best(tmp_path):
    def change(values, seed):
        missed = values["algorithm"] != "fedavg" and seed == 1
        return NEVER if missed else {}

    folder = make(tmp_path / "s", BANDWIDTHS | ALGORITHMS, change=change)
    text = next(text for text in sentences(folder, "to 90 %", 1) if "lowest time" in text)
    assert "; next is bandwidth 100 MHz · FedAvg, +" in text


def with_losses(values, seed):
    """Two updates of twenty arrive at 50 MHz, all of them at the other bandwidths."""
    received = 2 if values["radio.bandwidth_hz"] == 50_000_000 else 20
    share = {"received": received, "received_share": received / 20, "late": 20 - received, "departed": 0, "failed": 0}
    return share | {"wasted_j": 0 if received == 20 else 1e-9}


def lost_updates(folder):
    study = load(folder)
    return lost_updates_sentence(study, estimate_columns(study))


def test_lost_updates_come_first(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS, change=with_losses)
    sentence = lost_updates(folder)
    beginning = (
        "Fewer than 95 % of the updates arrive at 1 of 3 points, fewest with bandwidth 50 MHz: 6 of 60 updates, and "
    )
    assert sentence.startswith(beginning)
    assert sentence.endswith(" of the energy there went into the others.")
    page = write([folder], folder / "report.html").read_text(encoding="utf-8")
    assert page.index("arrive at 1") < page.index('class="plot"')


def test_without_lost_updates_nothing_is_said_of_them(tmp_path):
    all_arrive = lambda *_: {"received": 20, "received_share": 1.0, "late": 0, "departed": 0, "failed": 0}  # noqa: E731
    assert lost_updates(make(tmp_path / "s", BANDWIDTHS, change=all_arrive)) == ""


def test_under_a_deadline_the_time_of_the_whole_run_is_not_compared(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS, change=with_losses)
    assert "the time of the whole run is multiplied" in " ".join(sentences(folder, "the whole run"))
    (folder / "1/seed-1/scenario.yaml").write_text("server: {policy: {kind: deadline}, deadline_s: 60}\n")
    texts = " ".join(sentences(folder, "the whole run"))
    assert "Rounds end at a deadline" in texts
    assert "the time of the whole run is multiplied" not in texts
    assert "the share of updates received changes by +90.00" in texts
    assert "the time to 80 % is multiplied by" in " ".join(sentences(folder, "to 80 %"))


def test_error_bar_of_the_best_setting_has_laws_and_seeds():
    """Values 10, 12 and 14 s under three seeds; laws leave 20 % below and 50 % above."""
    values = np.array([10.0, 12.0, 14.0])
    names = {"time_s": values, "time_low_s": 0.8 * values, "time_high_s": 1.5 * values}
    study = SimpleNamespace(numbers=names, finished_rows=[np.array([0, 1, 2])])
    column = SimpleNamespace(measure=SimpleNamespace(name="time_s", units=TIME))
    half = student.ppf(0.95, 2) * 2 / np.sqrt(3)
    low, high = 12 - np.hypot(2.4, half), 12 + np.hypot(6, half)
    (text,) = _bar_sentences(study, column, 0)
    assert text.endswith(f"and by 3 seeds, is {quantity(low, TIME)} to {quantity(high, TIME)} (90 %).")
    del names["time_high_s"]
    assert _bar_sentences(study, column, 0) == []
