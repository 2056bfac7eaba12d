"""Evaluations on devices: costs in closed form, their rows, and unchanged learning."""

import numpy as np
import pytest
from radio_cases import DEVICE_W, NOISE_W_HZ, SERVER_W, SLOT_S, still_slots
from server_cases import BAND_HZ, BASE, ENERGY, FLOPS, POLICIES, TIMES, presence_trace, run

import edgefl
import edgefl.gym
from edgefl.runs.assembly import build
from edgefl.runs.emulation import silent
from edgefl.scenario import load

MODEL_BITS = 32 * 20_000
ANSWER_BITS = 32
IDLE_W = 0.05
NEAR_J = 20 * 0.3 * 1e-6 * 0.0005  # as in the tests of batteries
ROUNDS = ["synchronous", "deadline", "over_selection", "sequential", "hierarchical"]
DEVICES = {**BASE["devices"], "idle_power_w": IDLE_W}
EVALUATION = ["evaluated", "evaluation_failed"]


def evaluating(policy="synchronous", *, train=False, server=None, evaluation=None, **changes):
    """A run whose rounds end with an evaluation."""
    return run({**POLICIES[policy], **(server or {}), "device_evaluation": evaluation or {}}, train=train, **changes)


def world_of(result):
    scenario = {**result.scenario, "server": {}}  # polls would need learning
    return build(load(scenario), "cpu", train=False, progress=silent)


def by_kind(result):
    """Return the participations and the evaluations of a run."""
    is_evaluation = result.devices["status"].isin(EVALUATION)
    return result.devices[~is_evaluation], result.devices[is_evaluation]


def samples_of(result, share):
    """Return on how many samples [devices] each device evaluates."""
    return np.maximum(np.round(share * world_of(result).payload.samples), 1)


def phases_s(result, rows, share_hz, *, share=0.1, answer_bits=ANSWER_BITS):
    """Return the seconds [n, 3] of the download, the forward passes and the answer of some rows, in closed form."""
    device = rows["device"].to_numpy()
    passes = samples_of(result, share)[device] * FLOPS / 3  # a pass forward is a third of a step on a sample
    down_s, up_s = (
        [
            SLOT_S * still_slots(bits, share_hz, power_w * 10 ** (-loss_db / 10) / NOISE_W_HZ / share_hz)
            for loss_db in rows["pathloss_db"]
        ]
        for bits, power_w in ((MODEL_BITS, SERVER_W), (answer_bits, DEVICE_W))
    )
    return np.stack([down_s, passes / world_of(result).world.cpu_hz[device], up_s], axis=1)


def spent_j(rows):
    return rows[ENERGY].sum(axis=1)


# What it costs


