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
from edgefl.results.report.run import bottleneck
from edgefl.results.report.shared.read import load
from edgefl.results.report.why import critical_path, decomposition


def shares_of_time(run):
    times_s = decomposition.whole(run).time_s
    return {part: time_s / sum(times_s.values()) for part, time_s in times_s.items()}


class TestCriticalPath:
    def test_devices_that_end_together_share_the_round(self):
        shares = shares_of_time(a_run([[device(0, 0, 2, 8), device(1, 0, 8, 2)]]))
        assert shares["compute"] == pytest.approx(0.5)
        assert shares["upload"] == pytest.approx(0.5)

    def test_departed_device_is_not_waited_for(self):
        gone = device(1, 9, 0, 0, status="departed")
        run = a_run([[device(0, 1, 1, 8), gone]])
        run.devices["wait_s"][1] = 0.0  # it left after 9 of 10 s
        assert shares_of_time(run)["upload"] == pytest.approx(0.8)

    @pytest.mark.parametrize("more", [{"until_s": 10}, {"begins": 7}])
    def test_time_after_the_last_device_and_before_the_first_is_waiting(self, more):
        run = a_run([[device(0, 1, 1, 1, **more)]])
        assert shares_of_time(run)["wait"] == pytest.approx(0.7)
        assert bottleneck.sentence(run).startswith("Waiting takes 70 % of the time")

    @pytest.mark.oracle
    @pytest.mark.parametrize("policy", ["synchronous", "sequential", "deadline"])
    def test_evaluations_on_devices_do_not_count_as_waiting(self, policy):
        # Some updates come too late, and their devices wait for the end of the evaluation without taking part in it.
        server = {"participants": 4, "policy": policy, "device_evaluation": {}}
        if policy == "deadline":
            server["deadline_s"] = 0.05
        run = edgefl.run({**BASE, "server": server}, train=False).as_run()
        server.pop("device_evaluation")
        alone = edgefl.run({**BASE, "server": server}, train=False).as_run()
        evaluation_s = run.rounds["evaluation_s"].sum()
        shares = shares_of_time(run)
        share = shares.pop("evaluation")
        assert share == pytest.approx(evaluation_s / run.rounds["duration_s"].sum())
        of_training = {name: value / (1 - share) for name, value in shares.items()}
        expected = shares_of_time(alone)
        expected.pop("evaluation")
        assert of_training == pytest.approx(expected, abs=1e-9)
        assert ("late" in run.devices["status"]) == (policy == "deadline")

    @pytest.mark.oracle
    @settings(max_examples=30, deadline=None)
    @given(st.data())
    def test_without_a_phase_a_round_takes_the_rest_of_its_slowest_device(self, data):
        second = st.floats(0, 100)
        phases = st.tuples(second, second, second)
        rounds = data.draw(st.lists(st.lists(phases, min_size=1, max_size=5), min_size=1, max_size=5))
        run = a_run([[device(number, *times) for number, times in enumerate(of_round)] for of_round in rounds])
        times_s = decomposition.whole(run).time_s
        assert sum(times_s.values()) == pytest.approx(run.rounds["duration_s"].sum())
        assert min(times_s.values()) >= -1e-9
        for phase in range(3):
            slowest = [max(sum(times) - times[phase] for times in of_round) for of_round in rounds]
            parts = critical_path.participations(run)
            # The first phase is setting up.
            assert critical_path.duration_without(parts, phase + 1) == pytest.approx(sum(slowest), abs=1e-6)


