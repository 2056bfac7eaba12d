"""From a scenario to the parts of a run, put together."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgefl.coordination.selection import SELECTIONS
from edgefl.core.arrays import Indices
from edgefl.core.distributions import DATA_SHARE
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.datasets import Data
from edgefl.learning.datasets.cache import without_reading
from edgefl.learning.partitions.base import Labelled, keep
from edgefl.learning.payload import Payload, SplitPayload, measure, measure_split
from edgefl.learning.record import Record
from edgefl.scenario import Scenario
from edgefl.server.global_model import GlobalModel
from edgefl.server.ledger import Ledger
from edgefl.server.replay import Keeping, Progress, Replay
from edgefl.server.server import Server
from edgefl.server.sessions import Groups
from edgefl.world.world import World

if TYPE_CHECKING:
    from edgefl.learning.learner import Learner

LEARNING = ("seed", "rounds", "sessions", "data", "model", "training", "algorithm", "churn", "report")
"""Sections of a scenario that learning depends on, whatever it is told."""

DIVIDING = ("count", "share", "data_share")
"""What of devices, or of a group of them, says which data they hold."""

log = logging.getLogger(__name__)

IMAGE_AXES = (2, 3)  # [H, W] or [channels, H, W]
Weighed = tuple[Payload, SplitPayload | None, int | None]  # whole; where the model is cut, in halves, and where


class Divided(NamedTuple):
    """A dataset, and the numbers of the samples that each device holds."""

    data: Data
    parts: list[Indices]  # for training
    test_parts: list[Indices] | None = None  # for testing, where the test set is divided


def divide(scenario: Scenario) -> Divided:
    """Load the data and divide them among the devices.

    Raises:
        InputError: there are no such data, or they cannot be divided so.
    """
    section, streams = scenario.data, Streams(scenario.seed)
    data = section.dataset.load()
    parts = section.partition.assign(data.train_y, data.owner, scenario.devices.count, streams.generator("partition"))
    parts = keep(
        parts, scenario.devices.draw("data_share", DATA_SHARE, streams), partial(streams.generator, "data_share")
    )
    if section.test_partition == "none":
        return Divided(data, parts)
    if not data.classes:
        raise InputError("data.test_partition: like_train needs samples with labels: leave it out")
    train, test = Labelled(data.train_y, data.owner), Labelled(data.test_y, data.test_owner)
    return Divided(data, parts, section.partition.assign_test(train, parts, test, streams.generator("test_partition")))


def build(
    scenario: Scenario,
    device: str,
    *,
    train: bool,
    progress: Progress,
    divided: Divided | None = None,
    keeping: Keeping | None = None,
) -> Server:
    """Put the parts together; the data are loaded and divided where they are not given.

    Raises:
        InputError: data, partition, model or devices cannot be had as the scenario says.
    """
    streams, divided = Streams(scenario.seed), divided or divide(scenario)
    world, groups, (payload, split, cut) = _outside(scenario, divided, streams)
    presence = world.presence
    if scenario.server.selection.needs_losses and not train:
        name = SELECTIONS.name_of(scenario.server.selection)
        raise InputError(f"server.selection: {name} chooses by losses, and without learning there are none")
    ledger, record = Ledger(), keeping[0] if keeping else Record()

    def model() -> GlobalModel:
        return GlobalModel(scenario, _learner(scenario, device, divided, cut, record), presence.probabilities, groups)

    base = learned_from(scenario, device, divided, presence.probabilities.tolist()) if train and keeping else ""
    replay = Replay(scenario, model if train else None, ledger, streams, progress, keeping, base)
    if (before := record.outcome("base")) != base:
        if before is not None:
            log.warning("what is on record was learned by other versions, from other data or elsewhere: it begins anew")
        record.clear()
        record.note("base", base)
        replay.prepare()  # what does not fit is found before anything is written
    return Server(scenario, world, groups, payload, replay, ledger, streams, split)


def rehearse(scenario: Scenario) -> None:
    """All that a run does before it learns; data that would first have to be read for long are not.

    Raises:
        Unavailable: the data are not there, or not read yet.
        InputError: data, partition, model or devices cannot be had as the scenario says.
    """
    with without_reading():
        _outside(scenario, divide(scenario), Streams(scenario.seed))


def _outside(scenario: Scenario, divided: Divided, streams: Streams) -> tuple[World, Groups, Weighed]:
    """The devices, who takes turns, and what a participant sends and computes."""
    data, parts, _ = divided
    check(scenario, data)
    presence = scenario.churn.presence(len(parts), _lowest_labels(data, parts), data.classes, streams)
    world = World(scenario.devices, scenario.cells, scenario.mobility, presence, streams)
    groups = Groups.of(scenario, data.train_y, data.test_y, parts, data.classes)
    return world, groups, _payloads(scenario, data, np.array([len(part) for part in parts]))


def check(scenario: Scenario, data: Data) -> None:
    """Whether the data are such as the scenario needs.

    Raises:
        InputError: they are not.
    """
    for samples in (data.train_x, data.test_x):
        if reason := scenario.model.misfit(samples, data.classes):
            raise InputError(f"model.kind: {reason}")
    if scenario.data.augmentation and len(data.shape) not in IMAGE_AXES:
        raise InputError(f"data.augmentation: needs images, got samples of shape {list(data.shape)}")
    wanted = scenario.report.contributions
    if wanted and wanted.value == "accuracy" and not data.classes:
        raise InputError("report.contributions.value: accuracy needs samples with labels: set it to loss")
    if scenario.learning.sent_once() and (data.ranked or not data.classes):
        raise InputError("sessions.initialisation: continuous needs samples with classes to distil")
    if scenario.model.init.kind != "default":
        scenario.model.init.vector(scenario.model.parameters(data.shape, data.classes))  # wrong also without learning


def _payloads(scenario: Scenario, data: Data, sizes: Indices) -> Weighed:
    """What a participant sends and computes; where the model is cut, also in halves, and the front's parameters."""
    weighed = scenario.learning, scenario.training, data, sizes, scenario.cost
    payload = measure(scenario.model, *weighed)
    payload = replace(payload, up_bits=payload.up_bits + BITS_PER_FLOAT * scenario.server.selection.report_floats)
    policy = scenario.server.policy
    if not policy.splits_model:
        return payload, None, None
    front = scenario.model.front(policy.cut_layer, data.shape, data.classes)
    return payload, measure_split(scenario.model, front, *weighed), front.parameters


