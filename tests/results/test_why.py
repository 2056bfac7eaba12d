"""Why runs take more or less: parts add up to totals, factors multiply to ratios, sentences of made-up pairs."""

import functools
import json

import pytest
from made_up_rounds import a_run, device
from server_cases import BASE, POLICIES, SEVEN_CELLS, SEVEN_CELLS_RADIO

import edgefl
from edgefl.cli import main
from edgefl.records.columns import ENERGY_COLUMNS
from edgefl.results.report.page import render
from edgefl.results.report.why import decomposition, sentences
from edgefl.results.report.why.sentences import Side

ROAMING = ["radio.sharing=processor", "churn={kind: poisson, arrivals_per_s: 3.0, stay_s: {weibull: [20.0, 0.7]}}"]
FILES = {
    "split": ("12-split-learning", []),
    "split_in_turns": ("12-split-learning", ["server.policy.mode=sequential", "server.participants=4"]),
    "handover_with_churn": ("19-handover", ROAMING),
    "handover_without_rounds": ("19-handover", [*ROAMING, "server.policy=asynchronous"]),
}
SCENARIOS = {
    **{name: {"server": {"participants": 6, **server}} for name, server in POLICIES.items()},
    "cells": {"cells": SEVEN_CELLS, "radio": SEVEN_CELLS_RADIO, "server": {"participants": 14}},
    "cells_energy": {"cells": {**SEVEN_CELLS, "energy": {"static_w": 112, "slope": 2.6}}, "radio": SEVEN_CELLS_RADIO},
    "evaluation": {"server": {"participants": 4, "device_evaluation": {}}},
    "reports": {"server": {"participants": 4, "selection": "best_channel", "csi": "perfect"}},
    "set_up": {"server": {"participants": 4}, "devices": {**BASE["devices"], "setup_s": 0.5, "setup_j": 2.0}},
}


@functools.cache
def run_of(name):
    if name in FILES:
        file, overrides = FILES[name]
        return edgefl.run(f"scenarios/{file}.yaml", overrides=["rounds=2", *overrides], train=False, device="cpu")
    return edgefl.run({**BASE, "rounds": 3, **SCENARIOS[name]}, train=False, device="cpu")


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*SCENARIOS, *FILES])
def test_parts_add_up_to_the_time_and_energy_of_the_summary(name):
    result = run_of(name)
    parts = decomposition.whole(result.as_run())
    assert parts.time.total == pytest.approx(result.summary["time_s"], rel=1e-9)
    assert parts.energy.total == pytest.approx(result.summary["energy_j"], rel=1e-9)
    assert min(parts.time_s.values()) >= -1e-9 * parts.time.total
    assert min(parts.energy_j.values()) >= 0
    assert sum(parts.time_s.values()) == pytest.approx(result.summary["time_s"], rel=1e-9)
    assert sum(parts.energy_j.values()) == pytest.approx(result.summary["energy_j"], rel=1e-9)
    # The busy device, not waiting, makes the round: no part of the critical path is lost to the remainder.
    if name in {"synchronous", "cells", "asynchronous", "sequential"}:
        assert parts.time_s["wait"] <= 0.01 * parts.time.total


def test_parts_cover_all_energy_of_devices():
    assert set(decomposition.ENERGY_PARTS.values()) == set(ENERGY_COLUMNS)


def test_parts_up_to_a_target_are_those_of_its_rounds():
    costs = [{"tx_energy_j": up} for up in (1.0, 2.0, 3.0, 4.0)]
    rounds = [[device(0, 1, 1, up["tx_energy_j"], **up)] for up in costs]
    parts = decomposition.to_target(a_run(rounds, accuracies=[0.1, 0.5, 0.9, 0.95]), 0.5)
    assert (parts.rounds, parts.participations) == (2, 2)
    assert (parts.time.total, parts.energy.total) == (7, 3)
    assert decomposition.to_target(a_run(rounds, accuracies=[0.1, 0.5, 0.9, 0.95]), 0.96) is None


def test_time_is_that_of_the_device_that_each_round_waits_for():
    run = a_run([[device(0, 1, 1, 8), device(1, 2, 1, 1)], [device(0, 1, 1, 1), device(1, 1, 7, 2)]])
    times_s = decomposition.whole(run).time_s
    assert times_s == {"setup": 0, "download": 2, "compute": 8, "upload": 10, "wait": 0, "evaluation": 0}


