"""Means that are received as sums: their error has the given law, and nothing else changes."""

import numpy as np
import pytest
import torch
from algorithm_cases import N
from scipy.stats import norm

import channel
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import ALGORITHMS, RunInfo, Updates, properties
from edgefl.learning.algorithms.fedavg import FedAvg
from edgefl.learning.analog_sum import AnalogSum, with_error

STREAMS = Streams(3)
ABLE = ("fedavg", "fedprox", "moon", "fedavgm", "fedadagrad", "fedadam", "fedyogi", "fedacg")


def updates(rows, size, *, seed=0, samples=None):
    """Updates of an offset and a scale of their own, with a part in common."""
    rng = np.random.default_rng(seed)
    delta = 0.3 + 0.05 * (rng.standard_normal(size) + rng.standard_normal((rows, size)))
    delta = torch.tensor(delta, dtype=torch.float32)
    counts = np.arange(1, rows + 1) if samples is None else np.array(samples)
    return Updates({"delta": delta}, np.arange(rows), counts, N, run=RunInfo(N))


def of_samples(sent):
    return torch.tensor(sent.samples / sent.samples.sum(), dtype=torch.float32)


def variance(sent, weights):
    """The weighted mean over updates of what their coefficients deviate from the offset of the mean, squared."""
    delta = sent.vectors["delta"].double()
    weights = weights.double()
    offset = float((weights @ delta).mean())
    return float(weights @ ((delta - offset) ** 2).mean(dim=1))


def one_station(rows, error, silence=0.0):
    return AnalogSum((error,), (0,) * rows, (silence,) * rows)


def received(sent, weights, analog, number=0):
    devices = list(range(len(sent.ids)))
    return with_error(sent, weights, analog, devices, STREAMS, number)


def test_without_noise_the_updates_stay_as_they_are():
    sent = updates(4, 1000)
    got, error = received(sent, of_samples(sent), one_station(4, 0.0))
    assert torch.equal(got.vectors["delta"], sent.vectors["delta"])
    assert not error.any()


def test_the_error_of_the_mean_has_the_given_variance():
    """With 40,000 coefficients, 5 % off would be found with a power of 99 %; a false alarm comes once in 10,000."""
    sent = updates(5, 40_000)
    weights = of_samples(sent)
    got, error = received(sent, weights, one_station(5, 0.2))
    expected = 0.2 * variance(sent, weights)
    standard_error = np.sqrt(2 / 40_000)
    assert abs(float((error.double() ** 2).mean()) / expected - 1) < norm.isf(0.5e-4) * standard_error
    assert norm.cdf(0.05 / standard_error - norm.isf(0.5e-4)) > 0.99
    torch.testing.assert_close(weights @ got.vectors["delta"], weights @ sent.vectors["delta"] + error)


def test_sums_of_several_base_stations_add_up_their_errors():
    sent = updates(4, 500)
    weights = of_samples(sent)
    three = AnalogSum((0.1, 0.05, 0.25), (0, 1, 2, 2), (0.0,) * 4)
    torch.testing.assert_close(received(sent, weights, three)[1], received(sent, weights, one_station(4, 0.4))[1])


@pytest.mark.parametrize("silence", [0.3, 0.8])
@pytest.mark.oracle
def test_coefficients_that_were_not_sent_miss_the_mean(silence):
    """Against the closed form, to four standard errors; the common part correlates updates by a half."""
    rows = 4
    size = 60_000
    sent = updates(rows, size, samples=[7] * rows)
    weights = of_samples(sent)
    _, error = received(sent, weights, one_station(rows, 0.3 / rows**2, silence))
    squared = error.double().numpy() ** 2 / variance(sent, weights)
    expected = channel.aircomp.truncated_mean_squared_error(0.3, rows, 1 - silence, correlation=0.5)
    assert abs(squared.mean() - expected) < 4 * squared.std() / np.sqrt(size)


def test_a_base_station_without_participants_adds_no_noise():
    """Two stations with one device each, of which the second is never heard: what is received is the first one's."""
    sent = updates(2, 2000)
    first_alone = AnalogSum((0.0, 1e6), (0, 1), (0.0, 1.0))
    got, _ = received(sent, of_samples(sent), first_alone)
    mean = of_samples(sent) @ got.vectors["delta"]
    torch.testing.assert_close(mean, sent.vectors["delta"][0])


def test_coefficients_that_no_device_sent_count_as_the_offset():
    sent = updates(3, 2000)
    weights = of_samples(sent)
    got, _ = received(sent, weights, one_station(3, 0.5, silence=1.0))
    mean = weights @ got.vectors["delta"]
    torch.testing.assert_close(mean, (weights @ sent.vectors["delta"]).mean().expand(2000))


def test_draws_are_keyed_by_the_round():
    sent = updates(3, 100)
    weights = of_samples(sent)
    for silence in (0.0, 0.4):
        analog = one_station(3, 0.1, silence)
        first = received(sent, weights, analog, number=4)[1]
        assert torch.equal(first, received(sent, weights, analog, number=4)[1])
        assert not torch.equal(first, received(sent, weights, analog, number=5)[1])


# Which algorithms can do with a mean


@pytest.mark.parametrize("name", ABLE)
def test_averaging_algorithms_need_only_the_mean(name):
    """Updates of one and the same mean make the same next state, however they differ."""
    algorithm = ALGORITHMS.load(name)()
    assert properties.needs_only_mean(algorithm)
    sent = updates(4, 50)
    weights = properties.weights_of_mean(algorithm, sent)
    assert float(weights.sum()) == pytest.approx(1.0)
    other = updates(4, 50, seed=1)
    moved = other.vectors["delta"] + (weights @ sent.vectors["delta"] - weights @ other.vectors["delta"])
    other = Updates({"delta": moved}, other.ids, other.samples, N, run=other.run)
    state = algorithm.server_state(torch.zeros(50))
    after = algorithm.aggregate(state, sent)
    for entry, value in algorithm.aggregate(state, other).items():
        torch.testing.assert_close(value, after[entry], rtol=1e-4, atol=1e-6)


def test_other_algorithms_need_more_than_the_mean():
    assert {name for name in ALGORITHMS.members if properties.needs_only_mean(ALGORITHMS.load(name)())} == set(ABLE)
    assert not properties.needs_only_mean(FedAvg(availability=0.5))
    assert not properties.needs_only_mean(FedAvg(mode="wait", max_participants=2))


def test_a_class_that_overrides_a_hook_must_declare_the_flag_again():
    class Median(FedAvg):
        def aggregate(self, server, updates):
            return {**server, "w": server["w"] + updates.vectors["delta"].median(dim=0).values}

    class Halved(FedAvg):
        @property
        def needs_only_mean(self):
            return True

        def aggregate(self, server, updates):
            return {**server, "w": server["w"] + self.mean_delta(updates) / 2}

    class Renamed(FedAvg):
        pass

    assert not properties.needs_only_mean(Median())
    assert properties.needs_only_mean(Halved())
    assert properties.needs_only_mean(Renamed())
