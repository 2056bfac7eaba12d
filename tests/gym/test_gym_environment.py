"""Environments of Gymnasium: what agents may decide and see, and that a run under their control is a run."""

import json
import math
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from server_cases import BASE, STILL, assert_same

import edgefl
import edgefl.gym
from edgefl.core.errors import InputError, RunError
from edgefl.gym.episodes import world_seed

WORLD = {**BASE, "rounds": 3, "server": {"participants": 6}}
EVERYTHING = ("scores", "bandwidth", "clocks", "powers")
MASKED = ("devices", "bandwidth", "clocks", "powers")
# Every policy, with what makes its rounds begin and end otherwise: churn, batteries, failures, sessions, several cells.
WORLDS = {
    "synchronous": {},
    "deadline": {"server": {"participants": 6, "policy": "deadline", "deadline_s": 0.05}},
    "late devices kept": {
        "server": {"participants": 6, "policy": {"kind": "deadline", "late": "keep"}, "deadline_s": 0.05}
    },
    "over-selection": {"server": {"participants": 6, "policy": "over_selection"}},
    "buffered": {"server": {"participants": 6, "policy": {"kind": "buffered", "buffer": 4}}},
    "asynchronous": {"rounds": 20, "server": {"participants": 6, "policy": "asynchronous"}},
    "failures": {
        "server": {"participants": 6, "policy": {"kind": "buffered", "buffer": 4}},
        "radio": {**BASE["radio"], "faults": {"failure_probability": 0.4, "attempts": 1}},
    },
    "sequential": {"server": {"participants": 4, "policy": "sequential"}},
    "hierarchical": {
        "server": {"participants": 6, "policy": {"kind": "hierarchical", "cloud_every": 2}},
        "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 100},
        "radio": {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}, "bandwidth_hz": 20e6},
    },
    "resource blocks": {"radio": {**STILL, "bandwidth_hz": 20e6, "subcarrier_spacing_hz": 30e3}},
    "churn": {"rounds": 8, "churn": {"kind": "poisson", "arrivals_per_s": 20.0, "stay_s": {"weibull": [0.3, 0.7]}}},
    "batteries": {
        "rounds": 8,
        "devices": {**BASE["devices"], "battery": {"capacity_j": 0.05, "charging": {"power_w": 1.0, "from_h": 0.0}}},
    },
    "sessions": {
        "rounds": None,
        "sessions": {"count": 3, "rounds": 2, "initialisation": {"kind": "proposed", "history": 2}},
        "data": {"dataset": "digits", "partition": {"kind": "dirichlet", "alpha": 0.3}},
    },
    "as many as come": {"server": {"participants": 1, "selection": "bernoulli"}},
    "polls": {"server": {"participants": 4, "selection": {"kind": "power_of_choice", "d": 8}}},
}


def episode(env, choose, seed=None):
    """Play an episode; return the rewards and infos of all steps."""
    seen, _ = env.reset(seed=seed)
    steps = []
    terminated = truncated = False
    while not (terminated or truncated):
        assert env.observation_space.contains(seen)
        seen, reward, terminated, truncated, info = env.step(choose(env, seen))
        steps.append((reward, info))
    assert env.observation_space.contains(seen)
    return steps


def follow(env, seen):
    return env.follow()


def tiny(count=2, **changes):
    """Devices at 100 m without fading; times and energies have closed forms."""
    world = {
        **BASE,
        "rounds": 2,
        "devices": {"count": count, "cpu_hz": 1e9, "flops_per_cycle": 1.0},
        "mobility": {"kind": "static"},
        "server": {"participants": count},
    }
    return {**world, **changes}


# A run is the same under any control


