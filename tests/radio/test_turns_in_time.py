"""An allocation with a memory: turns in time, in runs."""

import numpy as np
import pytest

import edgefl
from edgefl import InputError
from edgefl.core.plugins import WrongReturn
from edgefl.radio.allocation import Allocation
from edgefl.radio.allocation.proportional_fair_in_time import ProportionalFairInTime
from edgefl.radio.bands.memory import BandMemory
from edgefl.scenario import load

NAME = "proportional_fair_in_time"
WORLD = {
    "rounds": 2,
    "devices": {"count": 6},
    "server": {"participants": 6},
    "model": {"kind": "mlp", "cost": {"parameters": 50_000, "flops_per_parameter": 6.0}},
    "mobility": {"kind": "static", "speed_mps": 3},
}


def run(folder, allocation=NAME, rounds=2, **radio):
    """Return the result of a run with one shared band."""
    keys = {"bandwidth_hz": 5e6, "sharing": "processor", "allocation": allocation, **radio}
    return edgefl.run({**WORLD, "rounds": rounds, "radio": keys}, out=folder, train=False, resume=folder.exists())


@pytest.mark.oracle
def test_turns_at_peaks_are_faster_than_turns_in_order(tmp_path):
    fair = run(tmp_path / "fair")
    in_order = run(tmp_path / "in_order", "round_robin")
    assert fair.rounds["duration_s"].sum() < in_order.rounds["duration_s"].sum()
    assert fair.devices["bytes_up"].tolist() == in_order.devices["bytes_up"].tolist()


@pytest.mark.oracle
def test_band_over_constant_channels_is_full_until_the_last_transfer_ends(tmp_path):
    """Work is conserved: turns only order the bits, so that the last upload ends as with any other order."""
    fair = run(tmp_path / "fair", fading="none", rounds=1).devices
    in_order = run(tmp_path / "in_order", "round_robin", fading="none", rounds=1).devices
    slot_s = load({}).radio.slot_s
    # Each turn of ten slots may leave a part of its last slot empty when a transfer ends in it.
    assert fair["download_s"].max() == pytest.approx(in_order["download_s"].max(), abs=12 * slot_s)


@pytest.mark.oracle
def test_device_sends_only_in_its_turns(tmp_path):
    """The transmit energy is that of the turns, which add up to the band's busy time at most."""
    result = run(tmp_path / "fair", rounds=1)
    devices = result.devices
    power_w = 0.2  # the default, 23 dBm
    on_air_s = devices["tx_energy_j"].sum() / power_w
    begun_s = (devices["start_s"] + devices["download_s"] + devices["compute_s"]).min()
    assert on_air_s <= (result.rounds["time_s"].iloc[-1] - begun_s) * (1 + 1e-6)
    assert (devices["tx_energy_j"] < power_w * devices["upload_s"]).all()


def test_memory_of_an_idle_device_fades_as_if_it_had_been_served_nothing():
    memory = BandMemory(ProportionalFairInTime(window_s=0.5), slot_s=1e-3)
    both = np.array([3, 8])
    memory.note(both, slot=0, count=100, sent_bits=np.array([1e6, 0.0]))
    after = memory.at(both, 600)
    begun = 1e7 * (1 - np.exp(-0.1 / 0.5))
    assert after[:, 0] == pytest.approx([begun * np.exp(-0.5 / 0.5), 0.0])
    memory.note(np.array([3]), slot=100, count=500, sent_bits=np.zeros(1))
    assert memory.at(both, 600) == pytest.approx(after)
    assert memory.at(np.array([5]), 600).tolist() == [[0.0]]


def test_two_transfers_of_a_device_count_together():
    memory = BandMemory(ProportionalFairInTime(), slot_s=1e-3)
    memory.note(np.array([2, 2]), 0, 10, np.array([1e3, 3e3]))
    once = BandMemory(ProportionalFairInTime(), slot_s=1e-3)
    once.note(np.array([2]), 0, 10, np.array([4e3]))
    assert memory.at(np.array([2]), 10) == pytest.approx(once.at(np.array([2]), 10))


@pytest.mark.oracle
def test_run_that_goes_on_has_the_bytes_of_one_that_never_stopped(tmp_path):
    """The memory is computed again when a run is extended, as the world is run again."""
    run(tmp_path / "parts", rounds=1)
    run(tmp_path / "parts", rounds=3)
    run(tmp_path / "whole", rounds=3)
    for name in ("rounds.csv", "devices.csv"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.oracle
def test_memory_outlasts_a_round(tmp_path):
    """With a window of hours a device that had more in the first round has its turns later in the second."""
    short = run(tmp_path / "short", {"kind": NAME, "window_s": 0.01})
    long = run(tmp_path / "long", {"kind": NAME, "window_s": 1e4})
    assert not np.allclose(short.devices["upload_s"], long.devices["upload_s"])


@pytest.mark.parametrize(
    ("radio", "fault"),
    [
        ({"transfer": "fast"}, "radio.transfer: allocation proportional_fair_in_time follows the fading slot by slot"),
        ({"sharing": "fixed"}, "radio.sharing: proportional_fair_in_time gives turns"),
    ],
)
def test_other_features_are_refused_in_a_line(radio, fault):
    with pytest.raises(InputError) as caught:
        load({"radio": {"allocation": NAME, **radio}})
    (line,) = caught.value.faults
    assert fault in line


def test_turns_make_processor_sharing_the_default():
    assert load({"radio": {"allocation": NAME}}).radio.sharing == "processor"


class InOrder(Allocation):
    """Turns in the order of who has waited longest."""

    in_turn = True
    in_time = True

    @property
    def memory_width(self):
        """Return 1: the time without a turn."""
        return 1

    def shares(self, band_hz, payload_bits, snr_hz, efficiency, *, spread):
        """Return turns of equal length."""
        return ProportionalFairInTime().shares(band_hz, payload_bits, snr_hz, efficiency, spread=spread)

    def turns(self, coming_bps, memory):
        """Return the turn of the device that has waited longest."""
        return np.eye(len(memory))[np.argmax(memory[:, 0])]

    def remember(self, memory, served_bps, lasted_s):
        """Return how long each has waited."""
        return np.where(served_bps[:, None] > 0, 0.0, memory + np.reshape(lasted_s, (-1, 1)))


class Greedy(InOrder):
    """Gives the band twice."""

    def turns(self, coming_bps, memory):
        """Return too much."""
        return np.ones(len(memory))


@pytest.mark.oracle
def test_allocation_from_outside_may_keep_a_memory(tmp_path):
    result = run(tmp_path / "mine", {"kind": InOrder})
    assert result.rounds["received"].tolist() == [6, 6]
    with pytest.raises(WrongReturn, match=r"Greedy\.turns returned 2, must return parts that add up to 1 at most"):
        BandMemory(Greedy(), 1e-3).turns(np.array([1, 2]), np.ones(2), 0)
