"""The bottleneck of a run: small tables with known answers, and random ones for invariants."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_rounds import a_run, device
from report_folders import with_rounds
from result_folders import make, rewrite
from server_cases import BASE

import edgefl
from edgefl.results.report.page import render
from edgefl.results.report.run import bottleneck, narrative
from edgefl.results.report.shared.read import load
from edgefl.results.report.why import critical_path
from edgefl.results.what_if_table import WhatIfRow


def shares_of_time(run):
    return bottleneck.time_shares(run, critical_path.participations(run))


class TestShares:
    def test_energy_by_phase(self):
        costs = {"rx_energy_j": 1.0, "cpu_energy_j": 2.0, "tx_energy_j": 6.0, "idle_energy_j": 1.0}
        run = a_run([[device(0, 1, 1, 1, **costs), device(1, 1, 1, 1)]])
        expected = {"setting up": 0.0, "download": 0.1, "computing": 0.2, "upload": 0.6, "waiting": 0.1}
        assert bottleneck.energy_shares(run) == expected

    def test_time_is_that_of_the_device_that_the_round_waits_for(self):
        run = a_run([[device(0, 1, 1, 8), device(1, 2, 1, 1)], [device(0, 1, 1, 1), device(1, 1, 7, 2)]])
        shares = shares_of_time(run)  # device 0 takes 1, 1 and 8 s, then device 1 takes 1, 7 and 2 s
        assert shares["download"] == pytest.approx(2 / 20)
        assert shares["computing"] == pytest.approx(8 / 20)
        assert shares["upload"] == pytest.approx(10 / 20)

    def test_devices_that_end_together_share_the_round(self):
        shares = shares_of_time(a_run([[device(0, 0, 2, 8), device(1, 0, 8, 2)]]))
        assert shares["computing"] == pytest.approx(0.5)
        assert shares["upload"] == pytest.approx(0.5)

    def test_departed_device_is_not_waited_for(self):
        gone = device(1, 9, 0, 0, status="departed")
        run = a_run([[device(0, 1, 1, 8), gone]])
        run.devices["wait_s"][1] = 0.0  # it left after 9 of 10 s
        assert shares_of_time(run)["upload"] == pytest.approx(0.8)

    def test_time_after_last_device_is_the_backhaul(self):
        run = a_run([[device(0, 1, 1, 1, until_s=10)]], server__policy={"kind": "hierarchical", "cloud_every": 1})
        assert shares_of_time(run)["the backhaul"] == pytest.approx(0.7)
        assert bottleneck.sentence(run).startswith("The backhaul takes 70 % of the time")

    def test_time_before_first_device_is_waiting_for_devices(self):
        run = a_run([[device(0, 0, 1, 1, begins=8)]])
        assert shares_of_time(run)["waiting for devices"] == pytest.approx(0.8)

    @pytest.mark.parametrize("policy", ["synchronous", "sequential", "deadline"])
    def test_evaluations_on_devices_do_not_count_as_waiting(self, policy):
        # Some updates come too late, and their devices wait for the end of the evaluation without taking part in it.
        server = {"participants": 4, "policy": policy, "device_evaluation": {}}
        if policy == "deadline":
            server["deadline_s"] = 0.05
        run = edgefl.run({**BASE, "server": server}, train=False).as_run()
        server.pop("device_evaluation")
        alone = edgefl.run({**BASE, "server": server}, train=False).as_run()
        parts = critical_path.participations(run)
        evaluation_s = run.rounds["evaluation_s"].sum()
        shares = shares_of_time(run)
        assert shares["evaluation on devices"] == pytest.approx(evaluation_s / run.rounds["duration_s"].sum())
        rest = 1 - shares.pop("evaluation on devices")
        of_training = {name: share / rest for name, share in shares.items()}
        expected = shares_of_time(alone)
        expected.pop("evaluation on devices")
        assert of_training == pytest.approx(expected, abs=1e-9)
        assert parts.late.any() == (policy == "deadline")
        assert "to evaluate new models" in " ".join(narrative.sentences(run))
        assert "every update was used" in " ".join(narrative.sentences(run)) or policy == "deadline"
        assert "evaluat" in render([run])

    def test_no_energy_has_no_shares(self):
        run = a_run([[device(0, 1, 1, 2)]])
        assert bottleneck.energy_shares(run) == {}
        assert bottleneck.sentence(run).startswith("Upload takes 50 % of the time;")

    @settings(max_examples=30, deadline=None)
    @given(st.data())
    def test_shares_add_up_and_the_time_is_that_of_the_run(self, data):
        second = st.floats(0, 100)
        one = st.builds(lambda *phases: device(0, *phases, tx_energy_j=phases[2]), second, second, second)
        rounds = data.draw(st.lists(st.lists(one, min_size=1, max_size=5), min_size=1, max_size=5))
        numbered = [[(number, *rest) for number, (_, *rest) in enumerate(devices)] for devices in rounds]
        run = a_run(numbered)
        parts = critical_path.participations(run)
        total_s = run.rounds["duration_s"].sum()
        assert critical_path.time_by_phase(parts).sum() == pytest.approx(total_s)
        for shares in (bottleneck.energy_shares(run), shares_of_time(run)):
            if shares:
                assert sum(shares.values()) == pytest.approx(1.0)
                assert min(shares.values()) > -1e-9
        for phase in range(3):
            slowest = [
                max(sum(phases) - phases[phase] for _, phases, _ in devices) for devices in numbered
            ]  # the same rounds without any time in this phase
            column = phase + 1  # the first one is setting up
            assert critical_path.duration_without(parts, column) == pytest.approx(sum(slowest), abs=1e-6)


class TestPace:
    def said(self, rounds, *args, **changes):
        """The clauses of the sentence without the first, on shares, and the last, on savings."""
        _, *clauses = bottleneck.sentence(a_run(rounds, *args, **changes)).rstrip(".").split("; ")
        return [clause for clause in clauses if not clause.startswith("without")]

    def test_same_device_sets_pace(self):
        rounds = [[device(7, 1, 1, 9), device(3, 1, 1, 1)]] * 5 + [[device(7, 1, 1, 1), device(3, 1, 1, 9)]]
        assert self.said(rounds) == ["device 7 sets the pace in 5 of 6 rounds"]

    def test_farthest_participant_sets_pace(self):
        rounds = []
        for number in range(10):  # another device each time
            far = device(number, 1, 1, 9 - number / 10, distance_m=200 + number)
            others = [device(20 + place, 1, 1, 2, distance_m=100 - place) for place in range(4)]
            rounds.append([*others, far])
        assert self.said(rounds) == ["the farthest participant sets the pace in 10 of 10 rounds"]

    def test_weakest_link_sets_pace(self):
        rounds = []
        for number in range(10):  # path loss and shadowing together
            weak = device(number, 1, 1, 9, pathloss_db=100 + number, shadowing_db=20.0)
            others = [device(20 + place, 1, 1, 2, pathloss_db=110.0, distance_m=300 + place) for place in range(4)]
            rounds.append([*others, weak])
        assert self.said(rounds) == ["the participant with the weakest link sets the pace in 10 of 10 rounds"]

    def test_slowest_processor_sets_pace(self):
        samples = [100] * 5 + [150] * 20
        others = [device(5 + place, 1, 4, 1) for place in range(4)]
        rounds = [[device(number, 1, 9, 1), *others] for number in range(5)]  # 100 samples in 9 s beside 150 in 4 s
        assert self.said(rounds, samples) == [
            "the participant with the slowest processor sets the pace in 5 of 5 rounds"
        ]

    def test_participant_with_most_data_sets_pace(self):
        samples = [400] * 5 + [100] * 20
        rounds = [[device(number, 1, 8, 1), *(device(5 + place, 1, 2, 1) for place in range(4))] for number in range(5)]
        assert self.said(rounds, samples) == ["the participant with the most data sets the pace in 5 of 5 rounds"]

    def test_distance_by_chance_is_not_named(self):
        # It computes longest, and that alone makes it slow.
        rounds = []
        for number in range(10):
            slow = device(number, 1, 9, 1, distance_m=200 + number)
            others = [device(20 + place, 1, 2, 1, distance_m=100 - place) for place in range(4)]
            rounds.append([*others, slow])
        assert self.said(rounds) == ["the longest computing sets the pace in 10 of 10 rounds"]

    def test_a_group(self):
        groups = [{"name": "phones", "count": 4}, {"name": "sensors", "count": 4}]
        rounds = []
        for number in range(4):
            slow = device(4 + number, 1, 1, 9)
            rounds.append([device(number, 1, 1, 2), device((number + 1) % 4, 1, 1, 3), slow])
        changes = {"devices": {"count": 8, "groups": groups}}
        assert self.said(rounds, **changes) == ["a device of the group sensors sets the pace in 4 of 4 rounds"]

    def test_setters_without_common_trait_are_counted(self):
        rounds = []
        for number in range(12):
            rounds.append([device(10 * number + place, 1 + place, 4 - place, 2) for place in range(3)])
            # Each time another phase, and another place.
            slow = 10 * number + number % 3
            phases = [1.0, 1.0, 1.0]
            phases[number % 3] = 30.0
            rounds[-1][number % 3] = device(slow, *phases, distance_m=50.0 if number % 2 else 200.0)
        assert self.said(rounds) == ["12 devices take turns at setting the pace, none in more than 1 of 12 rounds"]

    def test_participants_that_end_together_are_in_step(self):
        rounds = [[device(place, 1 + place, 5 - place, 4) for place in range(4)]] * 3
        assert self.said(rounds) == ["all participants end together in 3 of 3 rounds"]

    def test_deadline_that_ends_most_rounds_is_named(self):
        late = device(1, 1, 1, 3, status="late")
        rounds = [[device(0, 1, 1, 1), late]] * 3 + [[device(0, 1, 1, 1), device(1, 1, 1, 2)]] * 2
        policy = {"kind": "deadline", "late": "drop"}
        assert self.said(rounds, server__policy=policy) == ["the deadline ends 3 of 5 rounds"]

    def test_deadline_is_named_after_pace_setter(self):
        late = device(1, 1, 1, 3, status="late")
        rounds = [[device(0, 1, 1, 1), late]] * 2 + [[device(0, 1, 1, 1), device(1, 1, 1, 2)]] * 3
        policy = {"kind": "deadline", "late": "drop"}
        said = ["device 1 sets the pace in 3 of 5 rounds, the deadline in 2"]
        assert self.said(rounds, server__policy=policy) == said

    def test_over_selection_ignores_late_participants(self):
        late = device(9, 1, 1, 4, status="late")  # cut off when device 1 had arrived
        rounds = [[device(0, 1, 1, 1), device(1, 1, 1, 4), late]] * 3
        policy = {"kind": "over_selection", "factor": 1.5}
        assert self.said(rounds, server__policy=policy) == ["device 1 sets the pace in 3 of 3 rounds"]

    def test_lone_device_sets_no_pace(self):
        assert self.said([[device(0, 1, 1, 1)]] * 3) == []

    def test_rounds_with_one_participant_do_not_count(self):
        rounds = [[device(0, 1, 1, 1)]] * 2 + [[device(0, 1, 1, 1), device(1, 1, 1, 3)]] * 3
        assert self.said(rounds) == ["device 1 sets the pace in 3 of the 3 rounds with several participants"]

    def test_waiting_device_sets_no_pace(self):
        # All have waited for something else than each other.
        rounds = [[device(0, 1, 1, 1, until_s=9), device(1, 1, 1, 2, until_s=9)]] * 3
        assert self.said(rounds) == []

    def test_lags_add_up(self):
        run = a_run([[device(0, 1, 2, 9), device(1, 2, 3, 1)], [device(0, 4, 1, 1), device(1, 1, 1, 1)]])
        parts = critical_path.participations(run)
        setters = critical_path.set_pace(parts)
        assert setters.tolist() == [True, False, True, False]
        lags_s = critical_path.lag_by_phase(parts, setters)
        assert lags_s == pytest.approx([0.0, -0.5 + 1.5, -0.5, 4.0])
        assert lags_s.sum() == pytest.approx((12 - 9) + (6 - 4.5))  # behind the mean of each round


class TestWithoutAPhase:
    def test_saving_is_bounded_by_the_next_device(self):
        run = a_run([[device(0, 1, 1, 8), device(1, 1, 5, 1)]])
        assert "without upload a round would take 6 s instead of 10 s" in bottleneck.sentence(run)

    def test_time_after_last_device_stays(self):
        policy = {"kind": "hierarchical", "cloud_every": 1}
        run = a_run([[device(0, 1, 1, 8, until_s=12)]], server__policy=policy)
        assert "without upload a round would take 4 s instead of 12 s" in bottleneck.sentence(run)

    @pytest.mark.parametrize(
        "changes",
        [
            {"server__policy": {"kind": "deadline"}},
            {"server__policy": {"kind": "split"}},
            {"radio__sharing": "processor"},
        ],
    )
    def test_saving_is_omitted_where_other_times_would_change(self, changes):
        run = a_run([[device(0, 1, 8, 1), device(1, 1, 5, 1)]], **changes)
        assert "without" not in bottleneck.sentence(run)
        assert "Computing takes 80 % of the time" in bottleneck.sentence(run)

    def test_uploads_on_a_shared_band_do_not_matter_to_what_comes_before(self):
        run = a_run([[device(0, 1, 1, 8), device(1, 1, 5, 1)]], radio__sharing="processor")
        assert "without upload a round would take 6 s" in bottleneck.sentence(run)


class TestOtherPrices:
    """A run of two rounds of 10 s at 100 MHz and 23 dBm, which has been priced with other values."""

    def said(self, points, **own):
        run = a_run([[device(0, 1, 1, 8), device(1, 1, 5, 1)]] * 2)
        summary = {"rounds": 2, "time_s": 20.0, "energy_j": 1.0}
        rows = [WhatIfRow(costs=summary | own)]
        rows += [WhatIfRow(key, value, "", summary | {"time_s": time_s, **more}) for key, value, time_s, more in points]
        return bottleneck.sentence(replace(run, summary=summary, what_if=rows))

    def test_best_neighbouring_value_is_named(self):
        points = [
            ("radio.bandwidth_hz", "80e6", 26.0, {}),
            ("radio.bandwidth_hz", "120e6", 12.0, {}),
            ("radio.bandwidth_hz", "400e6", 5.0, {}),  # the widest band is always fastest
            ("devices.tx_power_dbm", "26", 18.0, {}),
        ]
        assert self.said(points).endswith("; 20 MHz more bandwidth would save 4 s a round.")

    def test_lower_value_may_save_time(self):
        points = [("radio.bandwidth_hz", "80e6", 16.0, {})]
        assert self.said(points).endswith("; 20 MHz less bandwidth would save 2 s a round.")

    def test_a_level_is_named_by_its_values(self):
        points = [("devices.tx_power_dbm", "26", 18.0, {}), ("devices.tx_power_dbm", "20", 25.0, {})]
        assert self.said(points).endswith("; tx power 26 dBm instead of 23 dBm would save 1 s a round.")

    def test_members_have_no_order(self):
        points = [("radio.allocation", "max_rate", 14.0, {}), ("radio.allocation", "hungarian", 18.0, {})]
        assert self.said(points).endswith("; allocation max_rate would save 3 s a round.")

    @pytest.mark.parametrize(
        "points",
        [
            [("radio.bandwidth_hz", "120e6", 20.0, {})],  # which saves nothing
            [("radio.bandwidth_hz", "120e6", 12.0, {"rounds": 1})],  # of which the learning was cut short
        ],
    )
    def test_without_saving_value_the_phase_is_named(self, points):
        assert self.said(points).endswith("; without upload a round would take 6 s instead of 10 s.")

    def test_prices_of_another_run_do_not_count(self):
        points = [("radio.bandwidth_hz", "120e6", 12.0, {})]
        assert "would save" not in self.said(points, time_s=21.0)


class TestPolicies:
    def test_sequential_devices_take_turns(self):
        rounds = [[device(0, 1, 1, 1), device(1, 1, 4, 1, begins=3), device(2, 1, 0, 0, begins=9)]] * 2
        run = a_run(rounds, server__policy={"kind": "sequential"})
        assert bottleneck.sentence(run) == (
            "Computing takes 50 % of the time; devices take turns, and the longest of 3 turns takes 60 % of its round."
        )

    def test_without_rounds(self):
        run = a_run([[device(0, 1, 1, 2), device(1, 1, 1, 6)]] * 2, server__policy={"kind": "asynchronous"})
        run.devices["start_s"][2:] -= 1.0  # they began before the round in which they end
        assert "of the devices' time;" in bottleneck.sentence(run)
        said = "no device waits for the slowest one: an update takes 6 s in the median, 8 s at most."
        assert bottleneck.sentence(run).endswith(said)

    def test_app_has_no_pace(self):
        policy = {"kind": "flower", "app": "my-app"}
        run = a_run([[device(0, 1, 1, 8), device(1, 1, 5, 1)]], server__policy=policy)
        # 9 of 17 s of work and 3 s of waiting
        assert bottleneck.sentence(run) == "Upload takes 45 % of the devices' time."

    def test_batteries_also_lose_energy_outside_learning(self):
        run = a_run([[device(0, 1, 1, 8, tx_energy_j=2.0, battery_j=5.0)]])
        run.rounds["battery"] = np.array([0.5])
        assert bottleneck.sentence(run).startswith("Upload takes 100 % of the energy of learning and 80 % of the time")


class TestOddFolders:
    def test_run_without_participations_has_no_sentence(self, result):
        run = load(result(rounds=0, status="interrupted"))
        assert bottleneck.sentence(run) == ""

    def test_participations_without_start_begin_with_their_round(self, tmp_path):
        folder = make(tmp_path / "new")
        older = rewrite(make(tmp_path / "old"), "devices.csv", lambda _: {"start_s": "", "idle_energy_j": ""})
        assert bottleneck.sentence(load(older)) == bottleneck.sentence(load(folder)) != ""

    def test_share_below_one_is_not_rounded_to_100(self):
        run = a_run([[device(0, 0.001, 0, 1)]])
        assert "Upload takes over 99 % of the time" in bottleneck.sentence(run)

    def test_polls_alone_have_no_sentence(self, result):
        folder = with_rounds(result(rounds=3), received=lambda _: 0)
        folder = rewrite(folder, "devices.csv", lambda _: {"status": "polled"})
        assert bottleneck.sentence(load(folder)) == ""


def test_the_page_opens_its_story_with_the_bottleneck(result):
    run = load(result())
    first = bottleneck.sentence(run)
    assert narrative.sentences(run)[0] == first
    assert "<strong>" + first.split("; ")[0].replace(" %", "\N{NO-BREAK SPACE}%") in render([run])


@pytest.mark.parametrize("policy", ["synchronous", "over_selection"])
def test_pace_setter_ends_with_its_round_in_a_real_run(policy):
    """By the event log, the device that sets the pace ends its upload when the round ends."""
    overrides = ["rounds=8", f"server.policy={policy}"]
    result = edgefl.run("scenarios/03-moving-devices.yaml", overrides=overrides, train=False)
    run = result.as_run()
    parts = critical_path.participations(run)
    assert critical_path.time_by_phase(parts).sum() == pytest.approx(run.rounds["time_s"][-1])
    setters = critical_path.set_pace(parts)
    assert critical_path.rounds_of(parts, setters) == 8
    events = result.events
    ended = events[events["kind"] == "upload_end"]
    for round_end_s, number in zip(run.rounds["time_s"], parts.device[setters], strict=True):
        last = ended[np.isclose(ended["time_s"], round_end_s, rtol=0, atol=1e-6)]
        assert number in set(last["device"])