@pytest.mark.oracle
@pytest.mark.parametrize("name", WORLDS)
def test_an_agent_that_follows_the_scenario_gives_the_bytes_of_the_plain_run(name, tmp_path):
    world = {**WORLD, **WORLDS[name]}
    train = name == "polls"
    edgefl.run(world, train=train, out=tmp_path / "plain", device="cpu")
    action = EVERYTHING if list(WORLDS).index(name) % 2 else MASKED
    if train:
        action = ("scores",)
    if name == "as many as come":  # some rounds have no device; scores would choose as many as the scenario asks for
        action = MASKED
    if name == "sequential":  # a mask says who takes part, not in which order the model visits them
        action = EVERYTHING
    env = edgefl.gym.make(world, action=action, train=train, out=tmp_path / "agent", device="cpu")
    episode(env, follow)
    folder = tmp_path / "agent" / "episode-0001"
    for file in ("rounds.csv", "devices.csv", "events.parquet", "scenario.yaml"):
        assert (folder / file).read_bytes() == (tmp_path / "plain" / file).read_bytes(), file
    assert json.loads((folder / "manifest.json").read_text())["status"] == "finished"


def test_undecided_parts_follow_the_scenario():
    world = {
        **WORLD,
        "server": {"participants": 6, "policy": "deadline", "deadline_s": 0.2, "selection": "round_robin"},
        "radio": {**STILL, "bandwidth_hz": 20e6, "allocation": "min_makespan"},
        "devices": {**BASE["devices"], "dvfs": {"kind": "deadline", "min_cpu_hz": 1e5}},
    }
    env = edgefl.gym.make(world, action="powers")
    episode(env, lambda *_: np.ones(20, np.float32))
    assert_same(env.result(), edgefl.run(world, train=False))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["synchronous", "failures", "asynchronous", "churn"])
def test_times_energies_and_rewards_of_all_steps_add_up_to_the_totals(name):
    env = edgefl.gym.make({**WORLD, **WORLDS[name]}, action=EVERYTHING, reward={"time": 2.0, "energy": 0.5}, seed=3)
    env.action_space.seed(1)
    steps = episode(env, lambda env, *_: env.action_space.sample())
    result = env.result()
    totals = (result.summary["time_s"], result.summary["energy_j"])
    assert result.status == "finished"
    assert sum(info["elapsed_s"] for _, info in steps) == pytest.approx(totals[0], rel=1e-12)
    assert sum(info["spent_j"] for _, info in steps) == pytest.approx(totals[1], rel=1e-12)
    assert (steps[-1][1]["time_s"], steps[-1][1]["energy_j"]) == pytest.approx(totals, rel=1e-12)
    assert sum(reward for reward, _ in steps) == pytest.approx(-2.0 * totals[0] - 0.5 * totals[1], rel=1e-12)
    assert [row["round"] for _, info in steps for row in info["rows"]] == result.rounds["round"].tolist()


@pytest.mark.oracle
def test_an_agent_that_learns_really_gets_the_accuracy_and_the_plain_runs_model():
    world = {**WORLD, "devices": {**BASE["devices"], "count": 8}, "server": {"participants": 3}}
    plain = edgefl.run(world, device="cpu")
    env = edgefl.gym.make(world, reward="accuracy", train=True, device="cpu")
    steps = episode(env, follow)
    assert_same(env.result(), plain)
    accuracies = plain.rounds["test_accuracy"].to_numpy()
    assert [reward for reward, _ in steps] == pytest.approx(np.diff(accuracies, prepend=0.0))
    assert [info["row"]["test_accuracy"] for _, info in steps] == accuracies.tolist()


# What an agent decides


def test_a_mask_chooses_exactly_these_devices():
    env = edgefl.gym.make(WORLD)
    chosen = iter([[3, 7], [0], list(range(20))])

    def choose(env, seen):
        mask = np.zeros(20, np.int8)
        mask[next(chosen)] = 1
        return mask

    episode(env, choose)
    devices = env.result().devices
    assert [group["device"].tolist() for _, group in devices.groupby("round")] == [[3, 7], [0], list(range(20))]


def test_the_highest_scores_take_part_in_their_order():
    world = {**WORLD, "server": {"participants": 3, "policy": "sequential"}}
    env = edgefl.gym.make(world, action="scores")
    scores = np.linspace(0.0, 1.0, 20, dtype=np.float32)
    scores[4] = 0.96  # between 18 and 19
    episode(env, lambda *_: scores)
    first = env.result().devices[lambda rows: rows["round"] == 1]
    assert first.sort_values("start_s")["device"].tolist() == [19, 4, 18]


