"""Measurements by a clock that steps move."""

import math

import pytest
from calibration_cases import LAW, step_s

from edgefl.calibration.calibration import calibrate
from edgefl.calibration.log import NetworkCounts, read_counts, read_log, read_provenance
from edgefl.core.errors import InputError
from edgefl.measuring import board
from edgefl.measuring.measurement import Meter, check_folder, measure, write
from edgefl.measuring.networks import Network, ladder, settings_of
from edgefl.measuring.timing import ROUNDS, repeats, slowdown
from edgefl.world.compute_law import ForwardCounts

FACTS = {"edgefl": "1", "board": "Raspberry Pi 4", "power": "none"}


class Machine:
    """Takes steps that last as long as a function says."""

    def __init__(self, step_s):
        self.now_s = 0.0
        self.taken = 0
        self.step_s = step_s

    def clock(self):
        return self.now_s

    def run(self, steps):
        for _ in range(steps):
            self.now_s += self.step_s(self.taken)
            self.taken += 1


def test_repeats_begin_when_times_have_settled_and_last_as_long_as_asked():
    machine = Machine(lambda taken: 0.001 * (1 + 9 * math.exp(-taken / 5)))
    found = repeats(machine.run, 2.0, machine.clock)
    assert len(found) == ROUNDS
    assert sum(one.seconds for one in found) == pytest.approx(2.0, rel=0.01)
    assert [one.step_s for one in found] == pytest.approx([0.001] * ROUNDS)
    assert found[1].began_s == pytest.approx(found[0].began_s + found[0].seconds)


def test_a_warm_up_that_never_settles_and_steps_longer_than_asked_come_to_an_end():
    machine = Machine(lambda taken: 10 * 0.9**taken)
    assert [one.steps for one in repeats(machine.run, 1.0, machine.clock)] == [1] * ROUNDS
    assert machine.taken == 1 + ROUNDS


@pytest.mark.parametrize(
    ("times_s", "slower"),
    [
        ([1, 1.01, 1, 1.3, 1.31], 0.3),
        ([1, 1.01, 1, 1.02, 1.01], 0),
        ([1, 1.2, 0.9, 1.1, 1.2], 0),
        ([1.3, 1.3, 1, 1, 1], 0),
    ],
)
def test_later_repeats_that_are_slower_than_their_spread_are_told(times_s, slower):
    assert slowdown(times_s) == pytest.approx(slower, abs=0.01)


def measured(networks, time_s, seconds=1.0):
    """The rows of a machine whose training steps last as long as a function of network and batch size says."""
    machine = Machine(None)

    def prepare(setting):
        whole_s = time_s(setting.network, setting.batch_size)
        machine.step_s = lambda _taken: whole_s if setting.phase == "train" else whole_s / 3
        return machine.run

    told = []
    found = measure(
        settings_of(networks),
        prepare,
        seconds=seconds,
        device_name="pi",
        with_clock=False,
        meter=Meter(),
        tell=told.append,
        clock=machine.clock,
    )
    return found, told


@pytest.mark.oracle
def test_the_ladder_tells_a_law_back(tmp_path):
    """A board twice as fast as the preset, with other ratios."""
    factors = (1, 1.3, 0.8, 1.2, 0.9, 1.3, 0.7)
    seconds = {key: number * factor for (key, number), factor in zip(LAW.items(), factors, strict=True)}
    networks = ladder()
    found, told = measured(networks, lambda network, size: step_s(seconds, network.counts, size))
    assert len(told) == 2 * sum(len(network.batch_sizes) for network in networks) + 1
    log, counts = write(tmp_path, found, networks, FACTS)
    (device,) = calibrate(log, counts).fitted.types.values()
    assert device.law.untold == []
    assert device.law.seconds == pytest.approx(seconds, rel=0.05)
    assert device.jitter == pytest.approx(0, abs=1e-9)


def test_files_are_those_that_a_calibration_reads(tmp_path):
    networks = [Network(name, (1, 16), (2,), None, NetworkCounts(ForwardCounts(1, 2, 3, 4, 5, 6))) for name in "ab"]
    found, told = measured(networks, lambda _network, size: 0.01 * size, seconds=0.99)
    log, counts = write(tmp_path, found, networks, FACTS)
    assert told[0] == "a, batch 2, train: 0.02 s a step, ±0.0 %"
    rows = read_log(log)
    assert [row.phase for row in rows] == [*(["train"] * 5), *(["evaluate"] * 5)] * 2 + ["train"] * 5
    assert (rows[0].batch_size, rows[0].steps, rows[0].samples) == (2, 10, 20)
    assert rows[0].seconds == pytest.approx(0.2)
    assert [row.round for row in rows if (row.network, row.phase) == ("a", "train")] == [*"123456789", "10"]
    assert read_counts(counts) == {network.name: network.counts for network in networks}
    assert read_provenance(log) == FACTS
    assert found.throttling.startswith("no setting became slower")
    with pytest.raises(InputError, match=r"log.csv: exists: choose another folder, or add --overwrite"):
        check_folder(tmp_path, overwrite=False)
    check_folder(tmp_path, overwrite=True)
    counts.write_text("network,macs\n")
    with pytest.raises(InputError, match=r"counts.csv: edgefl has not written this file"):
        check_folder(tmp_path, overwrite=True)


def test_a_network_that_becomes_slower_is_told_by_its_last_repeats():
    networks = [Network(name, (1, 16), (2,), None, NetworkCounts(ForwardCounts(1, 2, 3, 4, 5))) for name in "ab"]
    calls = iter([0.02, 0.02, 0.02, 0.02, 0.03])
    found, _ = measured(networks, lambda _network, _size: next(calls))
    told = "1 of 4 settings became slower, most by 50 % (a, batch 2, train)"
    assert found.throttling.startswith(told)


def test_a_board_is_named_by_its_device_tree(tmp_path):
    model = tmp_path / "model"
    model.write_bytes(b"Raspberry Pi 4 Model B Rev 1.4\0")
    assert board.board_name(model) == "Raspberry Pi 4 Model B Rev 1.4"
    assert board.type_name(model) == "raspberry-pi-4-model-b-rev-1-4"
    policy = tmp_path / "devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_cur_freq").write_text("1800000\n")
    for number, text in enumerate(("61234\n", "")):
        zone = tmp_path / f"class/thermal/thermal_zone{number}"
        zone.mkdir(parents=True)
        (zone / "temp").write_text(text)
    assert (board.clock_hz(tmp_path), board.temperature_c(tmp_path)) == (1.8e9, 61.234)
    assert board.clock_hz(tmp_path / "no") is None
