"""Builds the server's side of learning: the global model with its learner, and the replay of the record."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from edgefl.core.errors import RunError
from edgefl.core.streams import Streams
from edgefl.learning.memory_needs import MemoryNeeds, memory_needs
from edgefl.learning.record import Pace, Record
from edgefl.records.ledger import Ledger
from edgefl.runs.data_division import Divided
from edgefl.runs.known_learning import KnownLearning, refuse_to_learn
from edgefl.runs.learning_key import Processor, learning_key
from edgefl.runs.plan_keys import PlanKeys, keys_of, with_keys
from edgefl.runs.result_needs import expected_participants
from edgefl.runs.world_parts import Outside
from edgefl.scenario import Scenario
from edgefl.server.evaluation import RoundListener
from edgefl.server.global_model import GlobalModel
from edgefl.server.replay import Keeping, Replay

if TYPE_CHECKING:
    from edgefl.learning.learner import Learner

log = logging.getLogger(__name__)


class Place(NamedTuple):
    """The place of training."""

    device: str  # cpu, cuda or cuda:i
    cluster: Any  # a Ray cluster, see `core.ray_cluster.connected`; None: this machine
    processors: Sequence[Processor]  # the types of those that compute, this machine's first


def needed_memory(scenario: Scenario, divided: Divided) -> MemoryNeeds:
    """Return the least memory that learning a scenario needs."""
    policy = scenario.server.policy
    together = 1
    # With churn, or with overlapping rounds, the number of updates in memory is unknown.
    if policy.averages and not policy.overlapping and scenario.churn.always_present:
        together = max(1, int(expected_participants(scenario)))
    devices = len(divided.parts)
    known = devices
    if not scenario.in_sessions.keep_state:
        known = devices // scenario.groups  # the server's state is about one group at a time
    training = scenario.training
    return memory_needs(scenario.network, scenario.learning, training, divided.stored, devices, together, known)


def replay_of_known(
    scenario: Scenario, known: KnownLearning, ledger: Ledger, streams: Streams, progress: RoundListener
) -> Replay:
    """Build the server's side of learning for a run that repeats the learning of another run."""
    replay = partial(_replay, scenario, ledger, streams, progress, compared_by="")
    return replay(refuse_to_learn, learning_rates="training.lr", keeping=(known.record, Pace()), base=known.base)


def replay_of(
    scenario: Scenario,
    place: Place,
    divided: Divided,
    around: Outside,
    ledger: Ledger,
    streams: Streams,
    progress: RoundListener,
    keeping: Keeping | None,
    *,
    train: bool,
) -> Replay:
    """Build the server's side of learning; clear a record of other learning."""
    record = keeping[0] if keeping else Record()  # which keeps nothing
    probabilities = around.world.presence.probabilities
    learning_rates = "training.lr"
    if "server_lr" in type(scenario.algorithm).model_fields:
        learning_rates = "training.lr or algorithm.server_lr"

    # Called only for outcomes that are not on record. Until then there are no learner and no workers.
    def model() -> GlobalModel:
        return GlobalModel(
            learner=_learner(scenario, place, divided, around.cut, record),
            algorithm=scenario.learning,
            training=scenario.training,
            sessions=scenario.in_sessions,
            groups=around.groups,
            report=scenario.report,
            probabilities=scenario.server.selection.asked(probabilities),
            expected=partial(scenario.server.selection.expected, scenario.participants),
            cells=scenario.cells.sites,
            edge_models=scenario.server.policy.edge_models,
            learning_rates=learning_rates,
        )

    base = ""
    begins = True
    if train and keeping:
        base, begins = _base(record, scenario, place, divided, probabilities.tolist())
    build = model if train else None
    replay = _replay(
        scenario,
        ledger,
        streams,
        progress,
        build,
        compared_by=divided.compared_by,
        learning_rates=learning_rates,
        keeping=keeping,
        base=base,
    )
    if begins:
        replay.prepare()  # find faults of model and data before anything is written
    return replay


def _replay(
    scenario: Scenario,
    ledger: Ledger,
    streams: Streams,
    progress: RoundListener,
    build: Callable[[], GlobalModel] | None,
    *,
    compared_by: str,
    learning_rates: str,
    keeping: Keeping | None,
    base: str,
) -> Replay:
    return Replay(
        build=build,
        algorithm=scenario.learning,
        sessions=scenario.in_sessions,
        devices=scenario.devices.count,
        report=scenario.report,
        ledger=ledger,
        streams=streams,
        progress=progress,
        compared_by=compared_by,
        edge_models=scenario.server.policy.edge_models,
        sectors=scenario.cells.sectors,
        learning_rates=learning_rates,
        keeping=keeping,
        base=base,
    )


def _base(
    record: Record, scenario: Scenario, place: Place, divided: Divided, probabilities: list[float]
) -> tuple[str, bool]:
    """Return the first key of the record, and whether learning begins; clear a record of other learning."""
    # A resumed run may name the plan that its first attempt chose: that is the same learning.
    asked = keys_of(scenario)
    if (recorded := record.outcome("asked")) is not None:
        asked = PlanKeys(*recorded)
    base = learning_key(with_keys(scenario, asked), place.device, place.processors, divided, probabilities)
    before = record.outcome("base")
    if before == base:
        # A full disk may have cut the record before the plan.
        return base, record.outcome("plan") is None
    if before is not None:
        log.warning(
            "the record was made by other versions of edgefl or a plug-in, with other data, or on another device or "
            "type of processor: learning starts over"
        )
    if asked != keys_of(scenario):
        asked = keys_of(scenario)
        base = learning_key(scenario, place.device, place.processors, divided, probabilities)
    record.clear()
    record.note("asked", asked)  # first, as a record without base counts as empty
    record.note("base", base)
    return base, True


def _learner(scenario: Scenario, place: Place, divided: Divided, cut: int | None, record: Record) -> Learner:
    from edgefl.learning.learner import Learner, LearningTask
    from edgefl.learning.learner.memory import is_out_of_memory
    from edgefl.learning.learner.plans.plan import Plan
    from edgefl.learning.learner.workers.rule import pays_for_processes

    task = LearningTask(
        model=scenario.network.with_loss(scenario.training.loss),
        algorithm=scenario.learning,
        training=scenario.training,
        data=divided.data,
        parts=divided.parts,
        streams=Streams(scenario.seed),
        augmentation=scenario.data.augmentation,
        cut=cut,
        report=scenario.report,
        test_parts=divided.test_parts,
        validation=divided.validation,
        redivision=divided.redivision,
        concepts=divided.concepts,
        participants=expected_participants(scenario),
    )
    # Another plan would round differently, so a resumed run keeps its first plan.
    recorded = record.outcome("plan")
    plan = None
    if recorded:
        plan = Plan(**recorded)
    brief = place.cluster is None and not pays_for_processes(task, scenario.in_sessions.total)
    try:
        learner = Learner(task=task, device=place.device, plan=plan, brief=brief, cluster=place.cluster)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        text = "the free memory is too small for the model and its copies: use a smaller model, or end other programs"
        raise RunError(text) from error
    record.note("plan", asdict(learner.plan))
    return learner
