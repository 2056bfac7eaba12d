"""The check of a codec."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgefl.learning.codecs import Codec
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.testing.calls import RETURNS, Calls, Property
from edgefl.testing.report import Report

LENGTHS = (1, 2, 50, 3_000)
PRICED = (1, 2, 3, 10, 1_000, 1_000_000)  # lengths whose bits are asked
DRAWS = 400  # of the mean that an unbiased codec keeps
SHORT = 40  # values of that vector
STANDARD_ERRORS = 6
ROUNDING = 2e-3  # of a vector's largest number that the mean may lose: half precision loses 5e-4


def check_codec(codec: type[Codec] | Codec, **keys: Any) -> Report:
    """Check that a codec encodes as the learner expects of it, and return the report."""
    calls = Calls(codec, keys, Codec, "a codec")
    vectors = [
        torch.linspace(-1.3, 2.0, length, dtype=dtype) for dtype in (torch.float32, torch.float64) for length in LENGTHS
    ]
    calls.check(
        Property(RETURNS, _form_stays, cases=[(x,) for x in vectors]),
        Property(RETURNS, _zeros_stay),
        Property("bits", _bits_grow, "the price is a positive number, which does not fall as vectors grow"),
    )
    calls.check(Property("loss", _mean_stays, "nothing is lost on average, or error feedback makes up for it"))
    return calls.finished()


def _form_stays(calls: Calls, x: Tensor) -> None:
    decoded = calls.of("decoded", x, np.random.default_rng(1))
    is_tensor = isinstance(decoded, Tensor)
    calls.returned("decoded", is_tensor, f"a {type(decoded).__name__}, expected a tensor")
    text = f"{list(decoded.shape)} of {decoded.dtype} for a vector {list(x.shape)} of {x.dtype}"
    calls.returned("decoded", decoded.shape == x.shape and decoded.dtype == x.dtype, text)
    is_finite = bool(decoded.isfinite().all())
    calls.returned("decoded", is_finite, f"NaN or infinity for a plain vector of {len(x)} numbers")


def _zeros_stay(calls: Calls) -> None:
    zeros = calls.of("decoded", torch.zeros(7), np.random.default_rng(0))
    calls.require("decoded", not bool(zeros.any()), f"makes {zeros.tolist()} of zeros")


def _bits_grow(calls: Calls) -> None:
    bits = [calls.of("bits", d) for d in PRICED]
    are_positive = all(isinstance(value, (int, float)) and 0 < value < np.inf for value in bits)
    calls.require("bits", are_positive, f"returned {bits} for vectors of {PRICED} numbers, expected positive numbers")
    grow = all(before <= after for before, after in pairwise(bits))
    calls.require("bits", grow, f"falls as vectors grow: {bits} for vectors of {PRICED} numbers")
    plain = BITS_PER_FLOAT * PRICED[-1]
    text = f"takes {bits[-1]:.0f} bits for a million floats, which have {plain}"
    calls.require("bits", not calls.subject.compresses or bits[-1] <= plain, text)


def _mean_stays(calls: Calls) -> None:
    """The mean of many draws is the vector; with error feedback each upload takes something off what is lost."""
    codec = calls.subject
    x = torch.from_numpy(np.random.default_rng(2).normal(size=SHORT))
    draws = torch.stack([codec.decoded(x.clone(), np.random.default_rng(seed)) for seed in range(DRAWS)])
    if codec.error_feedback:
        left = float(((x - draws) ** 2).sum(dim=1).mean() / (x**2).sum())
        text = f"leaves {left:.3g} of a vector's square behind, so that error feedback adds up more and more"
        calls.require("decoded", left < 1, f"{text}: it must be below 1")
        return
    allowed = STANDARD_ERRORS * draws.std(dim=0) / DRAWS**0.5 + ROUNDING * float(x.abs().max())
    excess = (draws.mean(dim=0) - x).abs() - allowed
    worst = int(excess.argmax())
    text = f"makes {float(draws[:, worst].mean()):.4g} of {float(x[worst]):.4g}, on average over {DRAWS} draws"
    remedy = "make it unbiased, or let error_feedback be True by default"
    calls.require("decoded", excess[worst] <= 0, f"{text}: {remedy}")
