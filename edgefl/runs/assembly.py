"""Builds the parts of a run from the sections of its scenario, and puts them together."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.coordination.decisions import Decider
from edgefl.coordination.policies.deadline import Deadline
from edgefl.coordination.selection import SELECTIONS
from edgefl.core.arrays import Indices
from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import InputError, RunError
from edgefl.core.global_draws import watching_draws
from edgefl.core.plugin_import import Access
from edgefl.core.plugins import attributing
from edgefl.core.returns import check_array, check_type
from edgefl.core.section import dotted
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import ALGORITHMS, properties
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.data_section import IMAGE_AXES
from edgefl.learning.datasets import Data
from edgefl.learning.datasets.base import telling_rows
from edgefl.learning.datasets.cache import without_reading
from edgefl.learning.losses import LOSSES
from edgefl.learning.memory_needs import MemoryNeeds, check_memory, memory_needs
from edgefl.learning.models import MODELS, Model
from edgefl.learning.models.imported import has_own_network
from edgefl.learning.partitions.base import joined, part_sizes
from edgefl.learning.payload import Payload, SplitPayload, measure, measure_split
from edgefl.learning.record import Pace, Record
from edgefl.learning.report_section import ReportSection
from edgefl.learning.workload import Workload
from edgefl.radio.backhaul import routes
from edgefl.radio.link import Link
from edgefl.radio.recorded_links import RecordedLinks
from edgefl.radio.transfers import OnAir, ignore_on_air
from edgefl.records.ledger import Ledger
from edgefl.runs.data_division import Divided, divide
from edgefl.runs.known_learning import KnownLearning, refuse_to_learn
from edgefl.runs.learning_key import Processor, learning_key
from edgefl.runs.plan_keys import PlanKeys, keys_of, with_keys
from edgefl.runs.result_needs import Expected, check_ledger, expected_rows
from edgefl.runs.what_if_points import check_points
from edgefl.scenario import Scenario
from edgefl.scenario.plausibility import too_late
from edgefl.server.base_station_energy import BaseStationEnergy
from edgefl.server.battery_meter import BatteryMeter
from edgefl.server.channel_requests import ChannelRequests
from edgefl.server.clock import new_clock
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.forecaster import forecaster_of
from edgefl.server.global_model import GlobalModel
from edgefl.server.held_samples import HeldSamples
from edgefl.server.optimised_control import OptimisedControl
from edgefl.server.population import Population
from edgefl.server.reach import Reach
from edgefl.server.replay import Keeping, Replay, RoundListener
from edgefl.server.server import Server
from edgefl.server.session_groups import SessionGroups
from edgefl.world.churn.base import Presence
from edgefl.world.control import BY_SCENARIO, Control
from edgefl.world.world import World

if TYPE_CHECKING:
    from edgefl.learning.learner import Learner

log = logging.getLogger(__name__)


class Outside(NamedTuple):
    """All parts of a run besides learning, the radio and the server."""

    world: World
    groups: SessionGroups
    payload: Payload  # what a participant sends and computes
    split: SplitPayload | None  # the same for each half of a model that is cut in two; None if it is not cut
    cut: int | None  # number of parameters of the front half; None if the model is not cut


class Place(NamedTuple):
    """The place where devices' models are trained."""

    device: str  # cpu, cuda or cuda:i
    cluster: Any  # a Ray cluster, see `core.ray_cluster.connected`; None: this machine
    processors: Sequence[Processor]  # the types of those that compute, this machine's first


