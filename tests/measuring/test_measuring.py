"""Measurements by a clock that steps move."""

import math
from itertools import count, product

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

    def settled(self, seconds):
        return Stopwatch(self.take, lambda: self.now_s).settled(seconds)


def test_a_warm_up_ends_when_times_have_settled():
    block = Machine(lambda taken: 0.001 * (1 + 9 * math.exp(-taken / 5))).settled(2.0)
    assert block.step_s == pytest.approx(0.001)
    assert block.seconds > 0.2


def test_a_warm_up_that_never_settles_comes_to_an_end():
    machine = Machine(lambda taken: 10 * 0.9**taken)
    assert (machine.settled(1.0).steps, machine.taken) == (1, 1)


def test_later_repeats_that_are_slower_than_their_spread_are_told():
    assert slowdown([1, 1.01, 1, 1.3, 1.31]) == pytest.approx(0.3, abs=0.01)
    for times_s in ([1, 1.01, 1, 1.02, 1.01], [1, 1.2, 0.9, 1.1, 1.2], [1.3, 1.3, 1, 1, 1]):
        assert slowdown(times_s) == 0


def measured(networks, time_s, seconds=1.0):
    """The rows of a machine whose training steps last as long as a function of a network's counts and batches says."""
    machine = Machine(None)
    told = []

    def steps_of(counts, sizes, device, *, train):
        def take(steps):
            machine.time_s = lambda _taken: time_s(counts, sizes[0]) / (1 if train else 3)
            machine.take(steps)

        return take

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
    assert len(told) == 4 * sum(len(network.batch_sizes) for network in networks)
    log, counts = write(tmp_path, rows, networks, FACTS)
    (device,) = calibrate(log, counts).fitted.types.values()
    assert device.law.untold == []
    assert device.law.seconds == pytest.approx(law, rel=0.06)
    assert device.jitter == pytest.approx(0, abs=1e-9)


def test_files_are_those_that_a_calibration_reads(tmp_path):
    rows, throttling, told = measured(SMALL, lambda _counts, size: 0.01 * size, seconds=0.99)
    log, counts = write(tmp_path, rows, SMALL, FACTS)
    assert (told[0], told[-1]) == (
        "a, batch 2, train: about 0.02 s a step",
        "b, batch 2, evaluate: 0.006667 s a step, ±0.0%",
    )
    assert throttling.startswith("no setting became slower")
    rows = read_log(log)
    assert [(row.network, row.phase) for row in rows] == [*product("ab", ("train", "evaluate"))] * ROUNDS
    assert (rows[0].batch_size, rows[0].steps, rows[0].samples) == (2, 10, 20)
    assert rows[0].seconds == pytest.approx(0.2)
    assert [row.round for row in rows if (row.network, row.phase) == ("a", "train")] == [*"12345"]
    assert read_counts(counts) == dict.fromkeys("ab", NetworkCounts(SMALL[0].counts, kind="other"))
    assert read_provenance(log) == FACTS
    with pytest.raises(InputError, match=r"log.csv: exists: choose another folder, or add --overwrite"):
        check_folder(tmp_path, overwrite=False)
    check_folder(tmp_path, overwrite=True)
    counts.write_text("network,macs\n")
    with pytest.raises(InputError, match=r"counts.csv: edgefl has not written this file"):
        check_folder(tmp_path, overwrite=True)


def test_networks_that_become_slower_are_told():
    warm = 15 + 31 + 3 * (11 + 31)  # steps: warm-ups, and three rounds
    taken = count()
    _, throttling, _ = measured(SMALL[:1], lambda _counts, _size: 0.02 if next(taken) < warm else 0.03, seconds=0.99)
    assert throttling.startswith("2 of 2 settings became slower, most by 50% (a, batch 2, train)")


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
