"""Scales the operations of devices so that they take as long as `devices.compute` says."""

import numpy as np

from edgefl.core.arrays import Floats, Ints
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import properties
from edgefl.learning.datasets import Data
from edgefl.learning.models import MODELS
from edgefl.learning.models.imported import Imported
from edgefl.learning.payload import FIRST, Payload
from edgefl.learning.workload import PlannedWork
from edgefl.scenario import Scenario
from edgefl.world.compute_law import drawn_law, forward_share
from edgefl.world.devices_section import Hardware
from edgefl.world.measured_times import step_s_of
from edgefl.world.world import World


def timed(payload: Payload, scenario: Scenario, data: Data, world: World, streams: Streams) -> Payload:
    """Return a payload whose operations take as long as `devices.compute` says, or the same one if it says nothing.

    Raises:
        InputError: the network's operations cannot be counted by kind, or a table of times lacks a row.
    """
    groups = scenario.devices.made_of
    if all(hardware.compute.is_plain for hardware in groups):
        return payload
    flops_per_s = world.flops_per_s(np.arange(world.count))
    law = drawn_law(scenario.devices, flops_per_s, streams)
    passes = scenario.network.training_passes(data.shape, data.outputs, tokens=data.tokens)
    forward_s = payload.loss_flops / flops_per_s / law.speed
    layers = 0.0
    spared_s = np.zeros(world.count)
    if any(hardware.compute.needs_counts for hardware in groups):
        counts = scenario.network.forward_counts(data.shape, data.outputs, tokens=data.tokens)
        forward_s = _by_law(forward_s, law.forward_s(counts), scenario)
        layers = counts.layers
        spared_s = law.spared_s(counts)
    first_part_passes = scenario.network.first_passes(data.shape, data.outputs, tokens=data.tokens)
    # The solver's operations run at the usual speed.
    step_flops = (payload.step_flops / flops_per_s / law.speed + law.each_step_s(layers)) * flops_per_s
    first_part_forward_s = forward_s.copy()
    for place, ((first, end), hardware) in enumerate(zip(scenario.devices.borders, groups, strict=True)):
        if hardware.compute.measured is None:
            continue
        rows = slice(first, end)
        # The measured time includes the solver.
        batch_size = _one_batch_size(scenario, first)
        measured_s = _measured_step_s(scenario, hardware, place, batch_size) / law.speed[rows]
        forward_s[rows] = forward_share(measured_s, batch_size, passes)
        first_part_forward_s[rows] = 0.0  # a step takes the measured time, whichever part trains
        step_flops[rows] = 0.0
    steps, batches = _steps(scenario, payload)
    return payload.in_time(
        sample_flops=passes * forward_s * flops_per_s,
        first_part_flops=(first_part_passes - passes) * first_part_forward_s * flops_per_s,
        step_flops=step_flops,
        forward_flops=(forward_s - spared_s) * flops_per_s + forward_share(step_flops, batches, passes),
        steps=steps,
    )


def _steps(scenario: Scenario, payload: Payload) -> tuple[Floats, Ints]:
    """Return the steps [devices] of a round, and the samples [devices] of each."""
    same_steps = properties.takes_same_steps(scenario.learning)
    planned = PlannedWork(scenario.training, payload.samples, same_steps=same_steps)
    ids = np.arange(len(payload.samples))
    return planned.planned_steps(ids, FIRST), planned.batches(ids, FIRST)


def _by_law(forward_s: Floats, by_law_s: Floats, scenario: Scenario) -> Floats:
    """Return the seconds [devices] of one sample's forward pass, those by the law for groups that have one."""
    chosen = forward_s.copy()
    for (first, end), hardware in zip(scenario.devices.borders, scenario.devices.made_of, strict=True):
        if hardware.compute.needs_counts:
            chosen[first:end] = by_law_s[first:end]
    return chosen


def _one_batch_size(scenario: Scenario, device: int) -> int:
    """Return the batch size of a device in all rounds."""
    training = scenario.training
    first_rounds = {1, *(variation.from_round for variation in training.variations)}
    (batch_size, *others) = {training.of_device(device, number - 1).work.batch_size for number in first_rounds}
    if batch_size is None or others:
        text = "has the steps of each batch size: set training.batch_size to a number"
        raise InputError(f"devices.compute.measured: {text} that holds in all rounds")
    return batch_size


def _measured_step_s(scenario: Scenario, hardware: Hardware, place: int, batch_size: int) -> float:
    table = hardware.compute.measured
    if table is None:
        raise ValueError("the hardware has no measured times")
    device = table.device or hardware.preset
    if table.device is None and scenario.devices.groups:
        device = scenario.devices.groups[place].name
    if device is None:
        raise InputError("devices.compute.measured: needs device, a name in the table")
    network = table.network or _network(scenario)
    try:
        return step_s_of(table.path, device, network, batch_size)
    except InputError as error:
        raise InputError(f"devices.compute.measured: {error}") from None


def _network(scenario: Scenario) -> str:
    model = scenario.model
    if isinstance(model, Imported):
        return model.import_path.rpartition(":")[2]
    return MODELS.name_of(model)