@pytest.mark.oracle
def test_absent_devices_cannot_be_chosen_and_an_empty_mask_leaves_the_choice_to_the_scenario():
    world = {**WORLD, **WORLDS["churn"]}
    plain = edgefl.run(world, train=False)
    env = edgefl.gym.make(world)
    episode(env, lambda *_: np.zeros(20, np.int8))
    assert_same(env.result(), plain)
    counts = []

    def all_devices(env, seen):
        counts.append(int(seen["free"].sum()))
        return np.ones(20, np.int8)

    episode(env, all_devices, seed=BASE["seed"])
    rounds = env.result().rounds
    assert rounds["selected"].tolist() == counts
    assert rounds["selected"].tolist() == rounds["present"].tolist()
    assert min(counts) < 20


@pytest.mark.oracle
@pytest.mark.parametrize(("policy", "most_busy"), [("asynchronous", 2), ({"kind": "buffered", "buffer": 4}, 6)])
def test_the_agent_chooses_whenever_a_device_is_replaced(policy, most_busy):
    """It prefers low numbers; so high ones are never asked, as at most two are under way and four wait for the rest."""
    world = {**WORLD, "rounds": 8, "server": {"participants": 2, "policy": policy}}
    env = edgefl.gym.make(world, action="scores")
    wanted = []

    def lowest(_, seen):
        wanted.append(int(seen["wanted"][0]))
        return np.linspace(1.0, 0.0, 20)

    steps = episode(env, lowest)
    devices = env.result().devices
    assert set(devices["device"]) <= set(range(most_busy))
    assert len(devices) == sum(wanted)
    assert sum(len(info["rows"]) for _, info in steps) == 8
    assert (len(steps) > 8) == (most_busy > 2)  # with a buffer, also between two aggregations


def test_clocks_scale_time_by_their_inverse_and_energy_by_their_square():
    env = edgefl.gym.make(tiny(), action="clocks")
    shares = np.array([0.5, 0.1])
    episode(env, lambda *_: shares)
    fast = edgefl.run(tiny(), train=False).devices
    slow = env.result().devices
    every = slow["device"].to_numpy()
    assert slow["compute_s"].to_numpy() == pytest.approx(fast["compute_s"].to_numpy() / shares[every], rel=1e-6)
    assert slow["cpu_energy_j"].to_numpy() == pytest.approx(fast["cpu_energy_j"] * shares[every] ** 2, rel=1e-6)
    assert slow["upload_s"].tolist() == fast["upload_s"].tolist()


@pytest.mark.parametrize("open_loop", [False, True])
def test_shares_of_the_band_and_powers_give_shannons_rates(open_loop):
    """Bits over W_k log2(1 + P_k g_k / (N0 W_k)), in whole slots, each way; energy is the power chosen times time."""
    world = tiny(3, server={"participants": 3}, radio={**STILL, "bandwidth_hz": 3e6, "server_power": "total"})
    if open_loop:
        world["devices"] = world["devices"] | {"power_control": {"kind": "open_loop", "p0_dbm": -85, "alpha": 0.9}}
    env = edgefl.gym.make(world, action=("bandwidth", "powers"))
    weights = np.array([1.0, 0.5, 0.25])
    powers = np.array([1.0, 0.02, 0.3])
    episode(env, lambda *_: {"bandwidth": weights, "powers": powers})
    devices = env.result().devices
    band_hz = 3e6 * weights / weights.sum()
    noise_w_hz = 10 ** ((-174 - 30) / 10)
    for _, rows in devices.groupby("round"):
        gain = 10 ** (-rows["pathloss_db"].to_numpy() / 10)
        chosen_w = 10 ** (2.3 - 3) * powers
        if open_loop:  # the share is that of the power that power control gives
            asked_dbm = -85 + 10 * np.log10(band_hz / 180e3) + 0.9 * rows["pathloss_db"].to_numpy()
            chosen_w = powers * np.minimum(10 ** (2.3 - 3), 10 ** (asked_dbm / 10 - 3))
        for way, sent_w in (("upload", chosen_w), ("download", np.full(3, 10 ** (4.3 - 3)))):
            snr = sent_w * gain / (noise_w_hz * band_hz)
            if way == "download":  # the base station's power is spread over the band
                snr = sent_w * gain / (noise_w_hz * 3e6)
            slots = np.ceil(32 * 20_000 / (band_hz * np.log2(1 + snr)) / 0.0005)
            assert rows[f"{way}_s"].to_numpy() == pytest.approx(slots * 0.0005, rel=1e-9)
        assert rows["tx_energy_j"].to_numpy() == pytest.approx(rows["upload_s"].to_numpy() * chosen_w, rel=1e-6)