@pytest.mark.parametrize("keys", [{}, {"samples": 0.5, "answer_bits": 10**6}, {"samples": 1e-9}])
def test_the_phase_lasts_as_long_as_the_slowest_needs(keys):
    """It comes on top of the round: bits over rate, operations over speed, the answer over rate."""
    result = evaluating(evaluation=keys)
    parts, evaluations = by_kind(result)
    needed_s = phases_s(
        result, evaluations, BAND_HZ / 6, share=keys.get("samples", 0.1), answer_bits=keys.get("answer_bits", 32)
    )
    assert evaluations[TIMES].to_numpy() == pytest.approx(needed_s)
    lasted_s = needed_s.sum(axis=1).reshape(4, 6).max(axis=1)
    assert result.rounds["evaluation_s"].to_numpy() == pytest.approx(lasted_s)
    training_s = parts[TIMES].sum(axis=1).to_numpy().reshape(4, 6).max(axis=1)
    assert result.rounds["duration_s"].to_numpy() == pytest.approx(training_s + lasted_s)
    assert result.rounds["evaluated"].tolist() == [6] * 4
    assert (evaluations["bytes_down"] == MODEL_BITS / 8).all()
    assert (evaluations["bytes_up"] == keys.get("answer_bits", 32) // 8).all()


def test_device_evaluates_on_at_least_one_sample():
    result = evaluating(evaluation={"samples": 1e-9})
    assert (samples_of(result, 1e-9) == 1).all()
    assert world_of(result).payload.samples.min() > 1


@pytest.mark.oracle
@pytest.mark.parametrize("name", ROUNDS)
def test_training_is_unchanged_and_all_costs_are_recorded(name):
    result = evaluating(name, devices=DEVICES)
    alone = run(POLICIES[name], devices=DEVICES)
    parts, evaluations = by_kind(result)
    rounds = result.rounds
    names = ["round", "device", "status"]
    assert parts[names].reset_index(drop=True).equals(alone.devices[names])
    # Those that are cut have last digits of the clock in their times.
    costs = [*TIMES, "bytes_down", "bytes_up", "rx_energy_j", "cpu_energy_j", "tx_energy_j"]
    assert parts[costs].to_numpy() == pytest.approx(alone.devices[costs].to_numpy(), abs=1e-12)
    assert (rounds["duration_s"] - rounds["evaluation_s"]).tolist() == pytest.approx(
        alone.rounds["duration_s"].tolist()
    )
    received = parts[parts["status"] == "received"]
    assert evaluations[["round", "device"]].to_numpy().tolist() == received[["round", "device"]].to_numpy().tolist()
    assert rounds["evaluated"].tolist() == alone.rounds["received"].tolist()

    sums = result.devices.groupby("round")
    assert rounds["round_energy_j"].tolist() == pytest.approx(sums[ENERGY].sum().sum(axis=1).tolist())
    assert rounds["energy_j"].tolist() == pytest.approx(rounds["round_energy_j"].cumsum().tolist())
    assert rounds["evaluation_energy_j"].tolist() == pytest.approx(
        spent_j(evaluations).groupby(evaluations["round"]).sum().tolist()
    )
    for way in ("bytes_down", "bytes_up"):
        assert rounds[way].tolist() == sums[way].sum().tolist()
        assert result.summary[way] == result.devices[way].sum()
    unchanged = ["selected", "received", "late", "departed", "failed"]
    assert rounds[unchanged].equals(alone.rounds[unchanged])
    # A device waits from the end of its evaluation to that of the round.
    ends_s = evaluations["start_s"] + evaluations[[*TIMES, "wait_s"]].sum(axis=1)
    assert ends_s.to_numpy() == pytest.approx(rounds["time_s"].to_numpy()[evaluations["round"] - 1])
    assert evaluations["idle_energy_j"].to_numpy() == pytest.approx(IDLE_W * evaluations["wait_s"].to_numpy())


def test_time_before_an_evaluation_does_not_count_twice():
    """A device waits for the slowest update, and then for the slowest answer: never twice at once."""
    result = evaluating(devices=DEVICES)
    lasted_s = result.devices.groupby(["round", "device"])[[*TIMES, "wait_s"]].sum().sum(axis=1)
    assert lasted_s.to_numpy() == pytest.approx(np.repeat(result.rounds["duration_s"].to_numpy(), 6))


def test_without_the_key_results_have_no_evaluation():
    result = run({})
    assert not {"evaluation_s", "evaluated", "evaluation_energy_j"} & set(result.rounds.columns)
    assert result.scenario["server"]["device_evaluation"] is None


# Who evaluates, and when


@pytest.mark.parametrize("every", [2, 3])
def test_evaluation_comes_every_few_rounds(every):
    result = evaluating(evaluation={"every": every}, rounds=7)
    alone = run({}, rounds=7)
    due = result.rounds["round"] % every == 0
    assert (result.rounds["evaluated"] == np.where(due, 6, 0)).all()
    assert (result.rounds["evaluation_s"] > 0).equals(due)
    assert result.rounds["duration_s"][~due].to_numpy() == pytest.approx(alone.rounds["duration_s"][~due].to_numpy())


def test_extra_rounds_of_sessions_have_none():
    sessions = {"count": 3, "rounds": 2, "initialisation": {"kind": "proposed", "history": 2}}
    partition = {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.3}}
    result = evaluating(rounds=None, sessions=sessions, data=partition, evaluation={"every": 2})
    rounds = result.rounds
    assert (rounds["round"] < 1).any()
    assert (rounds["evaluated"] > 0).equals(rounds["round"] == 2)
    assert rounds["session"].unique().tolist() == [1, 2, 3]