def test_device_that_receives_during_anothers_turn_takes_no_time_of_its_own():
    # The second download of 2 s lies within the upload of the first.
    run = a_run([[device(0, 1, 2, 2), device(1, 2, 2, 1, begins=3.0)]], server__policy="sequential")
    times_s = decomposition.whole(run).time_s
    assert times_s == {"setup": 0, "download": 1, "compute": 4, "upload": 3, "wait": 0, "evaluation": 0}


def test_chain_of_updates_goes_back_to_the_beginning_of_the_run():
    # Device 1 begins with the run and ends the second round, so device 0, which ends the first, costs no time.
    run = a_run([[device(0, 1, 1, 1)], [device(1, 1, 4, 2, begins=-3.0, wait_s=0.0)]])
    run.rounds["time_s"][1] = 7.0
    run.rounds["duration_s"][1] = 4.0
    parts = decomposition.whole(run)
    assert not parts.in_rounds
    assert parts.time_s == {"setup": 0, "download": 1, "compute": 4, "upload": 2, "wait": 0, "evaluation": 0}


def a_method(label, rounds, megabytes, download_s, upload_s, *, compute_s=0.5, accuracy=0.88, **changes):
    """A method whose last round reaches an accuracy; each participant costs 1 J to compute and 1 J each s to send."""
    costs = {"bytes_down": megabytes * 10**6, "bytes_up": megabytes * 10**6}
    costs |= {"cpu_energy_j": 1.0, "tx_energy_j": upload_s}
    participants = [device(number, download_s, compute_s, upload_s, **costs) for number in range(2)]
    accuracies = [0.5] * (rounds - 1) + [accuracy]
    return Side(label, [a_run([participants] * rounds, accuracies=accuracies, **changes)])


FEDAVG = a_method("FedAvg", 7, 2.0, 0.27, 1.5)
SCAFFOLD = a_method("SCAFFOLD", 6, 4.0, 0.54, 3.0, algorithm__kind="scaffold")


def test_bytes_of_scaffold_are_the_cause_of_its_longer_rounds():
    assert sentences.of_pair(SCAFFOLD, FEDAVG, [0.88]) == (
        "To 88 %, SCAFFOLD takes 1.53 times as long as FedAvg: 6 rounds instead of 7, of 4.04 s instead of 2.27 s, "
        "because it sends 4 MB instead of 2 MB each way. It takes 1.37 times as much energy: "
        "12 participations instead of 14, of 4 J instead of 2.5 J (upload 3 J instead of 1.5 J)."
    )


def test_equal_factors_are_named_once():
    text = sentences.of_pair(Side("Other", FEDAVG.runs), FEDAVG, [0.88])
    assert text == (
        "To 88 %, Other takes as long as FedAvg: 7 rounds of 2.27 s each. "
        "It takes as much energy: 14 participations of 2.5 J each."
    )


def test_labels_with_commas_are_quoted():
    text = sentences.of_pair(Side("SCAFFOLD, 20 MHz", SCAFFOLD.runs), FEDAVG, [0.88])
    assert text.startswith("To 88 %, “SCAFFOLD, 20 MHz” takes 1.53 times as long as FedAvg:")


def test_key_that_differs_is_named_for_the_part_that_it_acts_on():
    narrow = a_method("narrow", 7, 2.0, 0.54, 3.0, radio__bandwidth_hz=50e6)
    text = sentences.of_pair(narrow, FEDAVG, [0.88])
    assert (
        "7 rounds each, of 4.04 s instead of 2.27 s, because radio.bandwidth_hz is 50 MHz instead of 100 MHz." in text
    )
    # Computing does not depend on the band: its time stays without a cause.
    slow = a_method("slow", 7, 2.0, 0.27, 1.5, compute_s=3.0, radio__bandwidth_hz=50e6)
    text = sentences.of_pair(slow, FEDAVG, [0.88])
    assert "because" not in text
    assert "of 4.77 s instead of 2.27 s (computing 3 s instead of 0.5 s)." in text


def test_policy_acts_on_all_parts_of_a_round():
    early = a_method("early", 7, 2.0, 0.2, 0.8, server__deadline_s=1.5)
    assert ", because server.deadline_s is 1.5 s instead of none." in sentences.of_pair(early, FEDAVG, [0.88])
    late = a_method("late", 7, 2.0, 0.27, 1.5, server__deadline_s=3)
    text = sentences.of_pair(early, late, [0.88])
    assert "7 rounds each, of 1.5 s instead of 2.27 s, because server.deadline_s is 1.5 s instead of 3 s" in text


