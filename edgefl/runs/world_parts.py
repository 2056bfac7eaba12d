"""Builds the parts of a run besides learning, radio and server: devices, their groups and payloads."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from edgefl.core.arrays import Indices, Ints
from edgefl.core.errors import InputError
from edgefl.core.per_device import HEIGHT_M, PerDevice
from edgefl.core.returns import Array, Instance, called
from edgefl.core.streams import Streams
from edgefl.core.units import BYTES, quantity
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.datasets import Data
from edgefl.learning.memory_needs import step_memory
from edgefl.learning.partitions.base import joined, part_sizes
from edgefl.learning.payload import Payload, SplitPayload, measure, measure_split
from edgefl.learning.workload import PlannedWork
from edgefl.runs.compute_times import timed
from edgefl.runs.data_checks import check
from edgefl.runs.data_division import Divided
from edgefl.scenario import Scenario
from edgefl.scenario.plausibility import too_late
from edgefl.server.session_groups import SessionGroups
from edgefl.world.churn.base import Presence
from edgefl.world.control import BY_SCENARIO, Control
from edgefl.world.world import World

log = logging.getLogger(__name__)


class Outside(NamedTuple):
    """The parts of a run besides learning, radio and server."""

    world: World
    groups: SessionGroups
    payload: Payload  # the messages and operations of a participant
    split: SplitPayload | None  # the same for each half of a cut model; None if it is not cut
    cut: int | None  # number of parameters of the front half; None if the model is not cut
    lacking: frozenset[int]  # devices that cannot hold a step of training


def outside(scenario: Scenario, divided: Divided, streams: Streams, control: Control = BY_SCENARIO) -> Outside:
    """Build the parts besides learning, radio and server.

    Raises:
        InputError: the data or the devices do not fit the scenario.
    """
    data = divided.data
    parts = divided.parts
    check(scenario, data)
    world = World(
        devices=scenario.devices,
        cells=scenario.cells,
        mobility=scenario.mobility,
        presence=_presence(scenario, divided, streams),
        streams=streams,
        control=control,
        heights=_heights(scenario),
        by_radio=scenario.radio.power_control,
    )
    first_group = scenario.in_sessions.first_group - 1
    classes = 0
    if data.one_class_each:
        classes = data.classes
    groups = SessionGroups.divide(scenario.groups, first_group, data.train_y, data.test_y, parts, classes)
    payload, split, cut = _payloads(scenario, data, part_sizes(parts))
    payload = timed(payload, scenario, data, world, streams)
    _check_devices(scenario, world, payload)
    return Outside(world, groups, payload, split, cut, _lacking(scenario, data, world, payload.samples))


def _heights(scenario: Scenario) -> PerDevice:
    """Return the heights that the path-loss model holds for; all heights for recorded links."""
    if scenario.radio.trace is not None:
        return HEIGHT_M
    least_m, most_m = scenario.radio.propagation.validity().ut_height_m
    return PerDevice(max(HEIGHT_M.least, least_m), min(HEIGHT_M.most, most_m))


def _presence(scenario: Scenario, divided: Divided, streams: Streams) -> Presence:
    churn = scenario.churn
    data = divided.data
    count = len(divided.parts)
    probabilities = Array((count,), "a Presence with probabilities [devices] from 0 to 1", least=0.0, most=1.0)
    must = Instance(Presence, "a Presence of edgefl.world.churn.base", {"probabilities": probabilities})
    return called(churn.presence, must, count, _lowest_labels(data, divided.parts), data.classes, streams)


def _check_devices(scenario: Scenario, world: World, payload: Payload) -> None:
    """Check that devices meet the optimiser's needs; warn if they will be late."""
    all_ids = np.arange(world.count)
    speeds = world.flops_per_s(all_ids)
    refusal = scenario.server.optimiser.refusal(
        world.scenario_tx_power_w(all_ids), world.cpu_hz, payload.flops / speeds
    )
    if refusal:
        key, reason = refusal
        raise InputError(f"server.optimiser.{key}: {reason}")
    late = too_late(scenario, payload.flops, speeds, payload.down_bits + float(np.min(payload.up_bits)))
    if late:
        log.warning("warning: %s", late)


def _lacking(scenario: Scenario, data: Data, world: World, sizes: Ints) -> frozenset[int]:
    """Return the devices that cannot hold a step of training; warn if there are any, and refuse if all are.

    Args:
        scenario: the model and how it trains.
        data: the shape of a sample.
        world: the devices with their memory.
        sizes: [devices] samples that each device holds.
    """
    if np.isinf(world.memory_bytes).all():
        return frozenset()
    policy = scenario.server.policy
    front = None
    if policy.splits_model:
        front = scenario.model.front(policy.cut_layer, data.shape, data.classes)
    memory = step_memory(scenario.network, scenario.learning, scenario.training, data, front)
    need_bytes = memory.of(PlannedWork(scenario.training, sizes).largest_batches())
    (lacking,) = np.nonzero(world.memory_bytes < need_bytes)
    if not lacking.size:
        return frozenset()
    least = quantity(need_bytes[lacking].min(), BYTES)
    if lacking.size == world.count:
        text = f"no device can hold a step of training, which needs at least {least}"
        remedy = "use a smaller model, train less of it, or give a larger memory"
        raise InputError(f"devices.memory_bytes: {text}: {remedy}")
    text = f"cannot hold a step of training, which needs at least {least}: they refuse as out_of_memory"
    log.warning("warning: devices.memory_bytes: %d of %d devices %s", lacking.size, world.count, text)
    return frozenset(lacking.tolist())


def _payloads(scenario: Scenario, data: Data, sizes: Indices) -> tuple[Payload, SplitPayload | None, int | None]:
    """Return the payload of a participant, of each half of a cut model, and the number of the front's parameters."""
    measured = (scenario.learning, scenario.training, data, sizes, scenario.cost)
    payload = measure(scenario.network, *measured)
    report_bits = BITS_PER_FLOAT * scenario.server.selection.report_floats + scenario.server.csi.update_bits
    # Reports to a selection, such as losses, travel with the update.
    payload = replace(payload, up_bits=payload.up_bits + report_bits)
    policy = scenario.server.policy
    if not policy.splits_model:
        return payload, None, None
    front = scenario.model.front(policy.cut_layer, data.shape, data.classes)
    return payload, measure_split(scenario.model, front, *measured), front.parameters


def _lowest_labels(data: Data, parts: Sequence[Indices]) -> Indices:
    """Return the lowest class [devices] of each device's samples; 0 where samples do not have one class each."""
    if not data.one_class_each:
        return np.zeros(len(parts), dtype=np.int64)
    labels = data.train_y[joined(parts)]
    # All labels together: a loop would be slow with a million devices.
    sizes = part_sizes(parts)
    starts = np.cumsum(sizes) - sizes  # where each device's labels begin
    return np.asarray(np.minimum.reduceat(labels, starts), dtype=np.int64)
