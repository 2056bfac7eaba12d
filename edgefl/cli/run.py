"""`edgefl run`."""

from __future__ import annotations

import argparse
import math
import sys
import textwrap
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import add_options, add_running, as_typed, begin, warn_of_implausible, working_directory
from edgefl.cli.exits import CODE_OF_STATUS, EXIT_DONE
from edgefl.cli.json_output import print_json
from edgefl.core.errors import InputError

if TYPE_CHECKING:  # slow to import, and other verbs do not need them
    from edgefl.learning.record import Pace
    from edgefl.results.report.shared.read import Run
    from edgefl.results.result import Result
    from edgefl.results.tracking import Tracker
    from edgefl.scenario import Scenario

MOST_PACE = 1e9  # rounds or minutes
# Of the table at the end
NAME_WIDTH = 14
LINE_WIDTH = 100


def add_run(verbs: Any) -> None:
    """Add `edgefl run` and its options."""
    about = "run one emulation, and write its results to a folder"
    parser = verbs.add_parser("run", help=about, description=about)
    add_options(parser, "run")
    add_running(parser)
    parser.add_argument(
        "--checkpoint-every",
        metavar="N|Nmin",
        type=_pace,
        dest="pace",
        help="write a checkpoint every N rounds or every N minutes (default: as often as takes 2 %% of the time)",
    )
    add_options(parser, "json")
    parser.set_defaults(verb=_run)


def _pace(text: str) -> Pace:
    from edgefl.learning.record import Pace

    in_minutes = text.endswith("min")
    try:
        value = float(text.removesuffix("min"))
    except ValueError:
        value = 0
    is_whole = value % 1 == 0  # NaN is neither whole nor in range
    if not 0 < value < MOST_PACE or not (in_minutes or is_whole):
        expected = "must be a number of rounds such as 50, or of minutes such as 10min"
        raise InputError(f"--checkpoint-every {text}: {expected}")
    if in_minutes:
        return Pace(seconds=60.0 * value)
    return Pace(rounds=int(value))


def _run(options: argparse.Namespace) -> int:
    from edgefl.core.own_files import check_not_read
    from edgefl.results.run_folder import SCENARIO_FILE
    from edgefl.runs.emulation import default_folder
    from edgefl.scenario import load_with_source
    from edgefl.scenario.overrides import with_seed

    if options.dry_run and options.cluster is not None:
        raise InputError("--cluster: a dry run tries the first rounds on this machine: leave one of the two out")
    here = working_directory()
    # The scenario is checked first: nothing is opened or written for a wrong one.
    scenario, source = load_with_source(options.scenario, with_seed(options.overrides, options.seed), needs_files=True)
    folder = here / (options.out or default_folder(scenario))
    if options.overwrite:
        check_not_read(here / options.scenario, folder / SCENARIO_FILE)
    begin(quiet=options.quiet, verbose=options.verbose)
    warn_of_implausible([scenario], source.place)
    with source.placing():
        if options.dry_run:
            return _forecast(options, scenario, folder)
        return _emulate(options, scenario, folder, here)


def _emulate(options: argparse.Namespace, scenario: Scenario, folder: Path, here: Path) -> int:
    from edgefl.api import run
    from edgefl.cli.progress import RoundProgress
    from edgefl.results.tracking import together

    with ExitStack() as stack:
        trackers = [stack.enter_context(tracker) for tracker in _trackers(options, scenario, folder, here)]
        bar = RoundProgress(scenario.name, scenario.in_sessions.total, scenario.stop, quiet=options.quiet)
        result = run(
            scenario,
            out=folder,
            device=options.device,
            cluster=options.cluster,
            train=not options.no_train,
            overwrite=options.overwrite,
            resume=options.resume,
            pace=options.pace,
            extendable=not options.drop_checkpoints,
            progress=together(stack.enter_context(bar), *trackers),
        )
        for tracker in trackers:
            tracker.note_status(result.status)
    if options.json:
        print_json(_document(result, Path(as_typed(folder))))
    elif not options.quiet:
        print(result_table(result, Path(as_typed(folder))), flush=True)
    # Standard error, also when quiet: scripts read the table from standard output, and people need the reason.
    if result.error:
        reason = f"{result.status}: {as_typed(result.error)}; finished rounds are in {as_typed(folder)}"
        print(f"edgefl: {reason}", file=sys.stderr)
    return CODE_OF_STATUS[result.status]


