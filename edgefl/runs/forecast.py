"""Forecasts of a run from its first rounds: its results, its time on this machine and its needs."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from edgefl.coordination.policies import POLICIES
from edgefl.coordination.selection import SELECTIONS
from edgefl.core.errors import InputError, RunError, Unavailable
from edgefl.core.machine import tightest_limit
from edgefl.core.plugin_import import NotImported
from edgefl.core.units import BYTES, energy, quantity, seconds
from edgefl.learning.algorithms import ALGORITHMS
from edgefl.learning.datasets import DATASETS
from edgefl.learning.datasets.fetch import found_at
from edgefl.learning.models import MODELS
from edgefl.learning.partitions.base import part_sizes
from edgefl.learning.payload import Payload
from edgefl.results.participation import Updates, capacity, updates_of
from edgefl.results.what_if_table import value_cell, value_text
from edgefl.runs.data_division import Divided, divide
from edgefl.runs.emulation import Options, begin
from edgefl.runs.learning_parts import needed_memory
from edgefl.runs.result_needs import disk_needs, expected_participants, free_bytes, rows_of
from edgefl.scenario import Scenario, changed
from edgefl.scenario.overrides import Override

TRIAL_ROUNDS = 4
MORE_POWER_DB = 3.0  # twice the power
TRIAL_S = 20.0  # wall-clock, after which the trial ends with its round

Rows = list[tuple[str, str]]  # heading and text


class _EnoughError(Exception):
    """Ends the trial."""


@dataclass
class _Trial:
    """The first rounds of a run, and when they ended."""

    began_s: float = field(default_factory=time.monotonic)
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    ended_s: list[float] = field(default_factory=list)  # wall-clock since the beginning

    def __call__(self, row: Mapping[str, Any]) -> None:
        self.rows.append(row)
        self.ended_s.append(time.monotonic() - self.began_s)
        if len(self.rows) >= TRIAL_ROUNDS or self.ended_s[-1] > TRIAL_S:
            raise _EnoughError

    @property
    def updates(self) -> Updates:
        """The updates of these rounds."""
        return updates_of(lambda name: sum(row[name] for row in self.rows))

    def of_all(self, rounds: int) -> tuple[str, str, str]:
        """Return the updates, the virtual time and the energy of so many rounds that are as these."""
        factor = rounds / len(self.rows)
        arrived = f"{self.updates.received * factor:.0f} of {self.updates.ended * factor:.0f}"
        last = self.rows[-1]
        return arrived, seconds(last["time_s"] * factor), energy(last["energy_j"] * factor)

    def wall_s(self, rounds: int) -> float:
        first_s = self.ended_s[0]
        if len(self.ended_s) == 1:  # an upper bound, as it includes start-up
            return rounds * first_s
        later_s = (self.ended_s[-1] - first_s) / (len(self.ended_s) - 1)
        return first_s + (rounds - 1) * later_s


def forecast(scenario: Scenario, options: Options, folder: Path) -> Rows:
    """Return a forecast of a run; its first rounds are run in memory, and no results are written.

    As in any run, a measured training plan is kept in the cache.

    Raises:
        InputError: the scenario cannot be run.
        RunError: one of its first rounds fails.
    """
    divided = divide(scenario)
    trial, payload = _tried(scenario, options)
    rounds = scenario.in_sessions.total
    rows = [
        ("run", f"{scenario.name}, seed {scenario.seed}: {rounds} rounds"),
        ("results", _folder(folder)),
        ("devices", f"{scenario.devices.count}, {_participants(scenario)} a round, in {scenario.cells.count} cell(s)"),
        ("data", _data(scenario, divided)),
        ("model", _model(scenario, divided)),
        ("algorithm", _algorithm(scenario)),
        ("messages", _messages(payload)),
    ]
    if trial.rows:
        basis = f"as its first {len(trial.rows)}, which have been run for this"
        arrived, time_text, energy_text = trial.of_all(rounds)
        rows.append(("virtual", f"about {time_text} and {energy_text}, if all rounds are {basis}"))
        if trial.updates.ended:
            rows.append(("updates", f"about {arrived} arrive, on the same condition"))
        if trial.updates.many_lost:
            rows += _remedies(scenario)
        columns = {name: [row[name] for row in trial.rows] for name in trial.rows[0]}
        if carried := capacity(columns, scenario.cells.count):
            rows.append(("capacity", carried))
        rows.append(("takes", f"about {seconds(trial.wall_s(rounds))} here, on the same condition"))
    if options.train:
        rows.append(("memory", _memory(scenario, divided)))
    needed = quantity(disk_bytes(scenario, divided, train=options.train), BYTES)
    rows.append(("disk", f"about {needed} as far as it is known{free_text(folder)}"))
    if scenario.stop.model_dump(exclude_none=True):
        rows.append(("stop", "may end it before its last round"))
    return rows


def lost_updates(scenario: Scenario) -> Iterator[str]:
    """Yield a warning if many updates of a run with a deadline would not arrive; nothing without its data.

    Raises:
        InputError: the scenario cannot be run.
        RunError: one of its first rounds fails.
    """
    if scenario.server.deadline_s is None or scenario.server.selection.needs_losses:
        return
    try:
        trial = _priced(scenario)
    except (NotImported, Unavailable):
        return
    if trial.updates.many_lost:
        arrived, *_ = trial.of_all(scenario.in_sessions.total)
        text = f"server.deadline_s: about {arrived} updates arrive, if all rounds are as the first {len(trial.rows)}"
        yield f"{text}: edgefl run --dry-run prices remedies"


def _remedies(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the effect of values that may let more updates arrive, priced in the same rounds without learning."""
    values: dict[str, Any] = {
        "radio.downlink": "broadcast",
        "server.participants": max(scenario.participants // 2, 1),
        "radio.bandwidth_hz": 2 * scenario.radio.bandwidth_hz,
        "devices.tx_power_dbm": scenario.model_dump(mode="json")["devices"]["tx_power_dbm"],
        "server.deadline_s": 2 * (scenario.server.deadline_s or 0),
    }
    if isinstance(values["devices.tx_power_dbm"], float | int):  # not a distribution
        values["devices.tx_power_dbm"] += MORE_POWER_DB
    for key, value in values.items():
        override = Override(tuple(key.split(".")), value, "a remedy")
        try:
            other = changed(scenario, [override])
            trial = _priced(other)
        except (InputError, RunError):
            continue  # it does not fit the scenario
        if other != scenario:
            arrived, time_text, energy_text = trial.of_all(scenario.in_sessions.total)
            name = f"{key}={value_text(key, value_cell(value))}"
            yield key.rpartition(".")[2], f"{name}: {arrived} arrive, {time_text} and {energy_text}"


def whole_run_s(scenario: Scenario, options: Options) -> float:
    """Return the wall-clock time of a run on this machine [s], estimated from its first rounds, run in memory.

    Raises:
        InputError: the scenario cannot be run.
        RunError: one of its first rounds fails.
    """
    began_s = time.monotonic()
    trial, _ = _tried(scenario, options)
    if not trial.rows:
        return time.monotonic() - began_s
    return trial.wall_s(scenario.in_sessions.total)


def _priced(scenario: Scenario) -> _Trial:
    """Return the first rounds without learning; what a beginning run warns of has been said before."""
    log = logging.getLogger("edgefl")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        return _tried(scenario, Options(train=False))[0]
    finally:
        log.setLevel(level)


def _tried(scenario: Scenario, options: Options) -> tuple[_Trial, Payload]:
    trial = _Trial()
    with begin(scenario, replace(options, out=None), trial) as emulation:
        payload = emulation.server.payload
        with suppress(_EnoughError):
            emulation.advance()
            emulation.settle()
    return trial, payload


def _folder(folder: Path) -> str:
    if folder.exists() and any(folder.iterdir()):
        return f"{folder}, which is not empty: --resume or --overwrite"
    return str(folder)


def _participants(scenario: Scenario) -> str:
    """Return how many devices take part in a round; with churn, at most."""
    count = f"about {expected_participants(scenario):.3g}"
    if scenario.churn.always_present:
        return count
    return f"{count} if all are present"


def _data(scenario: Scenario, divided: Divided) -> str:
    dataset = scenario.data.dataset
    name = DATASETS.name_of(dataset)
    counts = part_sizes(divided.parts)
    total = f"{len(divided.data.train_x)} + {len(divided.data.test_x)} samples"
    sizes = f"{total}, {counts.min()} to {counts.max()} a device"
    place = found_at(name, dataset)
    if place is None:
        return f"{name}: {sizes}"
    return f"{name}: {sizes} ({place})"


def _model(scenario: Scenario, divided: Divided) -> str:
    data = divided.data
    count = scenario.network.parameters(data.shape, data.outputs)
    frozen = scenario.network.frozen_parameters(data.shape, data.outputs)
    text = f"{MODELS.name_of(scenario.model)}: {count:,} parameters"
    if frozen:
        text += f" that are trained, {frozen:,} that are frozen"
    return text


def _messages(payload: Payload) -> str:
    least, most = (quantity(bits / 8, BYTES) for bits in (np.min(payload.up_bits), np.max(payload.up_bits)))
    up = least if least == most else f"{least} to {most}"
    text = f"{quantity(payload.down_bits / 8, BYTES)} down, {up} up, each"
    if payload.first_bits:
        text += f"; {quantity(payload.first_bits / 8, BYTES)} more with the first download, for what is frozen"
    return text


def _algorithm(scenario: Scenario) -> str:
    policy = POLICIES.name_of(scenario.server.policy)
    selection = SELECTIONS.name_of(scenario.server.selection)
    return f"{ALGORITHMS.name_of(scenario.algorithm)}, policy {policy}, selection {selection}"


def disk_bytes(scenario: Scenario, divided: Divided, *, train: bool) -> float:
    """Return how many bytes the results of a run likely take on disk."""
    return sum(need.likely_bytes for need in disk_needs(scenario, divided, rows_of(scenario), train=train))


def free_text(folder: Path) -> str:
    """Return how much of a folder's disk is free, as the end of a sentence; "" if that is unknown."""
    free = free_bytes(folder)
    if free is None:
        return ""
    return f"; {quantity(free, BYTES)} are free"


def _memory(scenario: Scenario, divided: Divided) -> str:
    needs = needed_memory(scenario, divided)
    name, limit_bytes = tightest_limit()
    largest = f"{quantity(needs.largest.bytes, BYTES)} for {needs.largest.what}"
    there = f"there are {quantity(limit_bytes, BYTES)} ({name})"
    return f"at least {quantity(needs.total_bytes, BYTES)} ({largest}); {there}"
