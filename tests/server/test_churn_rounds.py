"""Rounds of a population that comes and goes: interrupts, waiting, and accounts that balance."""

import logging

import numpy as np
import pytest
from server_cases import BASE, ENERGY, POLICIES, TIMES, assert_same, presence_trace, run

ROUNDS = ["synchronous", "deadline", "over_selection", "sequential", "hierarchical"]
DEVICES = {**BASE["devices"], "idle_power_w": 0.05}


def leaving(tmp_path, step_s=0.0007, away_s=0.02):
    """All 20 are present, but the even ones leave, one after another from 11 ms on, and come back."""
    off_s = {device: 0.011 + step_s * device for device in range(0, 20, 2)}
    rows = [(device, 0.0, float("inf")) for device in range(1, 20, 2)]
    rows += [(device, 0.0, off) for device, off in off_s.items()]
    rows += [(device, off + away_s, float("inf")) for device, off in off_s.items()]
    return presence_trace(tmp_path, rows), off_s


def everybody(tmp_path, on_s, off_s):
    return presence_trace(tmp_path, [(device, on_s, off_s) for device in range(20)])


# Leaving in the middle


@pytest.mark.parametrize("name", list(POLICIES))
def test_departed_device_is_cut_off_at_its_departure(tmp_path, name):
    """A participation ends when its device leaves, and waits no longer; all energy is entered once."""
    churn, off_s = leaving(tmp_path, *((0.012, 0.1) if "sequential" in name else ()))
    result = run(POLICIES[name], churn=churn, devices=DEVICES)
    rounds = result.rounds
    devices = result.devices
    departed = devices[devices["status"] == "departed"]
    ended = result.events[result.events["kind"] == "departed"]
    assert 0 < len(departed) == rounds["departed"].sum() == len(ended) == result.summary["drops"]["departed"]
    for _, event in ended.iterrows():
        late_s = event["time_s"] - off_s[event["device"]]
        assert late_s == pytest.approx(0, abs=1e-12) or ("sequential" in name and late_s > 0)  # away when its turn came
    assert (departed["wait_s"] == 0).all()
    first = departed[departed["round"] == 1]
    if name in {"synchronous", "deadline", "over_selection", "hierarchical"}:
        assert first[TIMES].sum(axis=1).tolist() == pytest.approx([off_s[device] for device in first["device"]])
    spent = devices[ENERGY].sum(axis=1)
    assert rounds["round_energy_j"].sum() == pytest.approx(spent.sum())
    lost = devices["status"] != "received"
    assert rounds["wasted_j"].tolist() == pytest.approx(spent.where(lost, 0).groupby(devices["round"]).sum().tolist())
    assert result.summary["wasted_j"] == pytest.approx(rounds["wasted_j"].sum())
    assert spent[lost].sum() > 0


@pytest.mark.parametrize("sharing", ["fixed", "processor"])
@pytest.mark.parametrize("battery", [None, {"capacity_j": 1.0}], ids=["mains", "battery"])
def test_device_that_leaves_after_its_upload_waits_until_then(tmp_path, battery, sharing):
    """The first leaves half-way from its upload's end to the round's: heard, and idle until then; no more changes."""
    devices = {**DEVICES, "battery": battery} if battery else DEVICES
    keys = {"devices": devices, "rounds": 1, "radio": {**BASE["radio"], "sharing": sharing}}
    plain = run({}, **keys).devices
    first = plain["wait_s"].argmax()
    leaves_s = float(plain[TIMES].sum(axis=1)[first] + plain["wait_s"][first] / 2)
    rows = [(device, 0.0, leaves_s if device == plain["device"][first] else float("inf")) for device in range(20)]
    result = run({}, churn=presence_trace(tmp_path, rows), **keys)
    expected = plain["wait_s"].where(plain.index != first, plain["wait_s"] / 2)
    assert result.devices["status"].eq("received").all()
    assert result.devices["wait_s"].tolist() == pytest.approx(expected.tolist())
    silent_j = 0.05 * (plain["wait_s"] - expected)
    assert result.devices["idle_energy_j"].tolist() == pytest.approx((plain["idle_energy_j"] - silent_j).tolist())
    assert result.rounds["round_energy_j"].item() == pytest.approx(result.devices[ENERGY].sum().sum())
    if battery:
        assert 20 * (1 - result.rounds["battery"].item()) == pytest.approx(result.devices[ENERGY].sum().sum())


