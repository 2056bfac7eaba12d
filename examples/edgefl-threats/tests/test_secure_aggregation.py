"""The costs of secure aggregation as published, and in a run; masked sums that are the sums of what was sent."""

import numpy as np
import pytest
import torch
from edgefl_threats.secure_aggregation import Masked, SecureAggregation, messages

import edgefl
from edgefl.testing import check_codec, check_policy


@pytest.mark.parametrize(("users", "values", "factor"), [(2**10, 2**20, 1.73), (2**14, 2**24, 1.98)])
def test_expansion_is_the_published_one(users, values, factor):
    """Bonawitz et al., CCS 2017, abstract: 1.73 and 1.98 times the 16-bit values in the clear."""
    total = messages(users).bits + Masked(participants=users).bits(values)
    assert total / (16 * values) == pytest.approx(factor, abs=0.005)


@pytest.mark.parametrize("users", [2, 7, 100])
def test_bits_of_a_user_are_the_published_formula(users):
    key, share = 300, 200
    assert messages(users, key, share).bits == 2 * users * key + (5 * users - 4) * share


@pytest.mark.parametrize("seed", range(3))
def test_masks_cancel_and_leave_the_sum_of_the_decoded_values(seed):
    """The protocol with real masks, modulo R: the server's mean is that of what the codec lets it see."""
    rng = np.random.default_rng(seed)
    codec = Masked(participants=5, bits_each=8, clip=2.0)
    modulus = 2**codec.value_bits
    assert modulus > 5 * (2**8 - 1)
    sent = torch.tensor(rng.normal(size=(5, 40)))
    decoded = torch.stack([codec.decoded(x, rng) for x in sent]).numpy()
    step = 2.0 / 127
    masked = np.rint(decoded / step).astype(np.int64)
    for i in range(5):
        for j in range(i):
            mask = rng.integers(0, modulus, 40)
            masked[i] += mask
            masked[j] -= mask
    total = (masked % modulus).sum(axis=0) % modulus
    total[total > modulus // 2] -= modulus
    assert total * step / 5 == pytest.approx(decoded.mean(axis=0), abs=1e-12)


def test_policy_and_codec_pass_edgefls_checks():
    check_policy(SecureAggregation, neighbours=1)
    check_codec(Masked, participants=4, clip=100.0, bits_each=24)


def run(participants, *, codec="none", policy="synchronous", **more):
    scenario = {
        "rounds": 2,
        "data": {"dataset": "digits"},
        "training": {"local_steps": 2, "codec": codec},
        "algorithm": {"kind": "fedavg", "weighting": "uniform"},
        "devices": {"count": 12},
        "server": {"participants": participants, "policy": policy},
        **more,
    }
    return edgefl.run(scenario, train=False)


@pytest.mark.parametrize("n", [3, 9])
def test_a_run_sends_the_published_bits(n):
    codec = Masked(participants=n)
    plain = run(n, codec=codec)
    secure = run(n, codec=codec, policy=SecureAggregation())
    more = (secure.rounds.bytes_down + secure.rounds.bytes_up) - (plain.rounds.bytes_down + plain.rounds.bytes_up)
    assert more.tolist() == [n * messages(n).bits / 8] * 2
    d = plain.rounds.bytes_down.iloc[0] * 8 / n / 32
    assert plain.rounds.bytes_up.iloc[0] == n * (codec.bits(d) // 8)  # bytes of result files are whole
    assert (secure.rounds.duration_s > plain.rounds.duration_s).all()


def test_with_neighbours_the_bits_do_not_grow_with_the_participants():
    def of_device(n):
        secure, plain = run(n, policy=SecureAggregation(neighbours=2)), run(n)
        return (secure.rounds.bytes_up.iloc[0] - plain.rounds.bytes_up.iloc[0]) / n

    assert of_device(4) == of_device(10)


def test_devices_that_leave_take_no_part_any_more():
    churn = {"kind": "poisson", "arrivals_per_s": 20.0, "stay_s": {"exponential": 0.5}}
    result = run(6, policy=SecureAggregation(), rounds=30, churn=churn, devices={"count": 20})
    assert result.status == "finished"
    rows = result.devices.groupby(["round", "device"]).status.agg(list)
    complete = rows[rows.map(lambda statuses: statuses.count("answered") == 4)]
    assert rows.map(lambda statuses: "departed" in statuses).any()
    assert complete.map(lambda statuses: "received" in statuses).all()