@pytest.mark.oracle
def test_energy_is_that_of_the_power_at_which_a_participation_was_sent():
    """A device that fails and is asked again before the round ends may have got another power meanwhile."""
    world = {**WORLD, **WORLDS["failures"], "rounds": 6}
    env = edgefl.gym.make(world, action=("scores", "powers"), seed=5)
    few = np.zeros(20)
    few[:6] = 1.0  # the same six again and again
    told = iter(np.tile([1.0, 0.1], 500))
    episode(env, lambda *_: {"scores": few, "powers": np.full(20, next(told))})
    devices = env.result().devices
    again = devices.groupby(["round", "device"]).size()
    assert (again > 1).any()
    sent = devices[devices["upload_s"] > 0]
    share = sent["tx_energy_j"] / sent["upload_s"] / 10 ** (2.3 - 3)
    # An upload begins with the next slot, so its radio is on for a little less than it takes.
    full = (share > 0.8) & (share <= 1.0 + 1e-9)
    tenth = (share > 0.08) & (share <= 0.1 + 1e-9)
    assert full.sum() > 5
    assert tenth.sum() > 5
    assert (full | tenth).all()
    # Both of a device's participations in a round are there, each at its own power.
    both = sent.assign(full=full).groupby(["round", "device"])["full"].nunique()
    assert (both == 2).any()