def test_departed_device_pays_for_the_bytes_that_were_on_the_air(tmp_path):
    """On shares that hold, bits are proportional to the time on air: none of it is cut, and none invented."""
    churn, _ = leaving(tmp_path)
    departed = run({}, churn=churn, rounds=1).devices.set_index("device")
    others = run({}, churn="none", rounds=1).devices.set_index("device")
    departed = departed[departed["status"] == "departed"]
    for way in ("down", "up"):
        seconds = f"{way}load_s"
        column = f"bytes_{way}"
        part = departed[seconds] / others.loc[departed.index, seconds]
        expected = part * others.loc[departed.index, column]
        slot_bytes = others[column].max() / (others[seconds].min() / 0.0005)
        assert departed[column].to_numpy() == pytest.approx(expected.to_numpy(), abs=2 * slot_bytes + 1)
    assert departed["bytes_down"].sum() > 0


@pytest.mark.oracle
def test_without_leaving_nothing_changes(tmp_path):
    """All present all the time, by a trace: the same bytes as without churn."""
    for name in ("synchronous", "buffered", "sequential"):
        assert_same(run(POLICIES[name], churn=everybody(tmp_path, 0.0, float("inf"))), run(POLICIES[name]))


def test_participations_complete_with_on_departure_completes(tmp_path):
    """With one round no device is missing: as without churn, except for the events of the population."""
    churn, off_s = leaving(tmp_path)
    result = run({"on_departure": "completes"}, churn=churn, rounds=1)
    plain = run({}, rounds=1)
    assert result.devices.equals(plain.devices)
    gone = sum(off <= result.rounds["time_s"].item() for off in off_s.values())
    assert result.rounds["departures"].item() == gone > 0


def test_the_server_hears_of_a_departure_at_its_deadline(tmp_path):
    """All leave at 10 ms. Without a deadline the connection's end is noticed; with one, the server waits for it."""
    churn = everybody(tmp_path, 0.0, 0.010)
    plain = run({}, churn=churn, rounds=1).rounds
    waiting = run({"policy": "deadline", "deadline_s": 0.05}, churn=churn, rounds=1).rounds
    assert plain["time_s"].item() == pytest.approx(0.010, abs=1e-12)
    assert waiting["time_s"].item() == 0.05
    assert plain["departed"].item() == waiting["departed"].item() == 6


def test_device_that_is_back_at_once_has_not_left(tmp_path):
    rows = [(device, on, off) for device in range(20) for on, off in ((0.0, 0.01), (0.01, float("inf")))]
    result = run({}, churn=presence_trace(tmp_path, rows))
    assert (result.devices["status"] == "received").all()


# No device is present


@pytest.mark.oracle
@pytest.mark.parametrize("name", list(POLICIES))
def test_the_server_waits_for_the_next_arrival(tmp_path, name):
    """The first round begins at 3 s, as no device is present before, and continues as without churn."""
    server = {**POLICIES[name], "policy": POLICIES[name].get("policy", "synchronous")}
    result = run(server, churn=everybody(tmp_path, 3.0, float("inf")))
    plain = run(server)
    begun = result.events[result.events["kind"] == "round_start"]["time_s"]
    assert begun.iloc[0] == 3.0
    assert (result.events["kind"] == "waiting").sum() == 1
    assert result.rounds["duration_s"].iloc[0] - 3.0 == pytest.approx(plain.rounds["duration_s"].iloc[0])
    assert result.devices["device"].tolist() == plain.devices["device"].tolist()
    assert result.rounds[["present", "arrivals"]].to_numpy()[0].tolist() == [20, 20]


