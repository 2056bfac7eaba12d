"""Subtitles and differences."""

import pytest
from report_folders import with_summary

from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import load


@pytest.fixture
def runs(result):
    def build(*changes):
        return [load(result(f"run-{place}", rounds=1, **change)) for place, change in enumerate(changes)]

    return build


def test_all_differences_are_listed_in_units(runs):
    pair = runs({}, {"radio__bandwidth_hz": 50e6, "algorithm": {"kind": "fedprox", "mu": 0.01}})
    apart = describe.differences([run.scenario for run in pair])
    assert apart == {
        "algorithm.kind": ["fedavg", "fedprox"],
        "radio.bandwidth_hz": ["100 MHz", "50 MHz"],
        "algorithm.mu": ["–", "0.01"],
    }


def test_rounding_does_not_hide_a_difference(runs):
    pair = runs({"radio__bandwidth_hz": 100e6}, {"radio__bandwidth_hz": 100_000_001.0})
    apart = describe.differences([run.scenario for run in pair])
    assert apart == {"radio.bandwidth_hz": ["100000000", "100000001"]}


@pytest.mark.parametrize("policy", ["deadline", {"kind": "deadline"}])
def test_the_facts(runs, policy):
    (run,) = runs({"server__policy": policy})
    assert describe.facts(run.scenario) == [
        "fedavg",
        "digits (dirichlet, alpha 0.3)",
        "mlp",
        "10 of 100 devices a round",
        "deadline",
        "100 MHz at 3.5 GHz",
        "seed 1",
    ]


def test_shared_part_of_scenarios(runs):
    changes = {"server__participants": 20, "radio__bandwidth_hz": 50e6, "algorithm": {"kind": "fedprox", "mu": 0.3}}
    pair = runs(
        {"algorithm": {"kind": "fedasync", "mu": 0.3}}, {"data__partition": {"kind": "iid"}, "seed": 2, **changes}
    )
    shared = describe.shared([run.scenario for run in pair])
    assert describe.facts(shared) == ["digits", "mlp", "100 devices"]
    flat = dict(describe.flatten(shared))
    for run in pair:  # all of it is in both, and what is in both is in it
        assert flat.items() <= dict(describe.flatten(run.scenario)).items()
    first, second = (dict(describe.flatten(run.scenario)) for run in pair)
    assert {key for key in first if first[key] == second.get(key)} == set(flat)


def test_a_scenario_shares_all_with_itself(runs):
    (run,) = runs({})
    assert describe.shared([run.scenario]) == run.scenario
    assert describe.shared([run.scenario, run.scenario]) == run.scenario


def test_the_facts_of_an_empty_scenario():
    assert describe.facts({}) == []


def test_long_texts_are_cut():
    assert describe.cut("x" * 100) == "x" * 59 + "…"


def test_rate_has_no_unit_of_time():
    assert describe.bare("churn.arrivals_per_s") == "arrivals"
    assert describe.readable("churn.arrivals_per_s", ["0.2", "5"]) == ["0.2 /s", "5 /s"]
    assert describe.readable("churn.check_s", ["0.2", "5"]) == ["200 ms", "5 s"]


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [
        ("devices.tx_power_dbm", "10", "10 dBm"),
        ("radio.noise_dbm_hz", "-174", "−174 dBm/Hz"),
        ("radio.shadowing_db", "4", "4 dB"),
        ("mobility.speed_mps", "1.5", "1.5 m/s"),
        ("cells.radius_m", "250", "250 m"),
        ("backhaul.rate_bps", "2e7", "20 Mbit/s"),
        ("radio.rate.max_bps_hz", "7.4", "7.4 bit/s/Hz"),
        ("churn.arrivals_per_s", "2", "2 /s"),
        ("server.participants", "10", "10"),
    ],
)
def test_values_have_the_unit_of_their_key(key, text, shown):
    assert describe.readable(key, [text]) == [shown]


@pytest.mark.parametrize(
    ("kept", "text"),
    [
        (
            {"chosen_by": "validation_accuracy", "round": 22, "validation_accuracy": 0.97917, "test_accuracy": 0.93593},
            "round 22, validation accuracy 97.9 %, test accuracy 93.6 %",
        ),
        ({"chosen_by": "test_accuracy", "round": 3, "test_accuracy": 0.5}, "round 3, test accuracy 50.0 %"),
        (
            {"chosen_by": "validation_loss", "session": 2, "round": 1, "validation_loss": 0.25, "test_loss": 0.5},
            "session 2, round 1, validation loss 0.25, test loss 0.5",
        ),
        ({"chosen_by": 7}, "round None"),  # of another version
        (None, ""),
    ],
    ids=["validation", "test", "regression", "other", "none"],
)
def test_best_model_is_shown_with_its_test_result(result, kept, text):
    folder = with_summary(result(), best_model=kept)
    assert describe.best_model(load(folder)) == text


@pytest.mark.parametrize(
    ("changes", "planned"),
    [({"stop__accuracy": 0.9}, 60), ({"stop__patience": {"rounds": 5}}, 60), ({}, None)],
    ids=["accuracy", "patience", "none"],
)
def test_run_that_a_condition_has_ended_knows_the_rounds_that_were_planned(result, changes, planned):
    assert load(result(rounds=5, **changes)).stopped_before == planned