def test_batteries_pay_for_the_power_that_was_chosen():
    world = tiny(devices={"count": 2, "cpu_hz": 1e9, "flops_per_cycle": 1.0, "battery": {"capacity_j": 10.0}})
    env = edgefl.gym.make(world, action=("powers", "clocks"))
    episode(env, lambda *_: {"powers": np.array([1.0, 0.05]), "clocks": np.array([0.3, 1.0])})
    devices = env.result().devices
    spent = devices[["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]].sum(axis=1)
    for _, rows in devices.groupby("device"):
        after_j = 10.0 - spent[rows.index].cumsum()
        assert rows["battery_j"].to_numpy() == pytest.approx(after_j.to_numpy(), rel=1e-9)


@pytest.mark.parametrize("action", [("devices", "clocks"), EVERYTHING])
def test_a_flat_action_means_the_same_as_its_parts(action):
    apart = edgefl.gym.make(WORLD, action=action)
    flat = edgefl.gym.make(WORLD, action=action, flat=True)
    apart.action_space.seed(4)
    sampled = []

    def sample(env, seen):
        sampled.append(env.action_space.sample())
        return sampled[-1]

    episode(apart, sample)
    again = iter(sampled)

    def flattened(env, seen):
        parts = next(again)
        return np.concatenate([2.0 * np.asarray(parts[part], np.float64) - 1.0 for part in action])

    episode(flat, flattened)
    assert_same(apart.result(), flat.result())


# What an agent sees


def test_observations_are_what_the_server_knows():
    world = {**WORLD, "devices": {**BASE["devices"], "battery": {"capacity_j": 50.0}}}
    env = edgefl.gym.make(world, observation=("view", "csi"))
    seen, _ = env.reset()
    assert set(env.observation_space.keys()) == {
        *("free", "samples", "participations", "rounds_since", "round_trip_s", "energy_j", "battery_j"),
        *("round", "wanted", "time_s", "spent_j", "path_loss_db", "snr_db"),
    }
    assert all(values.dtype == np.float32 for values in seen.values())
    assert seen["free"].all()
    assert seen["wanted"].tolist() == [6]
    for name in ("rounds_since", "round_trip_s", "energy_j", "battery_j"):
        assert (seen[name] == -1.0).all()
    channel = seen["path_loss_db"]
    seen, _, _, _, info = env.step(env.follow())
    env.step(env.follow())
    env.close()
    devices = edgefl.run(world, train=False).devices
    first = devices[devices["round"] == 1].set_index("device")
    ids = first.index.to_numpy()
    assert channel[ids] == pytest.approx((first["pathloss_db"] + first["shadowing_db"]).to_numpy(), rel=1e-6)
    assert seen["round_trip_s"][ids] == pytest.approx(first[["download_s", "compute_s", "upload_s"]].sum(axis=1))
    assert seen["battery_j"][ids] == pytest.approx(first["battery_j"].to_numpy())
    spent_j = first[["rx_energy_j", "cpu_energy_j", "tx_energy_j"]].sum(axis=1)
    assert seen["energy_j"][ids] == pytest.approx(spent_j.to_numpy())
    assert seen["rounds_since"][ids].tolist() == [0.0] * 6
    assert seen["participations"].sum() == 6
    assert seen["time_s"][0] == np.float32(info["time_s"])
    assert seen["spent_j"][0] == np.float32(info["energy_j"])
    assert np.delete(seen["round_trip_s"], ids).tolist() == [-1.0] * 14


def test_csi_is_the_channel_of_the_next_round_and_absent_devices_have_none():
    world = {**WORLD, **WORLDS["churn"], "radio": {"bandwidth_hz": 20e6}}
    env = edgefl.gym.make(world, observation=("free", "csi"))
    told = []

    def all_devices(env, seen):
        told.append(seen)
        return np.ones(20, np.int8)

    episode(env, all_devices)
    result = env.result()
    for seen, (_, rows) in zip(told, result.devices.groupby("round"), strict=True):
        ids = rows["device"].to_numpy()
        loss_db = (rows["pathloss_db"] + rows["shadowing_db"]).to_numpy()
        assert np.flatnonzero(seen["free"]).tolist() == ids.tolist()
        assert seen["path_loss_db"][ids] == pytest.approx(loss_db, rel=1e-6)
        snr_db = 23.0 - loss_db - (-174 + 10 * math.log10(20e6)) - result.scenario["radio"]["noise_figure_db"]
        assert seen["snr_db"][ids] == pytest.approx(snr_db, abs=1e-4)
        assert not np.delete(seen["snr_db"], ids).any()


def test_mains_and_losses_are_finite():
    names = ("battery_j", "loss")
    env = edgefl.gym.make(tiny(), observation=names)
    env.reset()
    seen, *_ = env.step(np.ones(2, np.int8))
    assert seen["battery_j"].tolist() == [1e9, 1e9]
    assert seen["loss"].tolist() == [-1.0, -1.0]


# Episodes


@pytest.mark.oracle
def test_a_seed_is_that_of_the_world_and_later_episodes_follow_from_it():
    env = edgefl.gym.make(WORLD, seed=11)
    results = []
    for seed in (None, None, 7, None):
        _, info = env.reset(seed=seed)
        episode_seed = info["seed"]
        while not env.step(env.follow())[2]:
            pass
        results.append((episode_seed, env.result()))
    assert [seed for seed, _ in results] == [11, world_seed(11, 1), 7, world_seed(7, 1)]
    assert len({seed for seed, _ in results}) == 4
    for seed, result in results:
        assert_same(result, edgefl.run(WORLD, seed=seed, train=False))
    same = edgefl.gym.make(WORLD, seed=11, new_worlds=False)
    assert [same.reset()[1]["seed"] for _ in range(3)] == [11, 11, 11]


def test_an_episode_can_be_cut_off_and_keeps_its_finished_rounds(tmp_path):
    env = edgefl.gym.make(WORLD, max_episode_steps=2, out=tmp_path)
    env.reset()
    assert env.step(env.follow())[2:4] == (False, False)
    assert env.step(env.follow())[2:4] == (False, True)
    result = env.result()
    assert result.status == "interrupted"
    assert result.rounds.equals(edgefl.run(WORLD, train=False).rounds[:2])
    with pytest.raises(ResetNeeded):
        env.step(np.ones(20, np.int8))
    env.reset()
    env.step(env.follow())
    env.close()  # an episode that is given up leaves its rounds, too
    assert sorted(path.name for path in tmp_path.iterdir()) == ["episode-0001", "episode-0002"]
    assert len((tmp_path / "episode-0002" / "rounds.csv").read_text().splitlines()) == 2


@pytest.mark.oracle
def test_a_run_that_fails_says_why_and_keeps_its_finished_rounds(tmp_path):
    battery = {"capacity_j": 0.05}  # for a few rounds, and never charged
    world = tiny(devices={"count": 2, "cpu_hz": 1e9, "flops_per_cycle": 1.0, "battery": battery}, rounds=50)
    env = edgefl.gym.make(world, action="powers", out=tmp_path)
    env.reset()

    def until_batteries_are_empty():
        for _ in range(50):
            env.step(np.ones(2))

    with pytest.raises(RunError, match="no device has charge"):
        until_batteries_are_empty()
    assert env.result().status == "failed"
    assert 0 < len(env.result().rounds) < 50
    assert json.loads((tmp_path / "episode-0001" / "manifest.json").read_text())["status"] == "failed"
    with pytest.raises(ResetNeeded):
        env.step(np.ones(2))
    env.reset()
    env.close()


# Wrong input


@pytest.mark.parametrize(
    ("parts", "action", "message"),
    [
        ("devices", np.ones(3), r"action: devices: must have shape \(20,\), got \(3,\)"),
        ("scores", np.full(20, np.nan), "action: scores: holds NaN at 0, 1, 2, 3, 4, ..."),
        ("clocks", np.r_[np.ones(19), 2.0], r"action: clocks: must lie in \[0, 1\], got 2 at 19"),
        (("clocks", "powers"), np.ones(40), "action: must be a dict with clocks, powers, got ndarray"),
    ],
)
def test_wrong_action_is_one_line_and_does_not_change_the_episode(parts, action, message):
    env = edgefl.gym.make(WORLD, action=parts)
    env.reset()
    with pytest.raises(ValueError, match=message) as error:
        env.step(action)
    assert "\n" not in str(error.value)
    episode_goes_on = env.step(env.follow())
    assert episode_goes_on[4]["row"]["round"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "devces"}, r'action: unknown part "devces" \(did you mean "devices"\?\)'),
        ({"action": ("devices", "scores")}, "devices and scores both"),
        ({"reward": "tme"}, r'reward: unknown "tme" \(did you mean "time"\?\)'),
        ({"reward": "accuracy"}, "reward: accuracy needs a run that learns"),
        ({"overrides": ["rounds=0"]}, "rounds: must be > 0"),
        (
            {"action": "clocks", "overrides": ["server.policy=split"]},
            "action: clocks: with the policy split, clocks",
        ),
        ({"action": "powers", "overrides": ["server.selection=power_of_choice"]}, "has polled devices"),
        (
            {"action": "powers", "overrides": ["radio.allocation=equal_finish", "server.csi=perfect"]},
            "action: bandwidth, clocks and powers: radio.allocation: equal_finish needs the values that it forecasts",
        ),
    ],
)
def test_wrong_arguments_are_one_line(arguments, message):
    world = {**WORLD, "model": {"kind": "mlp"}}
    with pytest.raises(InputError, match=message) as error:
        edgefl.gym.make(world, **arguments)
    assert "\n" not in str(error.value)


