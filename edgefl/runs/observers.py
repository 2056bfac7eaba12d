"""The optional parts of a run that a scenario asks for, in the order of their columns."""

from typing import NamedTuple

import numpy as np

from edgefl.coordination.server_view import DeviceTracker
from edgefl.core.arrays import Floats, Ids
from edgefl.core.errors import InputError
from edgefl.core.streams import Streams
from edgefl.learning.drifts import Drift
from edgefl.radio.link import Link
from edgefl.radio.radio_section import Faults
from edgefl.records.added_columns import AddsColumns
from edgefl.records.columns import DEVICE_COLUMNS, ROUND_COLUMNS, ResultColumn
from edgefl.records.ledger import Ledger
from edgefl.records.quantities import QUANTITIES, Quantity
from edgefl.records.statuses import ANSWERED, POLLED
from edgefl.runs.world_parts import Outside
from edgefl.scenario import Scenario
from edgefl.server.attendance import Attendance
from edgefl.server.choosing import Choosing
from edgefl.server.clock import Clock
from edgefl.server.dispatcher import Dispatcher
from edgefl.server.forecaster import Forecaster
from edgefl.server.observer import Observer
from edgefl.server.observers.added_columns import AddedColumns
from edgefl.server.observers.advice import FastTransferAdvice
from edgefl.server.observers.base_station_energy import BaseStationEnergy
from edgefl.server.observers.battery_meter import BatteryMeter
from edgefl.server.observers.carbon import DeviceCarbon
from edgefl.server.observers.cell_load import CellLoad
from edgefl.server.observers.channel_reports import ChannelReports
from edgefl.server.observers.data_changes import DataChanges
from edgefl.server.observers.departures import Departures
from edgefl.server.observers.device_columns import Geometry, LostBlocks, SettingUp, SignalToInterference
from edgefl.server.observers.device_evaluation import DeviceEvaluation
from edgefl.server.observers.error_bars import ErrorBars
from edgefl.server.observers.heat import ProcessorHeat
from edgefl.server.observers.polls import Polls
from edgefl.server.observers.population import DepartedState, Population
from edgefl.server.observers.round_columns import (
    CountedStatus,
    EdgeBackhaul,
    Handovers,
    OutOfService,
    ServerEnergy,
    SessionHistory,
)
from edgefl.server.observers.slow_transfers import SlowTransfers
from edgefl.server.replay import Replay
from edgefl.server.roster import Roster
from edgefl.server.round_counter import RoundCounter
from edgefl.world.cells_section import BaseStationEnergySection
from edgefl.world.error_draws import ErrorDraws, Order
from edgefl.world.held_out import NetworkKind


class Parts(NamedTuple):
    """The parts of a run that its observers follow."""

    env: Clock
    around: Outside
    meter: BatteryMeter | None  # None if no device has a battery
    link: Link
    dispatcher: Dispatcher
    forecaster: Forecaster | None  # None if the server knows nothing of channels
    replay: Replay
    ledger: Ledger
    rounds: RoundCounter
    roster: Roster
    tracker: DeviceTracker
    choosing: Choosing
    attendance: Attendance
    evaluating: Link | None  # for evaluations on devices; None if there are none
    network: NetworkKind  # by the data that it learns from


def observers_of(scenario: Scenario, parts: Parts, streams: Streams) -> list[Observer]:
    """Return the observers of a run, in the order of their calls and columns."""
    observers: list[Observer] = [_population(scenario, parts)]
    if parts.forecaster is not None:
        observers.append(parts.forecaster.knowledge)
    if parts.meter is not None:  # before departures, which remove a device from the meter
        observers.append(parts.meter)
    # With on_departure: completes, a participation outlasts its device's presence.
    if scenario.server.on_departure == "lost":
        observers.append(_departures(parts))
    if parts.attendance.service is not None:
        observers.append(OutOfService(parts.attendance.service))
    if scenario.data.drift is not None:
        observers.append(_data_changes(scenario.data.drift, parts))
    if parts.around.world.heat is not None:
        observers.append(ProcessorHeat(parts.around.world.heat))
    observers += _with_columns(scenario, parts)
    observers += _error_bars(scenario, parts)
    if scenario.server.selection.polls:
        observers += [_polls(scenario, parts, streams), CountedStatus(POLLED)]
    observers += _device_evaluation(scenario, parts)
    observers += [_advice(scenario, parts), _slow_transfers(scenario.radio.faults)]
    return [*observers, *_cell_load(scenario, parts)]


