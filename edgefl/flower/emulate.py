"""Runs a Flower app in an emulated world, from its folder to a result folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from edgefl.core.errors import RunError
from edgefl.core.extras import require
from edgefl.results import run_folder
from edgefl.runs.emulation import RESULTS, Options, begin, silent
from edgefl.runs.report_page import write_report
from edgefl.scenario import Scenario, dump, load_with_source
from edgefl.scenario.overrides import with_seed
from edgefl.server.evaluation import RoundListener

if TYPE_CHECKING:  # Flower is imported only when it is known to be there
    from edgefl.flower.app_folder import AppFolder, Components
    from edgefl.flower.metrics import RoundMetrics
    from edgefl.flower.operations import Operations
    from edgefl.flower.virtual_time import AppClock
    from edgefl.flower.world import Said
    from edgefl.results.result import Result
    from edgefl.runs.emulation import Emulation

log = logging.getLogger(__name__)


def emulate(
    app: str | Path,
    world: str | Path | Mapping[str, Any],
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    run_config: str = "",
    operations: Said = "app",
    out: str | Path | None = None,
    overwrite: bool = False,
    quiet: bool = False,
    progress: RoundListener = silent,
) -> Result:
    """Run a Flower app in an emulated world.

    Args:
        app: the app's folder, with its `pyproject.toml`.
        world: a scenario file, or the same as nested mappings: devices, cells, radio, mobility, churn, ...
        overrides: "dotted.key=value" each, of the world.
        seed: replaces the world's seed.
        run_config: replaces keys of the app's configuration, such as "num-server-rounds=5 lr=0.1".
        operations: `app` counts what the ClientApp computes with torch; `world` takes the operations that follow from
            the world's sections model, training and data.
        out: result folder; by default results/<name of the app>/seed-<seed>.
        overwrite: replace the results that are in `out` already.
        quiet: suppress what the app prints and logs.
        progress: called with each finished round's row.

    Returns:
        The result; `result.status` tells whether the run finished, was interrupted or failed.

    Raises:
        InputError: the input is wrong; nothing was written.
        RunError: the results cannot be written.
    """
    # Flower sends usage statistics to its makers, unless this is set before it is imported.
    os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
    require("flwr", "flower", "edgefl flower")
    from edgefl.flower.app_folder import imported, read_app
    from edgefl.flower.virtual_time import AppClock
    from edgefl.flower.world import as_world

    here = Path.cwd()  # before any code from outside, which may change it
    described = read_app(Path(app), run_config)
    scenario, source = load_with_source(world, with_seed(overrides, seed), needs_files=True)
    with source.placing():
        scenario = as_world(scenario, described, operations)
    folder = here / RESULTS / described.name / f"seed-{scenario.seed}"
    if out is not None:
        folder = here / out
    # Before the app's own code runs.
    run_folder.check_folder(folder, may_hold_run=overwrite)
    run_folder.check_files(folder)
    clock = AppClock(described.folder)
    with _hushed(quiet=quiet), clock.installed(), imported(described) as components:
        options = Options(folder, device="cpu", train=False, overwrite=overwrite)
        with source.placing():
            emulation = begin(scenario, options, progress)
        with emulation:
            # The file has the labels of the world's data, but the app does not learn from them.
            run_folder.remove_files(folder, [run_folder.LABELS_FILE])
            priced = _operations(emulation)
            _drive(emulation, described, components, clock, priced)
            result = _finish(emulation, folder)
    write_report(folder)
    if note := priced.note():
        log.warning("warning: %s", note)
    return result


def _drive(
    emulation: Emulation, app: AppFolder, components: Components, clock: AppClock, operations: Operations
) -> None:
    """Run the ServerApp to its end; a failed run gets its status and the reason."""
    from flwr.app import Context, RecordDict
    from flwr.common.constant import SUPERLINK_NODE_ID
    from flwr.server import SimpleClientManager
    from flwr.supercore.run import Run
    from flwr.supercore.task_identity import TaskIdentity

    from edgefl.core.streams import Streams
    from edgefl.flower.central_evaluation import heard
    from edgefl.flower.clients import Clients
    from edgefl.flower.grid import VirtualGrid
    from edgefl.flower.metrics import RoundMetrics
    from edgefl.flower.policy import FlowerApp
    from edgefl.flower.randomness import SERVER, seeded

    scenario = emulation.scenario
    server = emulation.server
    streams = Streams(scenario.seed)
    run_id = scenario.seed + 1
    over = server.env.event()
    if isinstance(scenario.server.policy, FlowerApp):
        scenario.server.policy.end_with(over)
    TaskIdentity.task_id = 1
    TaskIdentity.run_id = run_id
    TaskIdentity.node_id = SUPERLINK_NODE_ID
    clients = Clients(
        client_app=components.client,
        folder=app.folder,
        run_id=run_id,
        run_config=app.run_config,
        count=server.world.count,
        operations=operations,
        streams=streams,
        clock=clock,
    )
    context = Context(run_id, SUPERLINK_NODE_ID, {}, RecordDict(), dict(app.run_config))
    with RoundMetrics() as metrics, heard(metrics), seeded(streams, SERVER, 0):
        grid = VirtualGrid(emulation, clients, metrics, Run.create_empty(run_id))
        clock.now_s = grid.now_s
        clock.pass_s = grid.sleep
        try:
            # Workflows, such as that of secure aggregation, wait for nodes with it.
            with patch.object(SimpleClientManager, "wait_for", grid.wait_for_clients()):
                components.server(grid, context)
            with clock.real():
                grid.end()
        except KeyboardInterrupt:
            emulation.stop("interrupted", "interrupted by the user")
        except RunError as error:
            emulation.fail(error)
        except BaseException as error:  # noqa: BLE001 - the app may raise anything, even a `SystemExit`
            emulation.stop("failed", emulation.error or _fault_of_server(error, app.folder, metrics))
        if emulation.status != "running":
            grid.end()  # finished rounds are results
    if emulation.status == "running":
        over.succeed()
        emulation.advance()


def _fault_of_server(error: BaseException, folder: Path, metrics: RoundMetrics) -> str:
    from edgefl.flower.app_folder import fault_in_app

    line = fault_in_app(error, folder)
    kind = metrics.without_samples()
    if not kind or not isinstance(error, ZeroDivisionError):
        return line
    # Flower divides by the sum of the weights of replies.
    return f"{line}; all {kind} replies of the round have num-examples 0: give at least one device samples"


def _operations(emulation: Emulation) -> Operations:
    from edgefl.flower.operations import CountedOperations, PricedOperations
    from edgefl.flower.policy import FlowerApp

    server = emulation.server
    scenario = emulation.scenario
    policy = scenario.server.policy
    if isinstance(policy, FlowerApp) and policy.operations == "world":
        any_arrays = scenario.model.cost is not None
        return PricedOperations(server.payload, server.dispatcher.workload, any_arrays=any_arrays)
    return CountedOperations()


def _finish(emulation: Emulation, folder: Path) -> Result:
    """Write the results, with the number of rounds that the app has run in the scenario."""
    from edgefl.core.files import write_atomically
    from edgefl.flower.world import with_rounds

    scenario: Scenario = with_rounds(emulation.scenario, len(emulation.server.ledger.rounds))
    emulation.scenario = scenario
    write_atomically(folder / "scenario.yaml", dump(scenario).encode())
    return emulation.finish()


@contextmanager
def _hushed(*, quiet: bool) -> Iterator[None]:
    """Let each of Flower's log lines appear once; with `quiet`, suppress them and all that the app prints."""
    logger = logging.getLogger("flwr")
    level = logger.level
    propagates = logger.propagate
    logger.propagate = False  # Flower prints its lines itself
    with ExitStack() as stack:
        if quiet:
            logger.setLevel(logging.CRITICAL)
            stack.enter_context(redirect_stdout(StringIO()))
            stack.enter_context(redirect_stderr(StringIO()))
        try:
            yield
        finally:
            logger.setLevel(level)
            logger.propagate = propagates