def test_a_reward_function_gets_the_rows_and_must_return_numbers():
    env = edgefl.gym.make(WORLD, reward=lambda row: row["received"] - row["duration_s"])
    steps = episode(env, follow)
    rounds = env.result().rounds
    assert [reward for reward, _ in steps] == pytest.approx((rounds["received"] - rounds["duration_s"]).tolist())
    for wrong, message in ((lambda _: "much", "must return a number, got str"), (lambda _: math.inf, "finite")):
        env = edgefl.gym.make(WORLD, reward=wrong)
        env.reset()
        with pytest.raises(ValueError, match=message):
            env.step(env.follow())


# Gymnasium


@pytest.mark.oracle
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"action": EVERYTHING, "observation": ("view", "csi")},
        {"action": MASKED, "flat": True, "overrides": ["server.policy={kind: buffered, buffer: 3}"]},
        {
            "action": "bandwidth",
            "overrides": ["churn={kind: poisson, arrivals_per_s: 20.0, stay_s: {exponential: 0.3}}"],
        },
    ],
)
def test_gymnasiums_own_checks_pass(arguments):
    check_env(edgefl.gym.make(WORLD, **arguments), skip_render_check=True)


@pytest.mark.oracle
def test_gymnasium_makes_the_environment_by_name():
    env = gymnasium.make("edgefl/World-v0", scenario=WORLD, action="clocks", max_episode_steps=2)
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=1)
    assert env.step(np.ones(20, np.float32))[3] is False
    assert env.step(np.ones(20, np.float32))[3] is True