@pytest.mark.oracle
@pytest.mark.parametrize("name", list(POLICIES))
def test_run_ends_with_a_reason_when_no_device_will_arrive(tmp_path, name):
    """All leave for good; the rounds until then are kept."""
    result = run(POLICIES[name], churn=everybody(tmp_path, 0.0, 0.13), rounds=1_000)
    assert result.status == "failed"
    assert "no device is present at" in result.error
    assert "none will arrive" in result.error
    assert 1 <= len(result.rounds) < 1_000
    assert result.rounds["received"].sum() > 0


def test_arrivals_between_rounds_do_not_make_empty_rounds(tmp_path):
    """Each device is there for 4 ms a second: every round has a device, and no two begin at one moment."""
    rows = [(0, float(second), second + 0.004) for second in range(50)]
    result = run({"participants": 3}, churn=presence_trace(tmp_path, rows), rounds=6)
    begun = result.events[result.events["kind"] == "round_start"]["time_s"].tolist()
    assert begun == pytest.approx([0, 1, 2, 3, 4, 5])
    assert (result.rounds["selected"] == 1).all()


def test_rounds_do_not_pass_while_the_awaited_device_is_away(tmp_path):
    """FedAvg(S) waits for devices that come at 10 s: at most one round is wasted before each arrival."""
    rows = [(0, 0.0, float("inf")), (1, 10.0, float("inf")), (2, 20.0, float("inf"))]
    algorithm = {"kind": "fedavg", "mode": "wait", "max_participants": 3}
    churn = presence_trace(tmp_path, rows)
    devices = {**BASE["devices"], "count": 3}
    result = run({"participants": 3}, churn=churn, devices=devices, algorithm=algorithm, rounds=6, train=True)
    vain = result.rounds[result.rounds["selected"] == 0]
    assert len(vain) <= 2
    assert sorted(result.devices["device"].tolist()[:3]) == [0, 1, 2]
    assert result.rounds["time_s"].iloc[-1] > 20


def test_server_does_not_wait_for_coins():
    """Coins a round: a round without devices counts, and takes no time."""
    result = run({}, churn={"kind": "bernoulli", "probability": 0.001}, rounds=8)
    assert len(result.rounds) == 8
    assert (result.rounds["selected"] == 0).any()
    assert not (result.events["kind"] == "waiting").any()


# Counts


@pytest.mark.oracle
@pytest.mark.parametrize("name", ROUNDS)
def test_population_follows_from_arrivals_and_departures(name):
    churn = {"kind": "poisson", "arrivals_per_s": 150.0, "stay_s": {"exponential": 0.06}}
    rounds = run(POLICIES[name], churn=churn, rounds=10).rounds
    assert (rounds[["arrivals", "departures"]].sum() > 5).all()
    after = (rounds["present"] + rounds["arrivals"] - rounds["departures"]).tolist()
    assert after[:-1] == rounds["present"].tolist()[1:]


def test_too_few_devices_are_reported_once(tmp_path, caplog):
    rows = [(device, 0.0, float("inf")) for device in range(4)]
    with caplog.at_level(logging.WARNING):
        result = run({"participants": 6}, churn=presence_trace(tmp_path, rows))
    assert (result.rounds["selected"] == 4).all()
    said = [record.message for record in caplog.records if "fewer" in record.message]
    assert said == ["round 1: 4 devices are present, fewer than server.participants: 6; it goes on with these"]


def test_selection_is_uniform_in_very_large_populations():
    """Selections of 100,000 devices by the round's own draws: KS of 4,000 at 1 %, no device twice."""
    from scipy import stats

    from edgefl.coordination.selection.uniform import UniformSelection
    from edgefl.core.streams import Streams

    present = np.arange(100_000) * 3
    rounds = [UniformSelection().choose(present, 100, index, Streams(1), None) for index in range(40)]
    assert all(len(np.unique(ids)) == 100 for ids in rounds)
    assert stats.kstest(np.concatenate(rounds), "uniform", (0, 300_000)).pvalue > 0.01
    assert stats.kstest([ids[0] for ids in rounds], "uniform", (0, 300_000)).pvalue > 0.01  # in random order