def _forecast(options: argparse.Namespace, scenario: Scenario, folder: Path) -> int:
    from edgefl.runs.emulation import Options
    from edgefl.runs.forecast import forecast

    rows = forecast(scenario, Options(device=options.device, train=not options.no_train), folder)
    if options.json:
        print_json({"forecast": dict(rows)})
        return EXIT_DONE
    for name, text in rows:
        print(f"{name:<{NAME_WIDTH}}{text}")
    return EXIT_DONE


def _trackers(options: argparse.Namespace, scenario: Scenario, folder: Path, here: Path) -> list[Tracker]:
    from edgefl.results.tracking import TensorBoardEvents, WandbRun

    trackers: list[Tracker] = []
    if options.tensorboard is not None:
        # Without DIR the option's value is "".
        events = here / (options.tensorboard or folder / "tensorboard")
        trackers.append(TensorBoardEvents(scenario, events, overwrite=options.overwrite, resume=options.resume))
    if options.wandb is not None:
        trackers.append(WandbRun(scenario, options.wandb))
    return trackers


def _document(result: Result, folder: Path) -> dict[str, Any]:
    """Return what `--json` prints at the end of a run."""
    from edgefl.results.report.run import bottleneck, plausibility
    from edgefl.runs.report_page import REPORT

    run = result.as_run()
    return {
        "status": result.status,
        "error": result.error or None,
        "folder": str(folder),
        "report": str(folder / REPORT),
        "summary": result.summary,
        "bottleneck": bottleneck.sentence(run),
        "plausible": plausibility.line(plausibility.plausibility(run)),
    }


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def result_table(result: Result, folder: Path) -> str:
    """Return the short table at the end of a run."""
    from edgefl.core.units import ENERGY, TIME, energy, seconds
    from edgefl.results.report.run import bottleneck, lost_updates, plausibility
    from edgefl.results.report.shared import describe
    from edgefl.results.report.shared.error_bars import with_bar
    from edgefl.runs.report_page import REPORT

    summary = result.summary
    run = replace(result.as_run(), summary=summary)  # with the targets that are wanted now
    lines = [
        *_wrapped("updates", lost_updates.sentence(run)),
        ("rounds", _rounds(run)),
        ("virtual time", with_bar(summary, "time_s", TIME)),
        ("energy", with_bar(summary, "energy_j", ENERGY)),
    ]
    if summary["final_accuracy"] is not None:
        lines.append(("accuracy", f"{summary['final_accuracy']:.4f} (best {summary['best_accuracy']:.4f})"))
    elif result.ledger is not None and (losses := _known(result.ledger.round_columns()["test_loss"])):
        lines.append(("test loss", f"{losses[-1]:.4g} (lowest {min(losses):.4g})"))  # labels are not classes
    if kept := describe.best_model(run):
        lines.append(("best model", kept))
    for target in run.targets:
        cost = "not reached"
        if target["round"] is not None:
            cost = f"{seconds(target['time_s'])}, {energy(target['energy_j'])}, round {target['round']}"
        lines.append((f"to {target['accuracy']:.4g}", cost))
    lines += _wrapped("bottleneck", bottleneck.sentence(run))
    lines += _wrapped("plausible", plausibility.line(plausibility.plausibility(run)))
    lines.append(("report", str(folder / REPORT)))
    if result.ledger is None:  # the result was read from the folder
        lines.append(("", "finished before; nothing was left to do"))
    return "\n".join(f"{name:<{NAME_WIDTH}}{value}" for name, value in lines)


def _rounds(run: Run) -> str:
    if run.stopped_before is None:
        return str(run.length)
    return f"{run.length} of {run.stopped_before}, ended by stop"


def _wrapped(name: str, text: str) -> list[tuple[str, str]]:
    lines = textwrap.wrap(text, LINE_WIDTH - NAME_WIDTH)
    if not lines:
        return []
    return [(name, lines[0]), *(("", line) for line in lines[1:])]
