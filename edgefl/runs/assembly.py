"""Puts the parts of a run together."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgefl.coordination.selection import SELECTIONS
from edgefl.core.catalogue import plugins_in
from edgefl.core.errors import InputError
from edgefl.core.plugin_import import Access
from edgefl.core.plugins import attributing
from edgefl.core.streams import Streams
from edgefl.learning.datasets.cache import without_reading
from edgefl.learning.memory_needs import check_memory
from edgefl.radio.recorded_links import warn_of_recordings
from edgefl.records.ledger import Ledger
from edgefl.runs.data_division import Divided, divide
from edgefl.runs.known_learning import KnownLearning
from edgefl.runs.learning_key import Processor
from edgefl.runs.learning_parts import Place, needed_memory, replay_of, replay_of_known
from edgefl.runs.observers import added_columns, added_quantities
from edgefl.runs.result_needs import check_ledger, rows_of
from edgefl.runs.server_parts import decider_of, server_of
from edgefl.runs.what_if_points import check_points
from edgefl.runs.world_parts import outside
from edgefl.scenario import Scenario
from edgefl.server.clock import Clock, new_clock
from edgefl.server.evaluation import RoundListener
from edgefl.server.held_decisions import HeldDecisions
from edgefl.server.replay import Keeping
from edgefl.server.server import Server
from edgefl.world.control import BY_SCENARIO, Control


def build(
    scenario: Scenario,
    device: str,
    *,
    train: bool,
    progress: RoundListener,
    divided: Divided | None = None,
    keeping: Keeping | None = None,
    control: Control = BY_SCENARIO,
    env: Clock | None = None,
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
        keeping: the record of earlier learning, and when states are recorded; None keeps nothing.
        control: takes decisions instead of the scenario.
        env: the clock; None: a new one.
        known: the learning of a finished run, used instead of learning; `train` must be False.
        cluster: a Ray cluster whose machines train, see `core.ray_cluster.connected`; None: this machine.
        processors: the types of processors that compute, to which a record is bound.
        rows_in: the folder whose disk takes rows that need too much memory; None: memory holds all of them.

    Raises:
        InputError: the data, partition, model or devices do not fit the scenario.
    """
    if divided is None:
        divided = divide(scenario)
    # Not a rule of the scenario, as --no-train is not one of its keys.
    if scenario.server.selection.needs_losses and not train and known is None:
        name = SELECTIONS.name_of(scenario.server.selection)
        raise InputError(
            f"server.selection: {name} chooses by losses, which a run without learning does not have: "
            "run with learning, or choose another selection"
        )
    if scenario.stop.patience is not None and not train and known is None:
        text = "a run without learning does not improve"
        raise InputError(f"stop.patience: {text}: run with learning, or leave it out (--set stop.patience=null)")
    streams = Streams(scenario.seed)
    held: HeldDecisions | None = None
    if decider_of(scenario) is not None:
        held = HeldDecisions(scenario.devices.count)
    around = outside(scenario, divided, streams, held or control)
    if train:
        check_memory(needed_memory(scenario, divided), device)  # before anything of that size is made
    ledger = Ledger(rows_in, added_columns(scenario))
    if known is not None:
        replay = replay_of_known(scenario, known, ledger, streams, progress)
    else:
        place = Place(device, cluster, processors)
        replay = replay_of(scenario, place, divided, around, ledger, streams, progress, keeping, train=train)
    return server_of(env or new_clock(), scenario, divided, around, replay, ledger, streams, control, held)


def rehearse(scenario: Scenario, access: Access | None = None) -> None:
    """Do everything that a run does before it learns, except for reading data that would take long.

    Raises:
        Unavailable: the data are not on this machine, or were never read before.
        InputError: the data, partition, model or devices do not fit the scenario.
    """
    with attributing(plugins_in(scenario), InputError), without_reading():
        if scenario.radio.trace is not None:
            warn_of_recordings(scenario.radio.trace)
        divided = divide(scenario)
        added_columns(scenario)
        added_quantities(scenario)
        check_ledger(rows_of(scenario), on_disk=True)  # as on the command line
        check_points(scenario, access)
        outside(scenario, divided, Streams(scenario.seed))
        check_memory(needed_memory(scenario, divided), None)