def test_of_many_keys_only_the_sections_are_named():
    changes = {"radio__bandwidth_hz": 50e6, "radio__carrier_hz": 2e9, "cells__radius_m": 500.0}
    text = sentences.of_pair(a_method("far", 7, 2.0, 0.54, 3.0, **changes), FEDAVG, [0.88])
    assert ", because 3 keys of cells, radio differ." in text


def test_without_a_cause_the_sentence_stops_at_the_numbers():
    text = sentences.of_pair(a_method("other", 7, 2.0, 0.27, 3.0), FEDAVG, [0.88])
    assert "of 3.77 s instead of 2.27 s (upload 3 s instead of 1.5 s)." in text


def test_smaller_messages_do_not_explain_longer_transfers():
    text = sentences.of_pair(a_method("other", 7, 1.0, 0.27, 3.0), FEDAVG, [0.88])
    assert "MB" not in text


def test_shorter_rounds_have_their_causes_too():
    text = sentences.of_pair(FEDAVG, SCAFFOLD, [0.88])
    assert "7 rounds instead of 6, of 2.27 s instead of 4.04 s, because it sends 2 MB instead of 4 MB each way" in text


def test_rounds_are_compared_if_a_target_was_missed():
    missed = a_method("other", 6, 4.0, 0.54, 3.0, accuracy=0.6)
    text = sentences.of_pair(missed, FEDAVG, [0.88])
    assert text.startswith(
        "other did not reach 88 %. A round of other takes 1.78 times as long as one of FedAvg: 4.04 s"
    )
    assert "A participation takes 1.6 times as much energy: 4 J instead of 2.5 J" in text


def test_lost_updates_are_counted():
    participants = [device(0, 0.27, 0.5, 1.5), device(1, 0.27, 0.5, 0.0, status="departed")]
    lossy = Side("lossy", [a_run([participants] * 7, accuracies=[0.5] * 6 + [0.88])])
    assert "50 % of its updates are used instead of 100 %" in sentences.of_pair(lossy, FEDAVG, [0.88])


def test_seeds_count_with_their_means():
    two = Side("SCAFFOLD", [SCAFFOLD.runs[0], a_method("", 8, 4.0, 0.54, 3.0, seed=2).runs[0]])
    text = sentences.of_pair(two, Side("FedAvg", FEDAVG.runs * 2), [0.88])
    assert text.startswith("Means over 2 seeds: To 88 %, SCAFFOLD takes 1.78 times as long as FedAvg: 7 rounds each")


def test_sentence_of_a_run_has_its_parts():
    run = SCAFFOLD.runs[0]
    assert sentences.of_run(run) == (
        "6 rounds of 4.04 s (upload 3 s, download 540 ms, computing 500 ms); "
        "12 participations of 4 J (upload 3 J, computing 1 J)."
    )


def test_page_of_several_runs_begins_with_the_reasons():
    runs = [FEDAVG.runs[0], SCAFFOLD.runs[0]]
    page = render(runs)
    reason = "because it sends 4\N{NO-BREAK SPACE}MB instead of 2\N{NO-BREAK SPACE}MB each way"
    assert page.count(reason) == 1
    assert page.index(reason) < page.index('id="runs"')
    assert 'id="why"' not in render(runs[:1])


@pytest.mark.oracle
def test_compare_has_reasons_and_parts(tmp_path, capsys):
    folders = []
    for name, band_hz in (("wide", 20e6), ("narrow", 5e6)):
        folders.append(str(tmp_path / name))
        scenario = {**BASE, "radio": {**BASE["radio"], "bandwidth_hz": band_hz}}
        edgefl.run({**scenario, "server": {"participants": 6}}, train=False, out=folders[-1])
    assert main(["compare", *folders]) == 0
    text = capsys.readouterr().out
    assert "because radio.bandwidth_hz is 5 MHz instead of 20 MHz" in text[text.index("\nWhy\n") :].replace("\n", " ")
    assert main(["compare", *folders, "--format", "json"]) == 0
    for row in json.loads(capsys.readouterr().out):
        assert sum(row[f"{part}_s"] for part in decomposition.TIME_PARTS) == pytest.approx(row["time_s"], rel=1e-9)
        parts = (*decomposition.ENERGY_PARTS, decomposition.OTHERS)
        assert sum(row[f"{part}_energy_j"] for part in parts) == pytest.approx(row["energy_j"], rel=1e-9)
    assert main(["compare", *folders, "--format", "markdown"]) == 0
    assert "**Why**" in capsys.readouterr().out
