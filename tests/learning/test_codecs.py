"""Codecs on vectors: limits, errors within their bounds, unbiasedness, and what they say of their bits."""

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from edgefl.learning.codecs import CODECS
from edgefl.learning.codecs.float16 import Float16
from edgefl.learning.codecs.qsgd import Qsgd
from edgefl.learning.codecs.sparse import RandomK, TopK
from edgefl.learning.codecs.uniform import UniformQuantiser

D = 400
X = torch.from_numpy(np.random.default_rng(1).normal(size=D))


def decoded(codec, x=X, seed=0):
    return codec.decoded(x, np.random.default_rng(seed))


@pytest.mark.parametrize("name", list(CODECS.members))
class TestEvery:
    def test_fewer_bits_than_floats_have(self, name):
        bits = CODECS.load(name)().bits(1_000_000)
        assert bits == 32e6 if name == "none" else bits < 20e6

    @settings(max_examples=30, deadline=None)
    @given(scale=st.floats(1e-3, 1e3))
    def test_the_error_scales_with_the_vector(self, name, scale):
        if name != "float16":  # whose grid is fixed
            once = decoded(CODECS.load(name)())
            scaled = decoded(CODECS.load(name)(), scale * X)
            assert torch.allclose(scaled, scale * once, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("name", sorted(set(CODECS.members) - {"none"}))
def test_its_line_names_its_source(name):
    """In the list of codecs: who and when, or which standard."""
    assert re.search(r"\(.*\d{3}.*\)", CODECS.summary(name))


def test_bits_by_hand():
    assert Float16().bits(1000) == 16_000
    assert UniformQuantiser(bits_each=4).bits(1000) == 4_064
    assert Qsgd(levels=255).bits(1000) == 9 * 1000 + 32
    assert Qsgd(levels=1).bits(1000) == 2 * 1000 + 32
    assert TopK(part=0.01).bits(1000) == 10 * (32 + 10)
    assert RandomK(part=0.01).bits(1000) == 10 * 32 + 64
    assert TopK(part=0.001).bits(10) == 32 + 4  # at least one value


def test_half_precision_is_relative_to_2_to_the_11():
    assert ((decoded(Float16()) - X).abs() <= X.abs() * 2.0**-11 + 2.0**-25).all()
    assert decoded(Float16(), torch.tensor([1e6, -1e6])).tolist() == [65504, -65504]


@pytest.mark.parametrize("bits_each", [1, 3, 8])
def test_uniform_errs_by_half_a_step_and_hits_both_ends(bits_each):
    got = decoded(UniformQuantiser(bits_each=bits_each))
    step = float(X.max() - X.min()) / (2**bits_each - 1)
    assert float((got - X).abs().max()) <= step / 2 * (1 + 1e-12)
    assert (got.min(), got.max()) == (X.min(), pytest.approx(X.max()))
    assert len(set(((got - X.min()) / step).round().tolist())) <= 2**bits_each


@pytest.mark.oracle
def test_qsgd_is_unbiased_with_bounded_variance():
    """E[Q(x)] = x within 5 standard errors; E|Q(x) - x|^2 <= min(d/s^2, sqrt(d)/s) |x|^2 (theorem 3.2's bound)."""
    codec = Qsgd(levels=4)
    runs = 1000
    draws = torch.stack([decoded(codec, seed=seed) for seed in range(runs)])
    step = float(X.norm()) / 4
    up = (X.abs() / step).frac()  # the probability of rounding up
    assert ((draws.mean(0) - X).abs() <= 5 * step * (up * (1 - up) / runs).sqrt()).all()
    bound = min(D / 16, math.sqrt(D) / 4) * float(X.norm() ** 2)
    assert 0.01 * bound < float(((draws - X) ** 2).sum(1).mean()) <= bound


def test_qsgd_with_many_levels_is_nearly_exact():
    assert float((decoded(Qsgd(levels=2**15)) - X).abs().max()) <= float(X.norm()) / 2**15


def test_top_k_keeps_the_largest():
    got = decoded(TopK(part=0.1))
    kept = got != 0
    assert int(kept.sum()) == 40
    assert torch.equal(got[kept], X[kept])
    assert float(X[kept].abs().min()) >= float(X[~kept].abs().max())
    assert torch.equal(decoded(TopK(part=1.0)), X)


@pytest.mark.oracle
def test_random_k_is_unbiased_or_plain():
    runs = 1000
    draws = torch.stack([decoded(RandomK(part=0.25), seed=seed) for seed in range(runs)])
    assert ((draws != 0).sum(1) == 100).all()
    assert ((draws.mean(0) - X).abs() <= 5 * draws.std(0) / math.sqrt(runs)).all()
    plain = decoded(RandomK(part=0.25, error_feedback=True))
    assert torch.equal(plain[plain != 0], X[plain != 0])


@pytest.mark.oracle
def test_places_beyond_single_precision():
    """More places than float32 can count: 2^24 + 1."""
    x = torch.zeros(2**24 + 3)
    x[-1] = 1.0
    assert decoded(TopK(part=1e-9), x).nonzero().item() == 2**24 + 2
    assert int((decoded(RandomK(part=1.0), x) != 0).sum()) == 1