def build(
    scenario: Scenario,
    device: str,
    *,
    train: bool,
    progress: RoundListener,
    divided: Divided | None = None,
    keeping: Keeping | None = None,
    control: Control = BY_SCENARIO,
    known: KnownLearning | None = None,
    cluster: Any = None,
    processors: Sequence[Processor] = (),
    rows_in: Path | None = None,
) -> Server:
    """Put the parts of a run together.

    Args:
        scenario: what to run.
        device: where to train: cpu, cuda or cuda:i.
        train: whether anything is learned; otherwise the world is only priced.
        progress: called with each round's row when it is complete.
        divided: the data of all devices; None: they are loaded and divided here.
        keeping: what has been learned before, and when states are put on record; None keeps nothing.
        control: takes decisions in place of the scenario.
        known: what a finished run has learned, which takes the place of learning; `train` must be False.
        cluster: a Ray cluster whose machines train, see `core.ray_cluster.connected`; None: this machine.
        processors: the types of processors that compute, if anything is kept: a record is of these alone.
        rows_in: the folder whose disk takes rows that are too many for the memory; None: memory holds all of them.

    Raises:
        InputError: the data, partition, model or devices cannot be what the scenario says.
    """
    if divided is None:
        divided = divide(scenario)
    # Only now is it known that nothing is learned: --no-train is no key of the scenario.
    if scenario.server.selection.needs_losses and not train and known is None:
        name = SELECTIONS.name_of(scenario.server.selection)
        raise InputError(
            f"server.selection: {name} chooses by losses, which a run without learning does not have: "
            "run with learning, or choose another selection"
        )
    streams = Streams(scenario.seed)
    decider = _decider(scenario)
    ends_s = _cut_after_s(scenario, control)
    if decider is not None:
        control = OptimisedControl(scenario.devices.count, decider, choosing=control)
    outside = _outside(scenario, divided, streams, control)
    if train:
        check_memory(needed_memory(scenario, divided), device)  # before anything of that size is made
    ledger = Ledger(rows_in)
    if known is not None:
        replay = _replay_of_known(scenario, known, ledger, streams, progress)
    else:
        place = Place(device, cluster, processors)
        replay = _replay(scenario, place, divided, outside, ledger, streams, progress, keeping, train=train)
    return _server(scenario, divided, outside, replay, ledger, streams, control, ends_s)


def rehearse(scenario: Scenario, access: Access | None = None) -> None:
    """Do all that a run does before it learns, except for reading data that would take long.

    Args:
        scenario: what is to be run.
        access: whether code from outside is imported that only a value of `report.what_if` names.

    Raises:
        Unavailable: the data are not on this machine, or were never read before.
        InputError: the data, partition, model or devices cannot be what the scenario says.
    """
    with attributing(plugins_in(scenario), InputError), without_reading():
        divided = divide(scenario)
        check_ledger(rows_of(scenario), on_disk=True)  # as on the command line
        check_points(scenario, access)
        _outside(scenario, divided, Streams(scenario.seed))
        check_memory(needed_memory(scenario, divided), None)


def _decider(scenario: Scenario) -> Decider | None:
    """Return what decides on participants by forecasts of them; None: nothing does."""
    if scenario.server.optimiser.decides:
        return scenario.server.optimiser
    if scenario.radio.allocation.by_forecast:
        return scenario.radio.allocation
    return None


def expected_participants(scenario: Scenario) -> float:
    """Return how many devices take part in a round in the mean, if all devices of a group are present."""
    present = scenario.devices.count / scenario.groups
    return scenario.server.selection.expected(min(scenario.participants, int(present)), present)


def rows_of(scenario: Scenario) -> Expected:
    """Return how many rows a run of a scenario writes, as far as the scenario says."""
    return expected_rows(scenario, expected_participants(scenario))


def needed_memory(scenario: Scenario, divided: Divided) -> MemoryNeeds:
    """Return the least memory that learning a scenario needs."""
    policy = scenario.server.policy
    together = 1
    # With churn, or where rounds overlap, nobody knows how many updates meet; one is the least.
    if policy.averages and not policy.overlapping and scenario.churn.always_present:
        together = max(1, int(expected_participants(scenario)))
    devices = len(divided.parts)
    known = devices
    if not scenario.in_sessions.keep_state:
        known = devices // scenario.groups  # the server's state is about one group at a time
    return memory_needs(scenario.model, scenario.learning, scenario.training, divided.data, devices, together, known)


