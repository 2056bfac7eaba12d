"""Measurements by a clock that steps move."""

import math

import pytest
from calibration_cases import LAW, step_s

from edgefl.calibration.calibration import calibrate
from edgefl.calibration.log import NetworkCounts, read_counts, read_log, read_provenance
from edgefl.core.errors import InputError
from edgefl.measuring import board
from edgefl.measuring.measurement import check_folder, measure, write
from edgefl.measuring.networks import Network, chosen
from edgefl.measuring.power.source import Source
from edgefl.measuring.timing import ROUNDS, Stopwatch, slowdown
from edgefl.world.compute_law import ForwardCounts

FACTS = {"edgefl": "1", "board": "Raspberry Pi 4", "power": "none"}
SMALL = [Network(name, (1, 16), (2,), None, ForwardCounts(1, 2, 3, 4, 5, 6)) for name in "ab"]


class Machine:
    """Takes steps that last as long as a function of their number says."""

    def __init__(self, time_s):
        self.now_s = 0.0
        self.taken = 0
        self.time_s = time_s

    def take(self, steps):
        for _ in range(steps):
            self.now_s += self.time_s(self.taken)
            self.taken += 1

    def repeats(self, seconds):
        return Stopwatch(self.take, lambda: self.now_s).repeats(seconds)


def test_repeats_begin_when_times_have_settled_and_last_as_long_as_asked():
    found = Machine(lambda taken: 0.001 * (1 + 9 * math.exp(-taken / 5))).repeats(2.0)
    assert len(found) == ROUNDS
    assert sum(one.seconds for one in found) == pytest.approx(2.0, rel=0.01)
    assert [one.step_s for one in found] == pytest.approx([0.001] * ROUNDS)
    assert found[1].began_s == pytest.approx(found[0].began_s + found[0].seconds)


def test_a_warm_up_that_never_settles_and_steps_longer_than_asked_come_to_an_end():
    machine = Machine(lambda taken: 10 * 0.9**taken)
    assert [one.steps for one in machine.repeats(1.0)] == [1] * ROUNDS
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
    """The rows of a machine whose training steps last as long as a function of a network's counts and batches says."""
    machine = Machine(None)
    told = []

    def steps_of(counts, sizes, device, *, train):
        whole_s = time_s(counts, sizes[0])
        machine.time_s = lambda _taken: whole_s if train else whole_s / 3
        return machine.take

    rows, throttling = measure(
        [network._replace(make=lambda counts=network.counts: counts) for network in networks],
        "pi",
        seconds=seconds,
        device="cpu",
        source=Source(),
        tell=told.append,
        steps_of=steps_of,
        clock=lambda: machine.now_s,
    )
    return rows, throttling, told


@pytest.mark.oracle
def test_the_ladder_tells_a_law_back(tmp_path):
    """A board twice as fast as the preset, with other ratios."""
    factors = (1, 1.3, 0.8, 1.2, 0.9, 1.3, 0.7)
    law = {key: number * factor for (key, number), factor in zip(LAW.items(), factors, strict=True)}
    networks = chosen((), None, ())
    rows, _, told = measured(networks, lambda counts, size: step_s(law, NetworkCounts(counts), size))
    assert len(told) == 2 * sum(len(network.batch_sizes) for network in networks) + 1
    log, counts = write(tmp_path, rows, networks, FACTS)
    (device,) = calibrate(log, counts).fitted.types.values()
    assert device.law.untold == []
    assert device.law.seconds == pytest.approx(law, rel=0.06)
    assert device.jitter == pytest.approx(0, abs=1e-9)


def test_files_are_those_that_a_calibration_reads(tmp_path):
    rows, throttling, told = measured(SMALL, lambda _counts, size: 0.01 * size, seconds=0.99)
    log, counts = write(tmp_path, rows, SMALL, FACTS)
    assert told[0] == "a, batch 2, train: 0.02 s a step, ±0.0%"
    assert throttling.startswith("no setting became slower")
    rows = read_log(log)
    assert [row.phase for row in rows] == [*(["train"] * 5), *(["evaluate"] * 5)] * 2 + ["train"] * 5
    assert (rows[0].batch_size, rows[0].steps, rows[0].samples) == (2, 10, 20)
    assert rows[0].seconds == pytest.approx(0.2)
    assert [row.round for row in rows if (row.network, row.phase) == ("a", "train")] == [*"123456789", "10"]
    assert read_counts(counts) == dict.fromkeys("ab", NetworkCounts(SMALL[0].counts, kind="other"))
    assert read_provenance(log) == FACTS
    with pytest.raises(InputError, match=r"log.csv: exists: choose another folder, or add --overwrite"):
        check_folder(tmp_path, overwrite=False)
    check_folder(tmp_path, overwrite=True)
    counts.write_text("network,macs\n")
    with pytest.raises(InputError, match=r"counts.csv: edgefl has not written this file"):
        check_folder(tmp_path, overwrite=True)


def test_a_network_that_becomes_slower_is_told_by_its_last_repeats():
    times_s = iter([0.02, 0.02, 0.02, 0.02, 0.03])
    _, throttling, _ = measured(SMALL, lambda _counts, _size: next(times_s))
    assert throttling.startswith("1 of 4 settings became slower, most by 50% (a, batch 2, train)")


def test_a_board_is_named_by_its_device_tree(tmp_path):
    model = tmp_path / "model"
    model.write_bytes(b"Raspberry Pi 4 Model B Rev 1.4\0")
    assert board.board_name(model) == "Raspberry Pi 4 Model B Rev 1.4"
    sensors = {"devices/system/cpu/cpufreq/policy0/scaling_cur_freq": "1800000\n"}
    sensors |= {f"class/thermal/thermal_zone{number}/temp": text for number, text in enumerate(("61234\n", ""))}
    for name, text in sensors.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert board.state(tmp_path) == {"clock [Hz]": 1.8e9, "temperature [degrees C]": 61.234}
    assert board.state(tmp_path / "no") == {}
