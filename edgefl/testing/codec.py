"""The check of a codec."""

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgefl.learning.codecs import Codec
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.testing.calls import Calls
from edgefl.testing.report import Check, Report

LENGTHS = (1, 2, 50, 3_000)
PRICED = (1, 2, 3, 10, 1_000, 1_000_000)  # lengths whose bits are asked
DRAWS = 400  # of the mean that an unbiased codec keeps
SHORT = 40  # values of that vector
STANDARD_ERRORS = 6
ROUNDING = 2e-3  # of a vector's largest number that the mean may lose: half precision loses 5e-4


def check_codec(codec: type[Codec] | Codec, **keys: Any) -> Report:
    """Check that a codec encodes as the learner expects of it, and return the report."""
    calls = Calls(codec, keys, Codec, "a codec")
    bits = calls.begin("bits", "the price is a positive number, which does not fall as vectors grow")
    loss = calls.begin("loss", "nothing is lost on average, or error feedback makes up for it")
    with calls.noting("a vector"):
        for dtype in (torch.float32, torch.float64):
            for length in LENGTHS:
                _check_vector(calls, torch.linspace(-1.3, 2.0, length, dtype=dtype))
        zeros = calls.of("decoded", torch.zeros(7), np.random.default_rng(0))
        if isinstance(zeros, Tensor) and bool(zeros.any()):
            calls.wrong("decoded", f"makes {zeros.tolist()} of zeros")
        _check_bits(calls, bits)
        if not calls.report.faults:
            _check_loss(calls, loss)
    return calls.finished()


def _check_vector(calls: Calls[Codec], x: Tensor) -> None:
    decoded = calls.of("decoded", x, np.random.default_rng(1))
    if not isinstance(decoded, Tensor):
        calls.wrong("decoded", f"returned a {type(decoded).__name__}, expected a tensor")
    elif decoded.shape != x.shape or decoded.dtype != x.dtype:
        got = f"{list(decoded.shape)} of {decoded.dtype}"
        calls.wrong("decoded", f"returned {got} for a vector {list(x.shape)} of {x.dtype}")
    elif not bool(decoded.isfinite().all()):
        calls.wrong("decoded", f"returned NaN or infinity for a plain vector of {len(x)} numbers")


def _check_bits(calls: Calls[Codec], check: Check) -> None:
    bits = [calls.of("bits", d) for d in PRICED]
    plain = BITS_PER_FLOAT * PRICED[-1]
    if not all(isinstance(value, (int, float)) and 0 < value < np.inf for value in bits):
        calls.note(check, "bits", f"returned {bits} for vectors of {PRICED} numbers, expected positive numbers")
    elif any(after < before for before, after in pairwise(bits)):
        calls.note(check, "bits", f"falls as vectors grow: {bits} for vectors of {PRICED} numbers")
    elif calls.subject.compresses and bits[-1] > plain:
        calls.note(check, "bits", f"takes {bits[-1]:.0f} bits for a million floats, which have {plain}")


def _check_loss(calls: Calls[Codec], check: Check) -> None:
    """Check the mean of many draws; with error feedback, that each upload takes something off what is lost."""
    codec = calls.subject
    x = torch.from_numpy(np.random.default_rng(2).normal(size=SHORT))
    draws = torch.stack([codec.decoded(x.clone(), np.random.default_rng(seed)) for seed in range(DRAWS)])
    if codec.error_feedback:
        left = float(((x - draws) ** 2).sum(dim=1).mean() / (x**2).sum())
        if left >= 1:
            text = f"leaves {left:.3g} of a vector's square behind, so that error feedback adds up more and more"
            calls.note(check, "decoded", f"{text}: it must be below 1")
        return
    lost = (draws.mean(dim=0) - x).abs()
    allowed = STANDARD_ERRORS * draws.std(dim=0) / DRAWS**0.5 + ROUNDING * float(x.abs().max())
    if bool((lost > allowed).any()):
        place = int((lost - allowed).argmax())
        text = f"makes {float(draws[:, place].mean()):.4g} of {float(x[place]):.4g}, on average over {DRAWS} draws"
        calls.note(check, "decoded", f"{text}: make it unbiased, or let error_feedback be True by default")