def _outside(scenario: Scenario, divided: Divided, streams: Streams, control: Control = BY_SCENARIO) -> Outside:
    """Build all parts besides learning, the radio and the server."""
    data = divided.data
    parts = divided.parts
    check(scenario, data)
    churn = scenario.churn
    with watching_draws(churn, "presence"):
        presence = churn.presence(len(parts), _lowest_labels(data, parts), data.classes, streams)
    check_type(churn, "presence", presence, Presence, "a Presence of edgefl.world.churn.base")
    what = "a Presence with probabilities [devices] from 0 to 1"
    check_array(churn, "presence", presence.probabilities, (len(parts),), what, least=0.0, most=1.0)
    world = World(scenario.devices, scenario.cells, scenario.mobility, presence, streams, control)
    first_group = scenario.in_sessions.first_group - 1
    groups = SessionGroups.divide(scenario.groups, first_group, data.train_y, data.test_y, parts, data.classes)
    payload, split, cut = _payloads(scenario, data, part_sizes(parts))
    everybody = np.arange(world.count)
    speeds = world.flops_per_s(everybody)
    refusal = scenario.server.optimiser.refusal(
        world.scenario_tx_power_w(everybody), world.cpu_hz, payload.flops / speeds
    )
    if refusal:
        key, reason = refusal
        raise InputError(f"server.optimiser.{key}: {reason}")
    late = too_late(scenario, payload.flops, speeds, payload.down_bits + payload.up_bits)
    if late:
        log.warning("warning: %s", late)
    return Outside(world, groups, payload, split, cut)


def _replay_of_known(
    scenario: Scenario, known: KnownLearning, ledger: Ledger, streams: Streams, progress: RoundListener
) -> Replay:
    """Build the server's side of learning for a run that learns nothing but what another run has learned."""
    return Replay(
        refuse_to_learn,
        scenario.learning,
        scenario.in_sessions,
        scenario.devices.count,
        scenario.report,
        ledger,
        streams,
        progress,
        edge_models=scenario.server.policy.edge_models,
        sectors=scenario.cells.sectors,
        learning_rates="training.lr",  # which no message names, as nothing is learned
        keeping=(known.record, Pace()),
        base=known.base,
    )


def _replay(
    scenario: Scenario,
    place: Place,
    divided: Divided,
    outside: Outside,
    ledger: Ledger,
    streams: Streams,
    progress: RoundListener,
    keeping: Keeping | None,
    *,
    train: bool,
) -> Replay:
    """Build the server's side of learning; clear a record that belongs to other learning."""
    record = Record()  # a record that keeps nothing
    if keeping:
        record = keeping[0]
    edge_models = scenario.server.policy.edge_models
    probabilities = outside.world.presence.probabilities
    learning_rates = "training.lr"
    if "server_lr" in type(scenario.algorithm).model_fields:
        learning_rates = "training.lr or algorithm.server_lr"

    # Called only when an outcome is not on record. Until then there is no learner, and no worker is started.
    def model() -> GlobalModel:
        return GlobalModel(
            _learner(scenario, place, divided, outside.cut, record),
            scenario.learning,
            scenario.training,
            scenario.in_sessions,
            outside.groups,
            scenario.report,
            scenario.server.selection.asked(probabilities),
            partial(scenario.server.selection.expected, scenario.participants),
            scenario.cells.sites,
            edge_models=edge_models,
            learning_rates=learning_rates,
        )

    base = ""
    begins = True
    if train and keeping:
        base, begins = _base(record, scenario, place, divided, probabilities.tolist())
    build_model = None
    if train:
        build_model = model
    replay = Replay(
        build_model,
        scenario.learning,
        scenario.in_sessions,
        scenario.devices.count,
        scenario.report,
        ledger,
        streams,
        progress,
        edge_models=edge_models,
        sectors=scenario.cells.sectors,
        learning_rates=learning_rates,
        keeping=keeping,
        base=base,
    )
    if begins:
        replay.prepare()  # find faults of model and data before anything is written
    return replay


def _base(
    record: Record, scenario: Scenario, place: Place, divided: Divided, probabilities: list[float]
) -> tuple[str, bool]:
    """Return the first key of the record, and whether learning begins; clear a record of other learning."""
    # Whoever resumes a run may name the plan that its first attempt has chosen by itself: that is no other learning.
    asked = keys_of(scenario)
    if (recorded := record.outcome("asked")) is not None:
        asked = PlanKeys(*recorded)
    base = learning_key(with_keys(scenario, asked), place.device, place.processors, divided, probabilities)
    before = record.outcome("base")
    if before == base:
        # A full disk may have cut the record before the plan, which the result's scenario names.
        return base, record.outcome("plan") is None
    if before is not None:
        log.warning(
            "the record was made by other versions, of edgefl or a plug-in, with other data, or on another device or "
            "type of processor: learning starts over"
        )
    if asked != keys_of(scenario):
        asked = keys_of(scenario)
        base = learning_key(scenario, place.device, place.processors, divided, probabilities)
    record.clear()
    record.note("asked", asked)  # first, as a record that ends before the base is an empty one
    record.note("base", base)
    return base, True