def test_devices_that_left_between_update_and_evaluation_are_not_asked(tmp_path):
    first = evaluating(rounds=1).devices
    parts = first[first["status"] == "received"].set_index("device")
    began_s = first[first["status"] == "evaluated"]["start_s"].iloc[0]
    early = parts[TIMES].sum(axis=1).idxmin()
    leaves_s = float(parts.loc[early, TIMES].sum() + began_s) / 2
    rows = [(device, 0.0, leaves_s if device == early else 9.0) for device in range(20)]
    result = evaluating(rounds=1, churn=presence_trace(tmp_path, rows))
    assert result.rounds[["received", "evaluated"]].to_numpy().tolist() == [[6, 5]]
    _, evaluations = by_kind(result)
    assert early not in evaluations["device"].to_numpy()


def test_a_device_that_was_polled_and_not_chosen_downloads_the_new_model_as_others_do():
    selection = {"kind": "power_of_choice", "d": 12}
    result = evaluating(train=True, rounds=1, server={"selection": selection}, evaluation={"devices": "present"})
    _, evaluations = by_kind(result)
    assert (result.devices["status"] == "polled").sum() == 6
    assert len(evaluations) == 20
    assert evaluations[TIMES].to_numpy() == pytest.approx(phases_s(result, evaluations, BAND_HZ / 20))


