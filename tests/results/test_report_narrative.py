"""The narrative of a run, in sentences."""

from report_folders import POPULATION, with_rounds
from result_folders import rewrite

from edgefl.results.report.page import render
from edgefl.results.report.run import narrative
from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import ENERGY_PHASES


def test_story_names_movement_and_result(result):
    run = load(result())
    text = " ".join(narrative.sentences(run))
    assert "100 devices went from one random point to the next at 10 m/s around one base station" in text
    assert "60 rounds in" in text
    assert "trained mlp on digits by fedavg; the accuracy went from" in text
    assert "every update was used" in text
    assert "came and went" not in text


def test_story_names_arrivals_and_losses(result):
    folder = with_rounds(result(churn={"kind": "poisson"}), **POPULATION, handovers=lambda _: 2)
    folder = with_rounds(folder, battery=lambda n: 1 - n / 100, depleted=lambda n: n // 30)
    folder = rewrite(folder, "devices.csv", lambda row: {"status": "late" if row["round"] == "7" else "received"})
    run = load(folder)
    text = " ".join(narrative.sentences(run))
    came, left = (int(run.rounds[name].sum()) for name in ("arrivals", "departures"))
    assert f"(poisson): 50 to 56 of them were present when a round began; {came} arrivals, {left} departures" in text
    assert "handed devices over 120 times" in text
    assert "at 99 % after the first round and at 40 % at the end; 2 devices had no charge left at the end" in text
    spent = sum(run.devices[phase.column] for phase in ENERGY_PHASES)
    share = 100 * spent[run.devices["round"] == 7].sum() / spent.sum()
    assert f"{share:.1f} % of it for the 10 participations whose update was not used: 10 late." in text


def test_story_names_devices_with_charge(result):
    some = load(with_rounds(result("some"), present=lambda n: 40 + n))
    assert "41 to 100 of them could take part when a round began." in narrative.sentences(some)
    every = load(with_rounds(result("every"), present=lambda _: 100))
    assert "could take part" not in " ".join(narrative.sentences(every))


def test_numbers_keep_their_units(result):
    page = render([load(result(rounds=20))])
    assert "20\N{NO-BREAK SPACE}rounds in" in page


def test_poll_is_not_a_lost_update(result):
    ends = {"2": "polled", "3": "late"}
    folder = rewrite(result(rounds=4), "devices.csv", lambda row: {"status": ends.get(row["round"], "received")})
    text = " ".join(narrative.sentences(load(folder)))
    assert "to report losses without being chosen" in text
    assert "whose update was not used: 10 late." in text


def test_targets(result):
    text = " ".join(narrative.sentences(load(result(rounds=20, targets=[0.8, 0.99]))))
    assert "80 % took" in text
    assert "not reached: 99 %" in text


def test_the_highest_target_counts_in_any_order(result):
    text = " ".join(narrative.sentences(load(result(targets=[0.9, 0.5]))))
    assert "and 90 % took" in text
    assert "50 %" not in text


def test_a_priced_run(result):
    assert "priced, without any learning" in " ".join(narrative.sentences(load(result(kind="none"))))


def test_run_without_rounds_has_no_story(result):
    assert narrative.sentences(load(result(rounds=0, status="interrupted"))) == []


def test_names_of_scenario_stay_text(result):
    page = render([load(result(mobility={"kind": "<b>fly</b>"}))])
    assert "moved (&lt;b&gt;fly&lt;/b&gt;)" in page


def test_sentences_name_what_stays_the_same(result):
    folder = with_rounds(result(), battery=lambda _: 0.75, depleted=lambda _: 0, test_accuracy=lambda _: 0.5)
    text = " ".join(narrative.sentences(load(folder)))
    assert "The mean battery stayed near 75 %; none was empty." in text
    assert "the accuracy ended where it began, at 50.0 %" in text
