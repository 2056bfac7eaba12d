"""Packet errors from the channel: frequencies against closed forms, and return values of plugins."""

import math
from typing import Any

import numpy as np
import pytest
import simpy
from radio_cases import DEVICE_W, SERVER_W, link, participants, snr_hz, transfers

import channel
import edgefl
from edgefl.radio.messages import UPLOAD, round_trip

COUNT = 20_000
BAND_HZ = 1e6


def outage(threshold_db: float, **keys: Any) -> dict[str, Any]:
    return {"errors": {"kind": "outage", "threshold_db": threshold_db}, **keys}


@pytest.mark.parametrize("db", [-3.0, 0.0, 10.0])
def test_the_outage_of_rayleigh_fading_is_the_papers(db):
    """Chen et al.: q = 1 - exp(-m (I + N) / (P h))."""
    m = 10 ** (db / 10)
    snr = np.array([0.5, 1.0, 30.0, 1e4])
    assert channel.packet_errors.outage_probability(m, snr) == pytest.approx(1 - np.exp(-m / snr), rel=1e-12)
    assert channel.packet_errors.outage_probability(m, 0.0) == 1.0


@pytest.mark.parametrize("k", [0.2, 5.0, 60.0])
def test_the_outage_of_ricean_fading_is_that_of_its_draws(k):
    """A million draws: four standard deviations."""
    h = np.random.default_rng(1).normal(size=(2, 10**6)) * math.sqrt(0.5 / (k + 1))
    power = (math.sqrt(k / (k + 1)) + h[0]) ** 2 + h[1] ** 2
    for threshold in (0.3, 0.8, 1.1):
        p = float(channel.packet_errors.outage_probability(2.0 * threshold, 2.0, k))
        assert (power < threshold).mean() == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 1e6) + 1e-12)
    assert channel.packet_errors.outage_probability([0.9, 1.1], 1.0, np.inf).tolist() == [0.0, 1.0]


@pytest.mark.oracle
@pytest.mark.parametrize("transfer", ["slots", "fast"])
@pytest.mark.parametrize("faults", [{}, {"failure_probability": 0.2}, {"attempts": 2}])
def test_attempts_fail_as_often_as_the_closed_form_says(transfer, faults):
    """20,000 uploads, four standard deviations (1.4 % at most): a threshold that is off by 1 dB shifts 5 to 9 %."""
    snr = snr_hz(DEVICE_W) / 1e5
    for q in (0.2, 0.5):
        threshold = -math.log(1 - q) * snr
        of = link(
            **outage(10 * math.log10(threshold)), bandwidth_hz=COUNT * 1e5, shadowing_db=0.0, faults=faults,
            transfer=transfer,
        )  # fmt: skip
        who = participants(of, np.arange(COUNT))
        offer = of.pricing.offer("up", who, 1e3)
        priced = of.pricing.price(offer, who, np.arange(COUNT))
        fails = (q + (1 - q) * faults.get("failure_probability", 0.0)) ** faults.get("attempts", 1)
        assert (~priced.delivered).mean() == pytest.approx(fails, abs=4 * math.sqrt(fails * (1 - fails) / COUNT))
        repeated = priced.sent_bits > 1e3 * (1 + 1e-9)
        assert repeated.mean() == pytest.approx(q if "attempts" in faults else 0.0, abs=0.015)


def sent_alone(of: Any, device: int) -> bool:
    """Tell if a device's upload gets through."""
    env = simpy.Environment()
    who = participants(of, [device], distance_m=400.0)
    carrier = of.open(env, who, round_trip(1, 0.0, 1e4, lambda _: np.zeros(1)))
    found = []

    def upload():
        found.append((yield from carrier.send(0, UPLOAD)))

    env.run(env.process(upload()))
    return found[0].delivered


@pytest.mark.oracle
@pytest.mark.parametrize("fading", ["rayleigh", {"kind": "ricean", "k_mean_db": 6.0, "k_std_db": 0.0}, "none"])
def test_a_transfer_alone_fails_alike_under_both_sharings(fading):
    """The same draws, and the same probability: the share is the whole band."""
    found: list[list[bool]] = []
    for sharing in ("fixed", "processor"):
        keys = {"bandwidth_hz": BAND_HZ, "sharing": sharing, "fading": fading, "faults": {"attempts": 2}}
        found.append([sent_alone(link(**outage(25.0), **keys), device) for device in range(25)])
    fixed, shared = found
    assert fixed == shared
    assert 0 < sum(fixed) < 25 or fading == "none"


def test_on_a_shared_band_the_signal_to_noise_ratio_is_that_of_the_bits():
    """Two uploads of which one is twice as long: a third of its bits goes over the whole band, at half the SNR."""
    of = link(bandwidth_hz=BAND_HZ, shadowing_db=0.0, fading="none", sharing="processor", rate="mcs", **outage(20.0))
    seen = []
    original = of.pricing.failure_probability

    def note(way, mean_snr, k_factor):
        seen.append(float(mean_snr[0]))
        return original(way, mean_snr, k_factor) * 0.0

    of.pricing.failure_probability = note
    transfers(of, [1, 2], 2e6, distance_m=np.array([100.0, 100.0]))
    alone = snr_hz(DEVICE_W) / BAND_HZ
    assert seen[-2:] == pytest.approx([2 * alone, 2 * alone])  # side by side, each on half of the band
    assert seen[:2] == pytest.approx([2 * snr_hz(SERVER_W) / BAND_HZ] * 2)


@pytest.mark.oracle
def test_plugin_is_called_and_checked(tmp_path, monkeypatch):
    (tmp_path / "my_errors.py").write_text(
        "import numpy as np\n"
        "from edgefl.radio.errors.base import PacketErrors\n\n\n"
        "class Coin(PacketErrors):\n"
        "    probability: float = 0.25\n\n"
        "    def failure_probability(self, mean_snr, k_factor):\n"
        "        return np.full(mean_snr.shape, self.probability)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    world = {"rounds": 2, "devices": {"count": 40}, "model": {"kind": "logistic"}}
    radio = {"errors": {"kind": "my_errors:Coin", "probability": 0.5}}
    result = edgefl.run({**world, "radio": radio}, train=False)
    failed = (result.devices["status"] != "received").mean()
    assert 0.6 < failed < 0.9  # 1 - 0.25
    radio["errors"]["probability"] = 1.5
    result = edgefl.run({**world, "radio": radio}, train=False)
    assert result.status == "failed"
    assert "Coin.failure_probability" in result.error


def test_without_errors_nothing_draws():
    of = link(bandwidth_hz=BAND_HZ)
    assert (of.pricing.failure_draws("up", participants(of, [3])) == 1.0).all()