def _server(
    scenario: Scenario,
    divided: Divided,
    outside: Outside,
    replay: Replay,
    ledger: Ledger,
    streams: Streams,
    control: Control,
    ends_s: float | None,
) -> Server:
    """Build the clock, and all parts whose processes run on it."""
    env = new_clock()
    world = outside.world
    payload = outside.payload
    battery_meter: BatteryMeter | None = None
    on_air: OnAir = ignore_on_air
    if world.batteries:
        battery_meter = BatteryMeter(env, world, world.batteries)
        on_air = battery_meter.on_air  # the links tell the meter whose radio is on, so it is built before them
    power_control = world.power_control
    recorded: RecordedLinks | None = None
    if scenario.radio.trace is not None:
        recorded = RecordedLinks(scenario.radio, scenario.devices.count, streams)
    link = Link(scenario.radio, scenario.cells, streams, on_air, control, power_control, recorded, world, ends_s)
    # Polls have draws of their own, but for whose link was recorded where.
    polling = Link(
        scenario.radio,
        scenario.cells,
        streams.apart("poll"),
        on_air,
        power_control=power_control,
        recorded=recorded,
        where=world,
    )
    backhaul = routes(scenario.effective_backhaul, scenario.cells.sites, scenario.cells.sectors)
    # If base stations have models of their own, only those models cross the backhaul, and no participant waits for it.
    participants_routes = backhaul
    if scenario.server.policy.edge_models:
        participants_routes = routes(None, scenario.cells.sites, scenario.cells.sectors)
    base_station_energy: BaseStationEnergy | None = None
    if scenario.cells.energy:
        base_station_energy = BaseStationEnergy(
            scenario.cells.energy,
            scenario.cells.sites,
            link.pricing.budget.server_tx_power_w,
            broadcast=scenario.radio.downlink == "broadcast",
        )
    labels = None
    if scenario.report.labels_by_round:
        labels = divided.data.train_y
    several = scenario.in_sessions.several
    held = HeldSamples(labels, divided.parts, divided.redivision, ledger, several_sessions=several)
    dispatcher = Dispatcher(
        env,
        scenario.server,
        world,
        link,
        polling,
        participants_routes,
        scenario.cells.handover,
        payload,
        outside.split,
        Workload(
            scenario.training,
            payload.samples,
            streams,
            same_steps=properties.takes_same_steps(scenario.algorithm),
        ),
        held,
        ledger,
        Reach(env, scenario.cells, world, link, moves=scenario.mobility.moves),
        by_samples=properties.weighs_by_samples(scenario.algorithm),
    )
    forecaster = forecaster_of(
        env, scenario.server, scenario.participants, world, link, dispatcher, participants_routes, streams
    )
    if isinstance(control, OptimisedControl) and forecaster is not None:
        control.attach(forecaster)
    requests: ChannelRequests | None = None
    if scenario.server.csi.request_bits:
        requests = ChannelRequests(env, scenario.server.csi.request_bits, world, link, battery_meter)
    return Server(
        env,
        scenario.server,
        scenario.in_sessions,
        scenario.stop,
        scenario.participants,
        scenario.cells.sites,
        float(backhaul.one_way_s(payload.model_bits).max()),
        world,
        outside.groups,
        link,
        payload,
        dispatcher,
        held,
        Population(env, world.presence, world.batteries, ledger, scenario.server.participants or 0),
        battery_meter,
        base_station_energy,
        replay,
        ledger,
        streams,
        control,
        forecaster,
        requests,
        labels=_labels_at_registration(scenario, divided),
        geometry=scenario.report.geometry,
    )


def _labels_at_registration(scenario: Scenario, divided: Divided) -> Indices | None:
    """Return how many samples of each class [devices, classes] devices hold; None if the selection does not ask."""
    if not scenario.server.selection.needs_labels:
        return None
    labels = divided.data.train_y
    classes = divided.data.classes
    return np.array([np.bincount(labels[part], minlength=classes) for part in divided.parts], dtype=np.int64)


