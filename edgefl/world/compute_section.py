"""The section `devices.compute`: how long a device takes for a step of training, by the parts of the network."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from edgefl.core.distributions import Constant
from edgefl.core.paths import DataFile
from edgefl.core.per_device import NonNegative, Positive
from edgefl.core.section import Section, fault_at


class Throttling(Section):
    """A processor that gets slower as it gets hotter; numbers may be distributions.

    Its heat h lies between 0 and 1: while it computes, 1 - h falls by a factor e in `heat_s`; otherwise h falls so in
    `cool_s`. It computes at 1 / (1 + slowdown h) of its speed.
    """

    slowdown: NonNegative  # How much longer computing takes once the processor is hot, as a share, such as 0.25.
    heat_s: Positive  # Time constant of the processor's heating.
    cool_s: Positive  # Time constant of the processor's cooling.


class MeasuredTimes(Section):
    """A table of measured seconds instead of the law: CSV with the columns device, network, batch_size, step_s."""

    path: DataFile  # CSV file with the table.
    # Name of this device in the table; by default that of the group, otherwise of the preset.
    device: str | None = None
    # Name of the network in the table; by default model.kind, and of a path what follows its colon.
    network: str | None = None


SPEEDS = ("convolution_flops_per_s", "matmul_flops_per_s", "grouped_flops_per_s", "bandwidth_bytes_per_s")
LAW = (*SPEEDS, "group_s", "group_forward_s", "layer_s", "step_s")


class Compute(Section):
    """The law of a training step at the highest clock; numbers may be distributions.

    ``step = (batch (conv / r1 + matmul / r2 + grouped / r3 + bytes / bandwidth + groups tau) + layers l + t0) / speed``
    with the operations of a sample in convolutions, in matrix products and in grouped convolutions (two for each
    multiply-accumulate), the bytes that all operators write, the number of groups of all grouped convolutions, and the
    number of convolutions and linear layers. Training takes three forward passes. With a lower clock everything takes
    longer in proportion.
    """

    # Speed of convolutions without groups, r1; by default cpu_hz times flops_per_cycle.
    convolution_flops_per_s: Positive | None = None
    # Speed of linear layers and attention, r2; by default cpu_hz times flops_per_cycle.
    matmul_flops_per_s: Positive | None = None
    # Speed of convolutions with groups, r3; by default cpu_hz times flops_per_cycle.
    grouped_flops_per_s: Positive | None = None
    # Speed at which operators write their results; by default writing takes no time.
    bandwidth_bytes_per_s: Positive | None = None
    # Time that training takes for each group of each grouped convolution and sample, tau.
    group_s: NonNegative = Constant(value=0.0)
    # Time that a pass without gradients takes for each group and sample; by default a third of group_s.
    group_forward_s: Positive | None = None
    # Time that each step takes for each convolution and linear layer, whatever its batch, l.
    layer_s: NonNegative = Constant(value=0.0)
    step_s: NonNegative = Constant(value=0.0)  # Time that each step takes whatever its batch, t0.
    speed: Positive = Constant(value=1.0)  # Divides all times; a distribution makes units differ.
    jitter: Annotated[float, Field(ge=0, le=2)] = 0.0  # Coefficient of variation of a device's times over the rounds.
    measured: MeasuredTimes | None = None  # A table of measured steps instead of the law.
    throttling: Throttling | None = None  # How a processor gets slower as it gets hot; by default it keeps its speed.

    @model_validator(mode="after")
    def _law_or_table(self) -> Compute:
        law = [key for key in LAW if getattr(self, key) != type(self).model_fields[key].default]
        if self.measured and law:
            raise fault_at(("measured",), f"stands instead of the law, and so of {law[0]}: leave one of them out")
        return self

    @property
    def needs_counts(self) -> bool:
        """True if the law distinguishes between parts of a network, which must be counted then."""
        is_given = any(getattr(self, key) is not None for key in (*SPEEDS, "group_forward_s"))
        return is_given or self.group_s.span()[1] > 0 or self.layer_s.span()[1] > 0

    @property
    def is_plain(self) -> bool:
        """True if a device takes its operations over its speed, and nothing else."""
        is_default = self.step_s.span()[1] == 0 and self.speed.span() == (1.0, 1.0)
        return is_default and not self.needs_counts and self.measured is None


def _plain(value: Any) -> Any:
    """Return the keys of the plain law for null, which removes a preset's law."""
    return {} if value is None else value


ComputeKeys = Annotated[Compute, BeforeValidator(_plain, json_schema_input_type=Compute | None)]
