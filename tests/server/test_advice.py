"""A run says when `radio.transfer: fast` would save more than a minute, once, and only then."""

import logging

import pytest

import edgefl
from edgefl.radio.prices import transmission
from edgefl.server.observers import advice as advice_module

SCENARIO = {
    "rounds": 6,
    "model": {"kind": "logistic", "cost": {"parameters": 667_178, "flops_per_parameter": 91.04}},
    "devices": {"count": 10},
    "mobility": {"kind": "static", "speed_mps": 10},
    "radio": {"bandwidth_hz": 1e6},
}


def advice(caplog, monkeypatch, worth_s, **radio):
    monkeypatch.setattr(transmission, "NOTICEABLE_S", 0.0)
    monkeypatch.setattr(advice_module, "WORTH_SAYING_S", worth_s)
    with caplog.at_level(logging.WARNING):
        edgefl.run({**SCENARIO, "radio": {**SCENARIO["radio"], **radio}}, train=False)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", ["fixed", "processor"])
def test_advice_is_given_once(caplog, monkeypatch, sharing):
    (said,) = advice(caplog, monkeypatch, 0.0, sharing=sharing)
    assert said.startswith("radio.transfer: fast would save about ")