def check(scenario: Scenario, data: Data) -> None:
    """Check that the data suit the scenario.

    Raises:
        InputError: they do not.
    """
    _check_loss(scenario, data)
    _check_model(scenario.model.with_loss(scenario.training.loss), data, Streams(scenario.seed))
    if data.regression:
        _check_regression(scenario)
    if scenario.data.augmentation and len(data.shape) not in IMAGE_AXES:
        raise InputError(f"data.augmentation: needs images, got samples of shape {list(data.shape)}")
    _check_report(scenario.report, data)
    if scenario.server.selection.needs_labels and not data.classes:
        name = SELECTIONS.name_of(scenario.server.selection)
        raise InputError(f"server.selection: {name} looks at the classes of samples, and these have none: take another")
    if scenario.learning.sent_once() and (data.ranked or not data.classes):
        raise InputError("sessions.initialisation: continuous needs samples with classes to distil")
    if scenario.model.init.kind != "default":
        # A vector of the wrong length is an error even in a run without learning, which never uses it.
        vector = scenario.model.init.vector(scenario.model.parameters(data.shape, data.outputs))
        _check_initial(vector, data.dtype, scenario.model.init.kind)


def _check_model(model: Model, data: Data, streams: Streams) -> None:
    """Check that the model can learn from the data; a user's network is tried.

    Raises:
        InputError: it cannot.
    """
    # What a model says of classes does not matter to a regression: it is asked as for the fewest classes there are.
    classes = 2 if data.regression else data.classes
    for samples in (data.train_x, data.test_x):
        reason = model.misfit(samples, classes)
        reason = reason or model.refusal(data.normalised(samples[telling_rows(samples, 2)]), data.outputs)
        if reason:
            raise InputError(f"model.kind: {reason}")
    if reason := model.global_draw(data.shape, data.outputs):
        raise InputError(f"model.kind: {reason}")
    if has_own_network(model):
        from edgefl.learning.learner.network_trial import network_problem  # late, as it imports torch

        name = MODELS.name_of(model)
        if reason := network_problem(model, data, streams, name):
            raise InputError(f"model.kind: {reason}")


def _check_report(report: ReportSection, data: Data) -> None:
    """Check that the data have what the report asks for.

    Raises:
        InputError: they do not.
    """
    for key, asked in report.asked:
        if reason := asked.refusal(data):
            raise InputError(f"{dotted(key)}: {reason}: leave it out, or take other data")
    if report.train_accuracy and not data.classes:
        raise InputError("report.train_accuracy: needs samples with classes: leave it out")
    if report.labels_by_round and not data.classes:
        raise InputError("report.labels_by_round: needs samples with classes: leave it out")
    if report.strict_auc and not data.ranked:
        raise InputError("report.strict_auc: needs a dataset of rankings (movielens): leave it out")


def _check_initial(vector: npt.NDArray[np.floating], dtype: str, kind: str) -> None:
    """Check that the model that training begins with can be multiplied.

    Raises:
        InputError: its numbers are too large.
    """
    with np.errstate(over="ignore"):
        squares = np.square(vector.astype(dtype))
    if not np.isfinite(squares).all():
        key = "path" if kind == "file" else "value"
        raise InputError(f"model.init.{key}: products of such large numbers exceed {dtype}: begin with smaller ones")


def _check_loss(scenario: Scenario, data: Data) -> None:
    """Check that loss, model and labels go together.

    Raises:
        InputError: they do not.
    """
    model = scenario.model
    loss = scenario.training.loss
    if loss is not None and model.has_own_loss:
        raise InputError(f"training.loss: the model {MODELS.name_of(model)} has a loss of its own: leave it out")
    if model.has_own_loss:
        return
    wanted = (loss or model.loss).labels
    if data.regression and wanted == "classes":
        where = "data.dataset" if loss is None else "training.loss"
        text = "labels are floating-point numbers, and the loss is the cross-entropy of classes"
        raise InputError(f"{where}: {text}: for a regression set training.loss to mse, otherwise use whole numbers")
    if wanted == "numbers" and not data.regression:
        text = f"{LOSSES.name_of(loss or model.loss)} needs floating-point labels, these are {data.classes} classes"
        raise InputError(f"training.loss: {text}: leave it out, or make the labels floating-point numbers")
    if loss is not None and (reason := loss.refusal(data.outputs, data.train_y)):
        raise InputError(f"training.loss: {reason}")
    # What a user's network gives is tried.
    if loss is not None and loss.takes_log_probabilities and not has_own_network(model):
        text = f"nll_loss takes logarithms of probabilities, and {MODELS.name_of(model)} gives none"
        raise InputError(f"training.loss: {text}: leave it out, for the cross-entropy")