def _learner(scenario: Scenario, device: str, divided: Divided, cut: int | None, record: Record) -> Learner:
    """What trains, by the plan on record if there is one: another one would round otherwise."""
    from edgefl.learning.learner import Learner, LearningTask
    from edgefl.learning.learner.plan import Plan

    task = LearningTask(
        model=scenario.model,
        algorithm=scenario.learning,
        training=scenario.training,
        data=divided.data,
        parts=divided.parts,
        streams=Streams(scenario.seed),
        augmentation=scenario.data.augmentation,
        cut=cut,
        report=scenario.report,
        test_parts=divided.test_parts,
    )
    recorded = record.outcome("plan")
    learner = Learner(task, device, plan=Plan(**recorded) if recorded else None)
    record.note("plan", asdict(learner.plan))
    return learner


def learned_from(scenario: Scenario, device: str, divided: Divided, chances: list[float]) -> str:
    """A digest of all that learning depends on besides what it is told: not of radio, cells or movement."""
    versions = [version("edgefl"), version("torch"), version("numpy")]
    digest = hashlib.sha256(json.dumps([versions, device, chances, setting_of_learning(scenario)]).encode())
    data = divided.data
    samples = data.train_x, data.train_y, data.test_x, data.test_y
    for array in (*samples, *divided.parts, *(divided.test_parts or ())):
        digest.update(f"{array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def setting_of_learning(scenario: Scenario) -> str:
    """What of a scenario learning depends on besides what it is told: runs that differ in it share nothing."""
    content, policy = scenario.model_dump(mode="json"), scenario.server.policy
    devices = content["devices"]
    setting = {
        "devices": [[part.get(name) for name in DIVIDING] for part in (devices, *devices["groups"])],
        "participants": scenario.participants,
        "selection": content["server"]["selection"],
        "split": policy.cut_layer,
        "edges": len(scenario.cells.sites_m) if policy.edge_models else None,
        **{name: content[name] for name in LEARNING},
    }
    return json.dumps(setting, sort_keys=True)


def _lowest_labels(data: Data, parts: list[Indices]) -> Indices:
    """The first of the classes that each device has samples of; 0 without labels."""
    if not data.classes:
        return np.zeros(len(parts), dtype=np.int64)
    starts = np.cumsum([0, *map(len, parts[:-1])])
    return np.asarray(np.minimum.reduceat(data.train_y[np.concatenate(parts)], starts), dtype=np.int64)
