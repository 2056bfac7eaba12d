"""Builds the parts whose processes run on the clock: radio, dispatcher, choosing, server."""

from typing import NamedTuple

import numpy as np

from edgefl.coordination.csi.base import ReportedCsi
from edgefl.coordination.decisions import Decider
from edgefl.coordination.policies.deadline import Deadline
from edgefl.coordination.server_view import DeviceTracker
from edgefl.core.arrays import Indices
from edgefl.core.streams import Streams
from edgefl.learning.algorithms import properties
from edgefl.learning.workload import Workload
from edgefl.radio.backhaul import Routes, routes
from edgefl.radio.backhaul_links import BackhaulLinks, all_at_once_s
from edgefl.radio.link import Link
from edgefl.radio.recorded_links import RecordedLinks
from edgefl.radio.transfers import OnAir, ignore_on_air
from edgefl.records.ledger import Ledger
from edgefl.runs.data_division import Divided
from edgefl.runs.observers import Parts, observers_of
from edgefl.runs.world_parts import Outside
from edgefl.scenario import Scenario
from edgefl.server.attendance import Attendance
from edgefl.server.choosing import Choosing
from edgefl.server.clock import Clock
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.forecaster import Forecaster
from edgefl.server.held_decisions import HeldDecisions
from edgefl.server.held_samples import HeldSamples
from edgefl.server.observers.battery_meter import BatteryMeter
from edgefl.server.optimised_control import OptimisedControl
from edgefl.server.plateau import Plateau
from edgefl.server.reach import Reach
from edgefl.server.replay import Replay
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter
from edgefl.server.server import Limits, Server
from edgefl.server.service import Service
from edgefl.server.stopping import Stopping
from edgefl.server.under_way import UnderWay
from edgefl.world.control import BY_SCENARIO, Control
from edgefl.world.held_out import kind_of_network
from edgefl.world.world import World


class Radio(NamedTuple):
    """The links and routes of a run's messages."""

    link: Link
    polling: Link  # for polls, with draws of its own
    backhaul: Routes
    participants_routes: Routes  # the backhaul that participants' messages take
    evaluating: Link | None  # for evaluations on devices, with draws of its own; None if there are none


def decider_of(scenario: Scenario) -> Decider | None:
    """Return the part of the scenario that decides by forecasts of participants; None without one."""
    if scenario.server.optimiser.decides:
        return scenario.server.optimiser
    if scenario.radio.allocation.by_forecast:
        return scenario.radio.allocation
    return None


def server_of(
    env: Clock,
    scenario: Scenario,
    divided: Divided,
    around: Outside,
    replay: Replay,
    ledger: Ledger,
    streams: Streams,
    control: Control,
    held: HeldDecisions | None,
) -> Server:
    """Build the server, and all parts whose processes run on its clock."""
    world = around.world
    meter: BatteryMeter | None = None
    on_air: OnAir = ignore_on_air
    if world.batteries:
        meter = BatteryMeter(env, world, world.batteries)
        on_air = meter.on_air
    ends_s = _cut_after_s(scenario, control)
    radio = _radio(scenario, around, streams, on_air, held or control, ends_s)
    dispatcher = _dispatcher(env, scenario, divided, around, radio, ledger, streams)
    forecaster: Forecaster | None = None
    csi = scenario.server.csi
    if isinstance(csi, ReportedCsi):
        forecaster = Forecaster(
            env=env,
            csi=csi,
            section=scenario.server,
            participants=scenario.participants,
            world=world,
            link=radio.link,
            dispatcher=dispatcher,
            routes=radio.participants_routes,
            streams=streams,
        )
    rounds = RoundCounter(scenario.in_sessions)
    roster = Roster()
    attendance = Attendance(env, world, around.groups, rounds, _service(env, scenario, world, radio.link))
    stopping = Stopping(env, scenario.stop, world.batteries, _plateau(scenario, divided))
    selection = scenario.server.selection
    tracker = DeviceTracker(around.payload.samples, selection.memory_width, _labels_at_registration(scenario, divided))
    choosing = Choosing(
        selection=selection,
        participants=scenario.participants,
        sessions=scenario.in_sessions,
        streams=streams,
        rounds=rounds,
        attendance=attendance,
        roster=roster,
        replay=replay,
        tracker=tracker,
        control=_choosing_control(scenario, control, held, forecaster),
        forecaster=forecaster,
    )
    parts = Parts(
        env=env,
        around=around,
        meter=meter,
        link=radio.link,
        dispatcher=dispatcher,
        forecaster=forecaster,
        replay=replay,
        ledger=ledger,
        rounds=rounds,
        roster=roster,
        tracker=tracker,
        choosing=choosing,
        attendance=attendance,
        evaluating=radio.evaluating,
        network=kind_of_network(divided.data.shape),
    )
    observers = observers_of(scenario, parts, streams)
    under_way = UnderWay(
        env=env,
        world=world,
        link=radio.link,
        dispatcher=dispatcher,
        replay=replay,
        ledger=ledger,
        rounds=rounds,
        roster=roster,
        observers=observers,
        lacking=around.lacking,
    )
    limits = Limits(
        deadline_s=scenario.server.deadline_s or float("inf"),
        backhaul_s=all_at_once_s(radio.backhaul, around.payload.model_bits, scenario.cells.sectors),
    )
    return Server(
        env=env,
        limits=limits,
        stopping=stopping,
        world=world,
        link=radio.link,
        dispatcher=dispatcher,
        replay=replay,
        ledger=ledger,
        rounds=rounds,
        attendance=attendance,
        choosing=choosing,
        roster=roster,
        under_way=under_way,
        observers=observers,
    )