def _check_regression(scenario: Scenario) -> None:
    """Check that nothing in the scenario needs classes, as a regression has none.

    Raises:
        InputError: something does.
    """
    text = "labels of a regression are numbers, and no accuracy is measured"
    if scenario.targets:
        raise InputError(f"targets: {text}: leave them out")
    if scenario.stop.accuracy is not None:
        raise InputError(f"stop.accuracy: {text}: leave it out")
    if scenario.learning.needs_classes:
        name = ALGORITHMS.name_of(scenario.algorithm)
        raise InputError(f"algorithm: {name} needs classes, and labels of a regression are numbers: take another")
    if scenario.churn.by_classes:
        raise InputError("churn.p_min: labels of a regression are numbers, and no classes: set churn.probability")


def _payloads(scenario: Scenario, data: Data, sizes: Indices) -> tuple[Payload, SplitPayload | None, int | None]:
    """Return what a participant sends and computes; the same for each half of a cut model; the front's parameters.

    Args:
        scenario: what to run.
        data: the dataset.
        sizes: [devices] number of training samples of each.
    """
    measured = (scenario.learning, scenario.training, data, sizes, scenario.cost)
    payload = measure(scenario.model, *measured)
    report_bits = BITS_PER_FLOAT * scenario.server.selection.report_floats + scenario.server.csi.update_bits
    # What a selection asks devices to report, such as losses, travels with the update.
    payload = replace(payload, up_bits=payload.up_bits + report_bits)
    policy = scenario.server.policy
    if not policy.splits_model:
        return payload, None, None
    front = scenario.model.front(policy.cut_layer, data.shape, data.classes)
    return payload, measure_split(scenario.model, front, *measured), front.parameters


def _learner(scenario: Scenario, place: Place, divided: Divided, cut: int | None, record: Record) -> Learner:
    """Return the learner, with the plan on record if there is one."""
    from edgefl.learning.learner import Learner, LearningTask
    from edgefl.learning.learner.memory import is_out_of_memory
    from edgefl.learning.learner.plans.plan import Plan
    from edgefl.learning.learner.workers.rule import pays_for_processes

    task = LearningTask(
        model=scenario.model.with_loss(scenario.training.loss),
        algorithm=scenario.learning,
        training=scenario.training,
        data=divided.data,
        parts=divided.parts,
        streams=Streams(scenario.seed),
        augmentation=scenario.data.augmentation,
        cut=cut,
        report=scenario.report,
        test_parts=divided.test_parts,
        redivision=divided.redivision,
        participants=expected_participants(scenario),
    )
    # Another plan would round differently, so a resumed run keeps that of its first attempt.
    recorded = record.outcome("plan")
    plan = None
    if recorded:
        plan = Plan(**recorded)
    brief = place.cluster is None and not pays_for_processes(task, scenario.in_sessions.total)
    try:
        learner = Learner(task, place.device, plan=plan, brief=brief, cluster=place.cluster)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        # The least that it needs would fit into this machine, but not beside what is there already.
        text = "the memory that is left is too small for the model and its copies: use a smaller model, or end others"
        raise RunError(f"{text} that use it") from error
    record.note("plan", asdict(learner.plan))
    return learner


def _lowest_labels(data: Data, parts: Sequence[Indices]) -> Indices:
    """Return the lowest class [devices] of which each device has samples; 0 without labels."""
    if not data.classes:
        return np.zeros(len(parts), dtype=np.int64)
    labels = data.train_y[joined(parts)]
    # All labels at once, device after device: a loop over devices would be slow with a million of them.
    sizes = part_sizes(parts)
    starts = np.cumsum(sizes) - sizes  # where each device's labels begin
    return np.asarray(np.minimum.reduceat(labels, starts), dtype=np.int64)


def _cut_after_s(scenario: Scenario, control: Control) -> float | None:
    """Return the time after which the policy has cut every participation short; None if it may last longer."""
    policy = scenario.server.policy
    # Somebody outside may set another deadline, and a policy from outside may take it in another way.
    if control is not BY_SCENARIO or type(policy) is not Deadline or policy.late != "drop":
        return None
    return scenario.server.deadline_s