def _with_columns(scenario: Scenario, parts: Parts) -> list[Observer]:
    policy = scenario.server.policy
    model_bytes = int(parts.around.payload.model_bits / 8)
    observers: list[Observer] = []
    if scenario.server.csi.request_bits and parts.forecaster is not None:
        observers.append(_channel_reports(scenario, parts, parts.forecaster))
    if policy.edge_models:
        observers.append(EdgeBackhaul(scenario.cells.sites, model_bytes))
    if scenario.in_sessions.several:
        observers.append(SessionHistory(scenario.in_sessions.initialisation, model_bytes))
    if policy.splits_model:
        observers.append(ServerEnergy(scenario.server.power_w))
    if scenario.cells.handover:
        observers.append(Handovers(links_fail=scenario.cells.handover.radio_link_failure is not None))
    if scenario.devices.carbon is not None:
        first_after = [end for _, end in scenario.devices.borders]
        observers.append(DeviceCarbon(scenario.devices.carbon, first_after))
    if scenario.cells.energy:
        observers.append(_base_station_energy(scenario, scenario.cells.energy, parts))
    if policy.exchanges:
        observers.append(CountedStatus(ANSWERED))
    return [*observers, *_with_device_columns(scenario, parts), *_added_columns(scenario, parts)]


def _error_bars(scenario: Scenario, parts: Parts) -> list[Observer]:
    policy = scenario.server.policy
    deadline_s = scenario.server.deadline_s or np.inf
    order: Order = "together"
    if not policy.averages:
        order = "in_turn"
    elif policy.overlapping and not np.isfinite(deadline_s):
        order = "overlapping"
    draws = ErrorDraws(scenario.devices, scenario.radio.held_out, parts.network, order, deadline_s)
    return [ErrorBars(draws)] if draws.of_energy else []


def _with_device_columns(scenario: Scenario, parts: Parts) -> list[Observer]:
    budget = parts.link.pricing.budget
    observers: list[Observer] = []
    if scenario.devices.sets_up:
        observers.append(SettingUp())
    if scenario.report.geometry:
        observers.append(Geometry(budget))
    if scenario.report.geometry or scenario.radio.interference is not None:
        observers.append(SignalToInterference())
    if budget.adaptation is not None:
        observers.append(LostBlocks())
    return observers


def _added_columns(scenario: Scenario, parts: Parts) -> list[Observer]:
    def memory_of(ids: Ids) -> Floats:
        return parts.choosing.view.memory[ids]

    def no_memory(ids: Ids) -> Floats:
        return np.zeros((len(ids), 0))

    return [
        AddedColumns(scenario.server.selection, memory_of),
        AddedColumns(scenario.radio.allocation, no_memory),
    ]


def _members(scenario: Scenario) -> dict[str, AddsColumns]:
    """Return the members that may add columns, by their keys."""
    return {"server.selection": scenario.server.selection, "radio.allocation": scenario.radio.allocation}


def added_quantities(scenario: Scenario) -> list[Quantity]:
    """Return the quantities of a whole run that members of a scenario add to its summary.

    Raises:
        InputError: one has the name of another one, or adds up a column that is none of its member's.
    """
    added: list[Quantity] = []
    names = set(QUANTITIES)
    for key, member in _members(scenario).items():
        own = {column.name for column in member.round_columns}
        for one in member.quantities:
            if one.name in names:
                raise InputError(f"{key}: its quantity {one.name} has the name of another one: rename it")
            if not one.sums or not own.issuperset(one.sums):
                raise InputError(f"{key}: its quantity {one.name} must add up columns (`sums`) of its round_columns")
            names.add(one.name)
            added.append(one)
    return added


