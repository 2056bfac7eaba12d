"""The check of a model of packet errors."""

from typing import Any

import numpy as np

from channel.link_adaptation import LinkAdaptation, grid_db
from edgefl.radio.errors import PacketErrors
from edgefl.radio.radio_section import Radio
from edgefl.radio.rates import RATES, Rate
from edgefl.testing.calls import Calls, is_array, kind
from edgefl.testing.report import Check, Report

K_FACTORS = (0.0, 1.0, 8.0, 1e6)
SNR = np.geomspace(1e-6, 1e8, 281)
ROUNDING = 1e-9


def check_errors(errors: type[PacketErrors] | PacketErrors, **keys: Any) -> Report:
    """Check that a model of packet errors gives probabilities that fall with the SNR, and return the report."""
    calls = Calls(errors, keys, PacketErrors, "a model of packet errors")
    falls = calls.begin("falls", "no more is lost at a higher SNR")
    alone = calls.begin("one of many", "an attempt's probability does not depend on the others")
    for k_factor in K_FACTORS:
        with calls.noting("a probability"):
            _check_probabilities(calls, falls, alone, k_factor)
    for name in ("shannon", "mcs"):
        with calls.noting("link adaptation"):
            _check_adaptation(calls, falls, RATES.load(name)())
    return calls.finished()


def _check_probabilities(calls: Calls[PacketErrors], falls: Check, alone: Check, k_factor: float) -> None:
    """Check the probabilities over the SNR in one kind of fading."""
    method = "failure_probability"
    shape = SNR.shape
    probability = calls.array(method, SNR, np.full(SNR.size, k_factor), shape=shape, of="probabilities")
    if (probability < 0).any() or (probability > 1).any():
        text = f"returned {probability.min():.4g} to {probability.max():.4g}, expected probabilities from 0 to 1"
        calls.reject(method, text)
    rises = np.diff(probability)
    if rises.max() > ROUNDING:
        at = int(rises.argmax())
        text = f"rises from {probability[at]:.4g} to {probability[at + 1]:.4g} at a mean SNR of {SNR[at + 1]:.4g}"
        calls.note(falls, method, f"{text}, K = {k_factor:g}")
    some = np.arange(0, SNR.size // 2, 20)  # not from the middle: a rank among the others must show
    of_some = calls.of(method, SNR[some], np.full(some.size, k_factor))
    if not is_array(of_some, (some.size,)) or np.abs(of_some - probability[some]).max() > ROUNDING:
        calls.note(alone, method, f"returns others for {some.size} of {SNR.size} attempts than for all")


def _check_adaptation(calls: Calls[PacketErrors], falls: Check, rate: Rate) -> None:
    """Check the link adaptation of a model where it goes with a rate model."""
    method = "link_adaptation"
    refusal = calls.of("refusal", rate, "slots")
    if refusal is not None:
        is_pair = isinstance(refusal, tuple) and len(refusal) == 2 and all(isinstance(part, str) for part in refusal)
        if not is_pair or refusal[0] not in Radio.model_fields:
            calls.wrong("refusal", f"returned {refusal!r}, expected a key of radio and what to write instead")
        return
    found = calls.of(method, rate)
    if found is None:
        return
    if not isinstance(found, LinkAdaptation):
        calls.reject(method, f"returned {kind(found)}, expected None or a channel.link_adaptation.LinkAdaptation")
    efficiencies = found.efficiencies_bps_hz
    schemes = np.size(efficiencies)
    if not is_array(efficiencies, (schemes,)) or (efficiencies <= 0).any() or (np.diff(efficiencies) < 0).any():
        calls.wrong(method, "returned efficiencies that are not positive and ascending")
    shape = (schemes, grid_db().size)
    rates = found.error_rates
    if not is_array(rates, shape) or (rates < 0).any() or (rates > 1).any():
        calls.wrong(method, f"returned error rates other than an array {list(shape)} of numbers from 0 to 1")
    elif (np.diff(rates, axis=1) > ROUNDING).any():
        scheme = int(np.argmax(np.diff(rates, axis=1).max(axis=1)))
        calls.note(falls, method, f"returned error rates of scheme {scheme} that rise with the SNR")
    if not 0 < found.target < 1 or found.step_db <= 0 or found.transmissions < 1 or found.report_delay_slots < 0:
        calls.wrong(method, "returned an impossible target, step, delay or number of transmissions: see LinkAdaptation")
