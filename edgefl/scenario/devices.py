"""The section `devices`: what the population is made of; defaults are Table I of the dynamic-devices paper."""

from __future__ import annotations

from edgefl.distributions import Constant, HeightM, NonNegative, Positive, Real
from edgefl.section import Count, Section


class Devices(Section):
    """The population; numbers may be distributions."""

    count: Count = 100
    cpu_hz: Positive = Constant(value=1.0e9)
    flops_per_cycle: Positive = Constant(value=8.0)
    capacitance: Positive = Constant(value=1.0e-28)
    tx_power_dbm: Real = Constant(value=23.0)
    rx_power_w: Positive = Constant(value=0.1)
    idle_power_w: NonNegative = Constant(value=0.0)
    height_m: HeightM = Constant(value=1.5)
