"""Labels, subtitles and differences."""

import pytest

from edgefl.results.report.shared import describe
from edgefl.results.report.shared.read import load


@pytest.fixture
def runs(result):
    def build(*changes):
        return [load(result(f"run-{place}", rounds=1, **change)) for place, change in enumerate(changes)]

    return build


def test_different_names_are_labels(runs):
    assert describe.labels(runs({"name": "a"}, {"name": "b"})) == ["a", "b"]


def test_different_names_are_labels_with_their_seeds_where_these_differ_too(runs):
    assert describe.labels(runs({"name": "a"}, {"name": "b", "seed": 7})) == ["a · seed 1", "b · seed 7"]


def test_one_run(runs):
    assert describe.labels(runs({})) == ["quickstart · seed 1"]


def test_the_same_name_is_told_apart_by_the_keys_that_differ(runs):
    labels = describe.labels(runs({}, {"radio__bandwidth_hz": 50e6}))
    assert labels == ["bandwidth 100 MHz", "bandwidth 50 MHz"]


def test_the_same_name_is_told_apart_by_the_seed(runs):
    assert describe.labels(runs({}, {"seed": 2})) == ["seed 1", "seed 2"]


def test_keys_and_seed(runs):
    labels = describe.labels(runs({}, {"seed": 2, "training__lr": 0.2}))
    assert labels == ["lr 0.1 · seed 1", "lr 0.2 · seed 2"]


def test_some_names_the_same(runs):
    labels = describe.labels(runs({}, {"training__lr": 0.2}, {"name": "other", "training__batch_size": 5}))
    assert labels == ["quickstart · lr 0.1", "quickstart · lr 0.2", "other"]


def test_label_names_block_of_kind_and_skips_missing_keys(runs):
    labels = describe.labels(runs({}, {"algorithm": {"kind": "fedprox", "mu": 0.01}}))
    assert labels == ["algorithm fedavg", "algorithm fedprox · mu 0.01"]


def test_folder_of_outside_member_is_not_a_difference(runs):
    labels = describe.labels(runs({}, {"algorithm": {"kind": "my_nova:MyNova"}, "import_from": ["/home/me"]}))
    assert labels == ["algorithm fedavg", "algorithm my_nova:MyNova"]


def test_equal_runs_are_numbered(runs):
    assert describe.labels(runs({}, {})) == ["quickstart · seed 1 (1)", "quickstart · seed 1 (2)"]


def test_labels_are_never_the_same(runs):
    every = runs({}, {}, {"seed": 2}, {"training__lr": 0.2}, {"name": "quickstart · seed 1 (1)"})
    labels = describe.labels(every)
    assert len(set(labels)) == len(every)


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
