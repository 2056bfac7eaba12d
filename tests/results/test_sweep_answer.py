"""The sentences of a sweep's report."""

import re

from sweep_folders import ALGORITHMS, BANDWIDTHS, NEVER, make

from edgefl.results.report.sweep import write
from edgefl.results.report.sweep.answer import answer, lost_updates_sentence
from edgefl.results.report.sweep.estimates import estimate_columns
from edgefl.results.report.sweep.measures import goals
from edgefl.results.report.sweep.study import load


def sentences(folder, goal, key=0):
    """Return the answer on a goal, given by its title, and a key, given by its number."""
    study = load(folder)
    chosen = next(one for one in goals(study) if one.title == goal)
    return answer(study, estimate_columns(study), chosen, key)


def test_the_effect_of_a_key_from_its_lowest_to_its_highest_value(tmp_path):
    (text,) = sentences(make(tmp_path / "s", BANDWIDTHS), "to 90 %")
    pattern = (
        r"With bandwidth raised from 50 MHz to 200 MHz, "
        r"the time to 90 % falls from .* s to .* ms \(−.* s, −74\.6 %; p .*\) "
        r"and the energy to 90 % falls from .* J to .* mJ \(−.* J, −74\.6 %; p .*\)\."
    )
    assert re.fullmatch(pattern, text)


def test_the_value_that_gives_most_of_the_saving_is_named(tmp_path):
    (text,) = sentences(make(tmp_path / "s", {"radio.bandwidth_hz": [10e6, 100e6, 150e6]}), "the whole run")
    assert text.endswith("100 MHz already gives 96 % of the time saved.")  # 1 / 101 of 1 / 11, and that of 1 / 151


def test_few_settings_have_a_sentence_each_and_the_best_point_follows(tmp_path):
    texts = sentences(make(tmp_path / "s", BANDWIDTHS | ALGORITHMS), "to 80 %")
    assert texts[0].startswith("With FedAvg and bandwidth raised from 50 MHz to 200 MHz, the time to 80 % falls")
    assert texts[1].startswith("With FedProx and bandwidth")
    assert texts[2].startswith("The lowest time to 80 % is ")
    assert "bandwidth 200 MHz · Fed" in texts[2]


def test_many_settings_share_one_sentence(tmp_path):
    grid = BANDWIDTHS | {"training.lr": [0.1, 0.2, 0.3, 0.4]}
    texts = sentences(make(tmp_path / "s", grid), "the whole run")
    assert texts[0].startswith(
        "With bandwidth raised from 50 MHz to 200 MHz, at 4 settings of the other keys, "
        "the time of the whole run changes by −75 %"
    )


def test_key_without_effect_stays_at_its_value(tmp_path):
    (text, *_) = sentences(make(tmp_path / "s", {"radio.bandwidth_hz": [1e8], "training.lr": [0.1, 0.2]}), "to 80 %", 1)
    assert "the time to 80 % stays at" in text


def test_points_that_missed_a_target_are_named(tmp_path):
    def change(values, seed):
        missed = values["radio.bandwidth_hz"] < 6e7 and seed > 1
        return NEVER if missed else {}

    folder = make(tmp_path / "s", BANDWIDTHS, change=change)
    first, second = sentences(folder, "to 90 %")
    assert "time to 90 % goes from > " in first
    assert second == "Not all runs reached 90 %: 1 of 3 with bandwidth 50 MHz did."


def test_equal_medians_stay_where_they_are(tmp_path):
    """Two medians have no paired difference, but they can be equal."""
    grid = {"radio.bandwidth_hz": [1e8], "training.lr": [0.1, 0.2]}
    folder = make(tmp_path / "s", grid, change=lambda _, seed: NEVER if seed == 1 else {})
    first, *_ = sentences(folder, "to 90 %", 1)
    assert re.search(r"the time to 90 % stays at median \S+ s \(2 of 3\)", first), first


def test_a_point_where_a_run_missed_is_not_compared_with_the_best(tmp_path):
    def change(values, seed):
        missed = values["algorithm"] != "fedavg" and seed == 1
        return NEVER if missed else {}

    folder = make(tmp_path / "s", BANDWIDTHS | ALGORITHMS, change=change)
    text = next(text for text in sentences(folder, "to 90 %", 1) if "lowest time" in text)
    assert text.startswith("Where all runs reached 90 %, the lowest time to 90 % is ")
    assert "Next is bandwidth 100 MHz · FedAvg (+" in text


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
    assert sentence.startswith("6 of 60 updates arrive at bandwidth 50 MHz, and ")
    assert sentence.endswith(" of the energy there went into the others.")
    page = write(folder, folder / "report.html").read_text(encoding="utf-8")
    assert page.index("arrive at bandwidth 50") < page.index('class="plot"')


def test_many_places_with_lost_updates_are_summarised(tmp_path):
    grid = BANDWIDTHS | {"server.participants": [1, 2, 3, 4]}
    sentence = lost_updates(make(tmp_path / "s", grid, change=with_losses))
    assert sentence.startswith("Fewer than 95 % of the updates arrive at 4 of 12 points; fewest at bandwidth 50 MHz · ")
    assert sentence.endswith("60 of 60 updates.")


def test_without_lost_updates_nothing_is_said_of_them(tmp_path):
    all_arrive = lambda *_: {"received": 20, "received_share": 1.0, "late": 0, "departed": 0, "failed": 0}  # noqa: E731
    assert lost_updates(make(tmp_path / "s", BANDWIDTHS, change=all_arrive)) == ""


def test_under_a_deadline_the_time_of_the_whole_run_is_not_compared(tmp_path):
    folder = make(tmp_path / "s", BANDWIDTHS, change=with_losses)
    assert "the time of the whole run falls" in " ".join(sentences(folder, "the whole run"))
    (folder / "1/seed-1/scenario.yaml").write_text("server: {policy: {kind: deadline}, deadline_s: 60}\n")
    texts = " ".join(sentences(folder, "the whole run"))
    assert "Rounds end at a deadline" in texts
    assert "the time of the whole run falls" not in texts
    assert "the share of updates received rises from 10.00" in texts
    assert "the time to 80 % falls" in " ".join(sentences(folder, "to 80 %"))