def test_payload_sent_once_comes_with_the_first_model_of_either_kind():
    """A teacher of the session: to those that evaluate before they train, with that model, and never again."""
    sessions = {"count": 2, "rounds": 3, "initialisation": {"kind": "continuous"}}
    keys = {"rounds": None, "sessions": sessions, "devices": {**BASE["devices"], "count": 6}}
    result = evaluating(evaluation={"devices": "present"}, server={"participants": 2}, **keys)
    alone = run({"participants": 6}, **keys)
    extra = [
        of.devices.assign(more=of.devices["bytes_down"] - MODEL_BITS // 8).groupby(["session", "device"])["more"].sum()
        for of in (result, alone)
    ]
    assert extra[0].tolist() == extra[1].tolist()
    assert extra[0].max() > 0


# What may go wrong meanwhile


def leaving_in_the_phase(tmp_path, **changes):
    """A run of a round whose last evaluation is cut in the middle of its computing; return it, and the device, when."""
    first = evaluating(rounds=1, devices=DEVICES).devices
    slowest = first[first["status"] == "evaluated"].set_index("device")[TIMES].sum(axis=1).idxmax()
    row = first[(first["status"] == "evaluated") & (first["device"] == slowest)].iloc[0]
    off_s = float(row["start_s"] + row["download_s"] + row["compute_s"] / 2)
    rows = [(device, 0.0, off_s if device == slowest else 9.0) for device in range(20)]
    return evaluating(rounds=1, churn=presence_trace(tmp_path, rows), **changes), slowest, off_s


@pytest.mark.parametrize("battery", [None, {"capacity_j": 1.0}], ids=["mains", "battery"])
def test_device_that_leaves_drops_out_of_the_evaluation(tmp_path, battery):
    devices = {**DEVICES, "battery": battery} if battery else DEVICES
    result, slowest, off_s = leaving_in_the_phase(tmp_path, devices=devices)
    _, evaluations = by_kind(result)
    failed = evaluations[evaluations["status"] == "evaluation_failed"]
    assert failed["device"].tolist() == [slowest]
    assert failed["start_s"].item() + failed[TIMES].sum(axis=1).item() == pytest.approx(off_s)
    assert failed["wait_s"].item() == 0
    assert failed["upload_s"].item() == 0
    rounds = result.rounds
    assert rounds[["received", "evaluated", "departed", "failed"]].to_numpy().tolist() == [[6, 5, 0, 0]]
    assert rounds["departures"].item() == 1
    assert rounds["wasted_j"].item() == 0
    departed = result.events[result.events["kind"] == "departed"]
    assert departed["device"].tolist() == [slowest]
    others_end_s = (evaluations["start_s"] + evaluations[TIMES].sum(axis=1)).max()
    assert rounds["time_s"].item() == pytest.approx(others_end_s)
    if battery:
        assert unexplained_j(result) == pytest.approx(0, abs=NEAR_J)


def test_devices_that_complete_answer_out_of_sight(tmp_path):
    result, _, _ = leaving_in_the_phase(tmp_path, server={"on_departure": "completes"})
    assert result.rounds["evaluated"].tolist() == [6]


@pytest.mark.parametrize("policy", ["synchronous", "deadline"])
def test_deadline_of_the_section_ends_the_evaluation(policy):
    """Missing answers are cut off then; training has another deadline."""
    deadline_s = 0.05
    whole = evaluating(policy)
    result = evaluating(policy, evaluation={"deadline_s": deadline_s})
    _, evaluations = by_kind(result)
    _, needed = by_kind(whole)
    needed_s = needed[TIMES].sum(axis=1).to_numpy()
    late = needed_s > deadline_s
    assert 0 < late.sum() < late.size
    assert (evaluations["status"] == "evaluation_failed").tolist() == late.tolist()
    assert evaluations[TIMES].sum(axis=1).to_numpy() == pytest.approx(np.minimum(needed_s, deadline_s))
    longest_s = whole.rounds["evaluation_s"].to_numpy()
    assert result.rounds["evaluation_s"].to_numpy() == pytest.approx(np.minimum(longest_s, deadline_s))
    assert result.rounds["late"].equals(whole.rounds["late"])
    assert result.rounds["evaluated"].sum() == (~late).sum()


def test_an_answer_at_the_deadline_is_in_time():
    whole = evaluating(rounds=1)
    longest_s = whole.rounds["evaluation_s"].item()
    events = whole.events.set_index("kind")["time_s"]
    assert events["evaluation_start"] + longest_s == events["round_end"]  # not only on paper
    assert evaluating(rounds=1, evaluation={"deadline_s": longest_s}).rounds["evaluated"].tolist() == [6]
    assert evaluating(rounds=1, evaluation={"deadline_s": longest_s - 1e-9}).rounds["evaluated"].tolist() == [5]


def test_failed_transfers_end_an_evaluation_and_no_training():
    faults = {"failure_probability": 0.4, "attempts": 1}
    result = evaluating(radio={**BASE["radio"], "faults": faults}, rounds=6)
    parts, evaluations = by_kind(result)
    failed = evaluations["status"] == "evaluation_failed"
    assert 0 < failed.sum() < len(evaluations) == (parts["status"] == "received").sum()
    assert result.rounds["failed"].sum() == parts["status"].isin(["download_failed", "upload_failed"]).sum()
    assert result.rounds["evaluated"].sum() == (~failed).sum()
    wasted_j = spent_j(parts)[parts["status"] != "received"].sum()
    assert result.rounds["wasted_j"].sum() == pytest.approx(wasted_j)


# Batteries


def unexplained_j(result):
    """Return the charge of all batteries at the end, less that at the start and the recorded energy."""
    full_j = result.scenario["devices"]["battery"]["capacity_j"] * 20
    return result.rounds["battery"].iloc[-1] * full_j - full_j + spent_j(result.devices).sum()


@pytest.mark.oracle
@pytest.mark.parametrize("radio_energy", [{}, {"drx_tail_s": 0.01, "drx_tail_w": 0.4}], ids=["", "tails"])
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("name", ROUNDS)
def test_batteries_lose_the_recorded_energy(name, sharing, radio_energy):
    ran_out = 0  # batteries in the phase
    for capacity_j in (0.02, 0.03):
        devices = {**DEVICES, "battery": {"capacity_j": capacity_j}, "radio_energy": radio_energy}
        result = evaluating(name, devices=devices, radio={**BASE["radio"], "sharing": sharing}, rounds=12)
        _, evaluations = by_kind(result)
        failed = evaluations[evaluations["status"] == "evaluation_failed"]
        ran_out += len(failed)
        assert (failed["battery_j"] == 0).all()
        assert (failed["wait_s"] == 0).all()
        assert abs(unexplained_j(result)) < NEAR_J
    assert ran_out > 0


@pytest.mark.oracle
@pytest.mark.parametrize("devices", ["participants", "present"])
@pytest.mark.parametrize("name", ROUNDS)
def test_batteries_that_ran_out_before_the_phase_may_be_charged_until_it(name, devices):
    """level_end = level_start + charged - drained - spent over each round, also of devices that run out and return."""
    charging = {"power_w": {"uniform": [0.05, 0.4]}, "from_h": 0, "to_h": 24}
    battery = {"capacity_j": 0.008, "start": {"uniform": [0.3, 1.0]}, "idle_w": 0.02, "base_w": 0.01}
    battery |= {"charging": charging, "resume": 0.001}
    hungry = {**BASE["devices"], "idle_power_w": 0.6, "battery": battery}
    result = evaluating(name, devices=hungry, rounds=12, evaluation={"devices": devices})
    rounds = result.rounds
    gained_j = (rounds["charged_j"] - rounds["drained_j"] - rounds["round_energy_j"]).to_numpy()
    stored_j = rounds["stored_j"].to_numpy()
    assert np.diff(stored_j) == pytest.approx(gained_j[1:], abs=NEAR_J)
    assert rounds["evaluated"].sum() > 0
    again = result.events[result.events["kind"] == "battery_charged"]
    assert len(again) > 0


# Learning, selections, cells and channels


@pytest.mark.oracle
def test_devices_are_handed_over_while_they_evaluate():
    result = edgefl.run(
        {
            **BASE,
            "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 100, "handover": {}},
            "mobility": {"kind": "random_waypoint", "speed_mps": {"uniform": [10, 30]}},
            "radio": {
                "propagation": {"kind": "umi_los", "out_of_range": "clamp"},
                "bandwidth_hz": 1e5,
                "spatial_consistency": True,
                "sharing": "processor",
            },
            "server": {"participants": 6, "device_evaluation": {"samples": 1.0}},
        },
        train=False,
    )
    handovers = result.events[result.events["kind"] == "handover"]["time_s"].to_numpy()
    ends_s = result.rounds["time_s"].to_numpy()
    begins_s = ends_s - result.rounds["evaluation_s"].to_numpy()
    assert any(((begin < handovers) & (handovers < end)).any() for begin, end in zip(begins_s, ends_s, strict=True))
    assert result.rounds["handovers"].sum() == len(handovers)
    assert result.rounds["evaluated"].sum() > 0


def test_a_device_that_evaluates_has_set_up_before():
    plain_trained, plain = by_kind(evaluating())
    trained, evaluated = by_kind(evaluating(devices={**DEVICES, "setup_s": 3.0, "setup_j": 12.0}))
    np.testing.assert_allclose(trained["setup_s"], 3.0)
    assert (evaluated["setup_s"] == 0).all()
    assert (evaluated["setup_energy_j"] == 0).all()
    assert len(evaluated) == len(plain)
    assert len(trained) == len(plain_trained)


def test_a_clock_for_the_deadline_takes_that_of_the_evaluation():
    """The lowest clock at which the answer is there in time; without a deadline of the section, that of the round."""
    dvfs = {"kind": "deadline", "min_cpu_hz": 1e3, "upload_margin": 1.0}
    ends_s = []
    for own in ({"deadline_s": 0.4}, {}):
        result = evaluating(
            server={"policy": "deadline", "deadline_s": 0.8}, devices={**DEVICES, "dvfs": dvfs}, evaluation=own
        )
        _, evaluations = by_kind(result)
        assert (evaluations["status"] == "evaluated").all()
        ends_s.append(evaluations[TIMES].sum(axis=1).to_numpy())
    assert ends_s[0] == pytest.approx(0.4, abs=2 * SLOT_S)
    assert ends_s[1] == pytest.approx(0.8, abs=2 * SLOT_S)


def test_answers_bring_the_channel_that_devices_measured():
    """With csi last an evaluation brings what a report brings, and pays for it."""
    result = evaluating(server={"csi": {"kind": "last", "report_bits": 64}}, rounds=1)
    _, evaluations = by_kind(result)
    assert (evaluations["bytes_up"] == (32 + 64) / 8).all()