def added_columns(scenario: Scenario) -> list[ResultColumn]:
    """Return the columns that members of a scenario add to rounds.csv and devices.csv.

    Raises:
        InputError: two of them have the same name, or one has that of a column that edgefl may write.
    """
    added: list[ResultColumn] = []
    measured = [column for asked in scenario.report.asked for column in asked.measure.round_columns]
    owners = {column.name: "edgefl or a measure" for column in (*ROUND_COLUMNS, *DEVICE_COLUMNS, *measured)}
    for key, member in _members(scenario).items():
        for column in (*member.round_columns, *member.device_columns):
            if column.name in owners:
                raise InputError(f"{key}: its column {column.name} is one of {owners[column.name]}: rename it")
            owners[column.name] = key
            added.append(column)
    return added


def _population(scenario: Scenario, parts: Parts) -> Population:
    return Population(
        env=parts.env,
        world=parts.around.world,
        ledger=parts.ledger,
        groups=parts.around.groups,
        rounds=parts.rounds,
        departed=DepartedState(scenario.server.departed_state, parts.dispatcher, parts.replay),
        wanted=scenario.server.participants or 0,
    )


def _data_changes(drift: Drift, parts: Parts) -> DataChanges:
    return DataChanges(env=parts.env, drift=drift, rounds=parts.rounds, replay=parts.replay, ledger=parts.ledger)


def _departures(parts: Parts) -> Departures:
    if parts.meter is None:
        return Departures(parts.env, parts.around.world.presence)
    return Departures(parts.env, parts.around.world.presence, parts.meter.leave)


def _channel_reports(scenario: Scenario, parts: Parts, forecaster: Forecaster) -> ChannelReports:
    return ChannelReports(
        env=parts.env,
        report_bits=scenario.server.csi.request_bits,
        world=parts.around.world,
        link=parts.link,
        meter=parts.meter,
        choosing=parts.choosing,
        roster=parts.roster,
        rounds=parts.rounds,
        knowledge=forecaster.knowledge,
    )


def _base_station_energy(scenario: Scenario, section: BaseStationEnergySection, parts: Parts) -> BaseStationEnergy:
    return BaseStationEnergy(
        section=section,
        cells=scenario.cells,
        tx_power_w=parts.link.pricing.budget.server_tx_power_w,
        broadcast=scenario.radio.downlink == "broadcast",
    )


def _polls(scenario: Scenario, parts: Parts, streams: Streams) -> Polls:
    return Polls(
        env=parts.env,
        selection=scenario.server.selection,
        participants=scenario.participants,
        streams=streams,
        tracker=parts.tracker,
        rounds=parts.rounds,
        choosing=parts.choosing,
        roster=parts.roster,
        dispatcher=parts.dispatcher,
        replay=parts.replay,
    )


def _device_evaluation(scenario: Scenario, parts: Parts) -> list[Observer]:
    section = scenario.server.device_evaluation
    if section is None or parts.evaluating is None:
        return []
    evaluation = DeviceEvaluation(
        env=parts.env,
        section=section,
        link=parts.evaluating,
        dispatcher=parts.dispatcher,
        attendance=parts.attendance,
        rounds=parts.rounds,
        roster=parts.roster,
        ledger=parts.ledger,
    )
    return [evaluation]


def _cell_load(scenario: Scenario, parts: Parts) -> list[Observer]:
    if not parts.link.knows_occupancy:
        return []
    cells = len(parts.link.pricing.budget.group)
    return [CellLoad(cells=cells, broadcast=scenario.radio.downlink == "broadcast", ledger=parts.ledger)]


def _slow_transfers(faults: Faults) -> SlowTransfers:
    if faults.hopeless_s is not None:
        return SlowTransfers(faults.hopeless_s, "radio.faults.link_failure_s")
    return SlowTransfers(faults.max_transfer_s or np.inf, "radio.faults.max_transfer_s")


def _advice(scenario: Scenario, parts: Parts) -> FastTransferAdvice:
    rounds = scenario.in_sessions.total
    if scenario.server.policy.exchanges:  # a driver from outside may end the run at any time
        rounds = 0
    return FastTransferAdvice(rounds, lambda: parts.link.needless_s)