@pytest.mark.parametrize("policy", ["synchronous", {"kind": "buffered", "buffer": 3}])
def test_environments_run_in_parallel(policy):
    """Also where some of them have closed a round in a step and others have not."""
    world = {**WORLD, "server": {"participants": 6, "policy": policy}}

    def one():
        return edgefl.gym.make(world, action=("scores", "clocks"), observation=("view", "csi"))

    both = gymnasium.vector.SyncVectorEnv([one, one])
    both.action_space.seed(1)
    _, info = both.reset(seed=[4, 9])
    assert info["seed"].tolist() == [4, 9]
    alone = one()
    alone.reset(seed=9)
    for _ in range(3):
        action = both.action_space.sample()
        seen, rewards, *_ = both.step(action)
        own, reward, *_ = alone.step({part: values[1] for part, values in action.items()})
        assert rewards[1] == pytest.approx(reward)
        assert all((seen[name][1] == own[name]).all() for name in own)
    both.close()


@pytest.mark.oracle
def test_environments_in_processes_share_a_folder(tmp_path):
    """Each episode has a folder of its own, whichever environments begin at the same time."""

    def one():
        return edgefl.gym.make(WORLD, out=tmp_path / "episodes")

    several = gymnasium.vector.AsyncVectorEnv([one] * 4)
    seeds = [1, 2, 3, 4]
    for first in (0, 10):
        several.reset(seed=[first + seed for seed in seeds])
        several.call("follow")
    several.close()
    results = [edgefl.read(folder) for folder in sorted((tmp_path / "episodes").iterdir())]
    assert sorted(result.scenario["seed"] for result in results) == [1, 2, 3, 4, 11, 12, 13, 14]


def test_episode_that_cannot_begin_leaves_no_folder(tmp_path):
    env = edgefl.gym.make(WORLD, out=tmp_path, device="cuda:99", train=True)
    with pytest.raises(InputError, match="cuda:99"):
        env.reset()
    assert not list(tmp_path.iterdir())


def python(text):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)


@pytest.mark.process
def test_without_gymnasium_one_line_says_how_to_install_it():
    without = "import sys; sys.modules['gymnasium'] = None; import edgefl; "
    assert python(without).returncode == 0
    done = python(without + "import edgefl.gym")
    lines = done.stderr.strip().splitlines()
    assert "edgefl.gym: needs gymnasium, which is missing: pip install 'edgefl-emulator[gym]'" in lines[-1]


@pytest.mark.process
def test_an_environment_without_learning_never_loads_torch():
    text = "import sys, edgefl.gym; e = edgefl.gym.make({'rounds': 1}); e.reset(); e.step(e.follow()); "
    done = python(text + "print(e.result().status, 'torch' in sys.modules)")
    assert done.stdout.split() == ["finished", "False"], done.stderr