class TestSentence:
    def test_one_phase_may_take_most_of_both(self):
        costs = {"rx_energy_j": 1.0, "cpu_energy_j": 2.0, "tx_energy_j": 6.0, "idle_energy_j": 1.0}
        run = a_run([[device(0, 1, 1, 8, **costs), device(1, 1, 5, 1)]])
        assert bottleneck.sentence(run) == (
            "Upload takes 60 % of the energy and 80 % of the time; without upload a round would take 6 s "
            "instead of 10 s."
        )

    def test_energy_and_time_may_have_different_ones(self):
        run = a_run([[device(0, 1, 1, 8, cpu_energy_j=2.0)]], server__policy={"kind": "deadline"})
        assert bottleneck.sentence(run) == "Computing takes 100 % of the energy, upload takes 80 % of the time."

    def test_without_energy_only_time_counts(self):
        assert bottleneck.sentence(a_run([[device(0, 1, 1, 2)]])).startswith("Upload takes 50 % of the time;")

    def test_batteries_also_lose_energy_outside_learning(self):
        run = a_run([[device(0, 1, 1, 8, tx_energy_j=2.0, battery_j=5.0)]])
        run.rounds["battery"] = np.array([0.5])
        assert bottleneck.sentence(run).startswith("Upload takes 100 % of the energy of learning and 80 % of the time")

    def test_share_below_one_is_not_rounded_to_100(self):
        assert "Upload takes over 99 % of the time" in bottleneck.sentence(a_run([[device(0, 0.001, 0, 1)]]))

    def test_time_after_the_last_device_stays(self):
        policy = {"kind": "hierarchical", "cloud_every": 1}
        run = a_run([[device(0, 1, 1, 8, until_s=12)]], server__policy=policy)
        assert "without upload a round would take 4 s instead of 12 s" in bottleneck.sentence(run)

    @pytest.mark.parametrize(
        "changes",
        [
            {"server__policy": {"kind": "deadline"}},
            {"server__policy": {"kind": "split"}},
            {"server__policy": {"kind": "flower", "app": "my-app"}},
            {"radio__sharing": "processor"},
        ],
    )
    def test_saving_is_omitted_where_other_times_would_change(self, changes):
        run = a_run([[device(0, 1, 8, 1), device(1, 1, 5, 1)]], **changes)
        assert bottleneck.sentence(run) == "Computing takes 80 % of the time."

    @pytest.mark.parametrize("status", ["late", "polled"])
    def test_saving_is_omitted_where_devices_wait_for_others(self, status):
        run = a_run([[device(0, 1, 8, 1), device(1, 1, 5, 1, status=status)]])
        assert "without" not in bottleneck.sentence(run)

    def test_uploads_on_a_shared_band_do_not_matter_to_what_comes_before(self):
        run = a_run([[device(0, 1, 1, 8), device(1, 1, 5, 1)]], radio__sharing="processor")
        assert "without upload a round would take 6 s" in bottleneck.sentence(run)

    def test_without_rounds_it_is_the_time_of_the_last_chain(self):
        run = a_run([[device(0, 1, 1, 2), device(1, 1, 1, 6)]] * 2, server__policy={"kind": "asynchronous"})
        run.devices["start_s"][2:] -= 1.0  # they began before the round in which they end
        # The last update took 8 s; the one that ended before it began took 4 s of the first 7 s.
        assert bottleneck.sentence(run) == "Upload takes 50 % of the time."


class TestOddFolders:
    def test_run_without_participations_has_no_sentence(self, result):
        assert bottleneck.sentence(load(result(rounds=0, status="interrupted"))) == ""

    def test_participations_without_start_begin_with_their_round(self, tmp_path):
        folder = make(tmp_path / "new")
        older = rewrite(make(tmp_path / "old"), "devices.csv", lambda _: {"start_s": "", "idle_energy_j": ""})
        assert bottleneck.sentence(load(older)) == bottleneck.sentence(load(folder)) != ""

    def test_polls_alone_have_no_sentence(self, result):
        folder = with_rounds(result(rounds=3), received=lambda _: 0)
        folder = rewrite(folder, "devices.csv", lambda _: {"status": "polled"})
        assert bottleneck.sentence(load(folder)) == ""

    def test_run_read_without_its_devices_has_no_sentence(self, result):
        assert bottleneck.sentence(replace(load(result()), devices={})) == ""
