"""The law of the time that devices take for the parts of a network: convolutions, matrix products, memory, overheads.

It ends in *operations that take the same time*, so that clocks, energies, forecasts and optimisers need not know it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Floats, Ints
from edgefl.core.distributions import Distribution
from edgefl.core.per_device import NON_NEGATIVE, POSITIVE
from edgefl.core.streams import Streams
from edgefl.world.compute import compute_s
from edgefl.world.devices_section import Devices, Hardware

OPERATIONS = 2.0  # in a multiply-accumulate
USUAL_PASSES = 3.0  # forward passes that training on a sample costs; the law's `group_s` is for training


def forward_share(step: Floats | float, samples: Floats | Ints | float, passes: float = USUAL_PASSES) -> Floats:
    """Return the share of a training step that one sample's forward pass takes, in the step's unit.

    A pass without gradients goes through batches, too, so it has a share of the step's fixed time.

    Args:
        step: seconds or operations, of each device [n] or of all.
        samples: of the step, in the same form.
        passes: forward passes that training on a sample costs.
    """
    return np.asarray(step / passes / samples)


class ForwardCounts(NamedTuple):
    """What one sample's forward pass consists of."""

    convolution_macs: float  # multiply-accumulates of convolutions without groups
    matmul_macs: float  # of linear layers and matrix products, attention included
    grouped_macs: float  # of convolutions with groups
    activation_bytes: float  # results of all operators that compute something
    groups: float  # of all grouped convolutions together
    layers: float = 0.0  # convolutions and linear layers


@dataclass(frozen=True, kw_only=True)
class ComputeLaw:
    """The law's numbers of each device [devices]; see `Compute` for the equation."""

    convolution_flops_per_s: Floats
    matmul_flops_per_s: Floats
    grouped_flops_per_s: Floats
    bandwidth_bytes_per_s: Floats  # inf: memory costs no time
    group_s: Floats
    group_forward_s: Floats  # a pass without gradients
    layer_s: Floats
    step_s: Floats
    speed: Floats

    def forward_s(self, counts: ForwardCounts) -> Floats:
        """Return the seconds [devices] that one sample's forward pass takes in a large batch."""
        products_s = (
            compute_s(np.asarray(OPERATIONS * counts.convolution_macs), self.convolution_flops_per_s)
            + compute_s(np.asarray(OPERATIONS * counts.matmul_macs), self.matmul_flops_per_s)
            + compute_s(np.asarray(OPERATIONS * counts.grouped_macs), self.grouped_flops_per_s)
        )
        memory_s = counts.activation_bytes / self.bandwidth_bytes_per_s
        overhead_s = counts.groups * self.group_s / USUAL_PASSES
        return np.asarray((products_s + memory_s + overhead_s) / self.speed)

    def spared_s(self, counts: ForwardCounts) -> Floats:
        """Return how many seconds [devices] a sample's pass without gradients is shorter than `forward_s`."""
        return counts.groups * (self.group_s / USUAL_PASSES - self.group_forward_s) / self.speed

    def each_step_s(self, layers: float) -> Floats:
        """Return the seconds [devices] that each step of a network with `layers` takes besides, whatever its batch."""
        return (self.step_s + layers * self.layer_s) / self.speed


def drawn_law(devices: Devices, flops_per_s: Floats, streams: Streams) -> ComputeLaw:
    """Return the law of all devices.

    Args:
        devices: the section `devices`.
        flops_per_s: [devices] the speeds by `cpu_hz` and `flops_per_cycle`, the defaults.
        streams: keyed randomness.

    Raises:
        InputError: a device draws a number that is not allowed.
    """

    def given(key: str, default: Floats) -> Floats:
        own = devices.draw(key, POSITIVE, streams, lambda hardware: _given(hardware, key))
        return np.where(np.isnan(own), default, own)

    group_s = devices.draw("group_s", NON_NEGATIVE, streams, lambda hardware: hardware.compute.group_s)
    return ComputeLaw(
        convolution_flops_per_s=given("convolution_flops_per_s", flops_per_s),
        matmul_flops_per_s=given("matmul_flops_per_s", flops_per_s),
        grouped_flops_per_s=given("grouped_flops_per_s", flops_per_s),
        bandwidth_bytes_per_s=given("bandwidth_bytes_per_s", np.full(devices.count, np.inf)),
        group_s=group_s,
        group_forward_s=given("group_forward_s", group_s / USUAL_PASSES),
        layer_s=devices.draw("layer_s", NON_NEGATIVE, streams, lambda hardware: hardware.compute.layer_s),
        step_s=devices.draw("step_s", NON_NEGATIVE, streams, lambda hardware: hardware.compute.step_s),
        speed=devices.draw("speed", POSITIVE, streams, lambda hardware: hardware.compute.speed),
    )


def _given(hardware: Hardware, key: str) -> Distribution | float:
    """Return the distribution of a number; nan if a group has none."""
    distribution: Distribution | None = getattr(hardware.compute, key)
    if distribution is None:
        return float("nan")
    return distribution