def _service(env: Clock, scenario: Scenario, world: World, link: Link) -> Service | None:
    least_dbm = scenario.radio.least_rsrp_dbm
    if least_dbm is None:
        return None
    return Service(env, world, link, least_dbm, moves=scenario.mobility.moves)


def _plateau(scenario: Scenario, divided: Divided) -> Plateau | None:
    patience = scenario.stop.patience
    if patience is None:
        return None
    return Plateau(patience, patience.of or divided.compared_by)


def _radio(
    scenario: Scenario, around: Outside, streams: Streams, on_air: OnAir, control: Control, ends_s: float | None
) -> Radio:
    world = around.world
    recorded: RecordedLinks | None = None
    if scenario.radio.trace is not None:
        recorded = RecordedLinks(scenario.radio, scenario.devices.count, streams, world.tx_power_dbm)
    link = Link(
        radio=scenario.radio,
        cells=scenario.cells,
        streams=streams,
        on_air=on_air,
        control=control,
        power_control=world.power_control,
        recorded=recorded,
        where=world,
        ends_s=ends_s,
    )
    # Polls have separate draws, except for recorded links.
    polling = Link(
        radio=scenario.radio,
        cells=scenario.cells,
        streams=streams.apart("poll"),
        on_air=on_air,
        power_control=world.power_control,
        recorded=recorded,
        where=world,
    )
    evaluating = None
    evaluation = scenario.server.device_evaluation
    if evaluation is not None:
        # Devices keep their places of the round, and forecasts divide no band for answers.
        evaluating = Link(
            radio=scenario.radio,
            cells=scenario.cells,
            streams=streams.apart("evaluation"),
            on_air=on_air,
            power_control=world.power_control,
            recorded=recorded,
            large_scale=link.channel,
            where=world,
            ends_s=evaluation.deadline_s,
        )
    backhaul = routes(scenario.effective_backhaul, scenario.cells.sites, scenario.cells.sectors)
    # If base stations have models, only those models cross the backhaul, and participants do not wait for it.
    participants_routes = backhaul
    if scenario.server.policy.edge_models:
        participants_routes = routes(None, scenario.cells.sites, scenario.cells.sectors)
    return Radio(link, polling, backhaul, participants_routes, evaluating)


def _dispatcher(
    env: Clock, scenario: Scenario, divided: Divided, around: Outside, radio: Radio, ledger: Ledger, streams: Streams
) -> Dispatcher:
    world = around.world
    payload = around.payload
    labels = divided.data.train_y if scenario.report.labels_by_round else None
    several = scenario.in_sessions.several
    same_steps = properties.takes_same_steps(scenario.algorithm)
    return Dispatcher(
        env=env,
        section=scenario.server,
        world=world,
        link=radio.link,
        polling=radio.polling,
        backhaul=BackhaulLinks(env, radio.participants_routes),
        handover=scenario.cells.handover,
        payload=payload,
        split=around.split,
        workload=Workload(scenario.training, payload.samples, streams, same_steps=same_steps),
        held=HeldSamples(labels, divided.parts, divided.redivision, ledger, several_sessions=several),
        ledger=ledger,
        reach=Reach(env, scenario.cells, world, radio.link, moves=scenario.mobility.moves),
    )


def _choosing_control(
    scenario: Scenario, control: Control, held: HeldDecisions | None, forecaster: Forecaster | None
) -> Control:
    decider = decider_of(scenario)
    if decider is None or held is None or forecaster is None:
        return control
    return OptimisedControl(decider, forecaster, held, choosing=control)


def _labels_at_registration(scenario: Scenario, divided: Divided) -> Indices | None:
    """Return the samples of each class [devices, classes] that devices hold; None if the selection needs none."""
    if not scenario.server.selection.needs_labels:
        return None
    labels = divided.data.train_y
    classes = divided.data.classes
    return np.array([np.bincount(labels[part], minlength=classes) for part in divided.parts], dtype=np.int64)


def _cut_after_s(scenario: Scenario, control: Control) -> float | None:
    """Return the time after which the policy has ended every participation; None if it may last longer."""
    policy = scenario.server.policy
    # A driver from outside may set another deadline, and a policy from outside may treat it differently.
    if control is not BY_SCENARIO or type(policy) is not Deadline or policy.late != "drop":
        return None
    return scenario.server.deadline_s
