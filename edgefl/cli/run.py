"""`edgefl run`."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import DONE, FAILED, INTERRUPTED, add_running, begin
from edgefl.core.errors import InputError

if TYPE_CHECKING:
    from edgefl.learning.record import Pace
    from edgefl.results.result import Result
    from edgefl.results.tracking import Tracker
    from edgefl.scenario import Scenario

EXIT_CODES = {"finished": DONE, "failed": FAILED, "interrupted": INTERRUPTED}


def add_run(verbs: Any) -> None:
    """Its options."""
    parser = verbs.add_parser("run", help="run one emulation")
    parser.add_argument("scenario", metavar="SCENARIO.yaml")
    parser.add_argument("-o", "--out", metavar="DIR", type=Path, help="result folder (results/<name>/seed-<N>)")
    parser.add_argument("--seed", metavar="N", type=int, help="replaces the scenario's seed")
    add_running(parser)
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder, or begin it")
    every = "N rounds, or minutes with min behind it (as seldom as makes them 2 %% of the time)"
    parser.add_argument("--checkpoint-every", metavar="N|Nmin", type=_pace, dest="pace", help=every)
    help_text = "rounds as TensorBoard events, as they end (OUT/tensorboard)"
    parser.add_argument("--tensorboard", metavar="DIR", nargs="?", const="", help=help_text)
    parser.add_argument("--mlflow", metavar="URI", help="rounds to an MLflow server or database, as they end")
    parser.set_defaults(verb=_run)


def _pace(text: str) -> Pace:
    """Rounds, or minutes."""
    from edgefl.learning.record import Pace

    number, minutes = text.removesuffix("min"), text.endswith("min")
    try:
        value = float(number) if minutes else int(number)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise InputError(
            f"--checkpoint-every {text}: must be a number of rounds such as 50, or of minutes such as 10min"
        )
    return Pace(seconds=60.0 * value) if minutes else Pace(rounds=int(value))


def _run(options: argparse.Namespace) -> int:
    from edgefl.api import run
    from edgefl.cli.progress import Progress
    from edgefl.results.tracking import together
    from edgefl.scenario import load_with_source

    overrides = options.overrides if options.seed is None else [*options.overrides, f"seed={options.seed}"]
    scenario, source = load_with_source(options.scenario, overrides)
    folder = options.out or Path("results") / scenario.name / f"seed-{scenario.seed}"
    begin(quiet=options.quiet)
    try:
        with ExitStack() as stack:
            trackers = [stack.enter_context(tracker) for tracker in _trackers(options, scenario, folder)]
            shown = Progress(scenario.name, scenario.in_sessions.total, quiet=options.quiet)
            result = run(
                scenario,
                out=folder,
                device=options.device,
                train=not options.no_train,
                overwrite=options.overwrite,
                resume=options.resume,
                pace=options.pace,
                progress=together(stack.enter_context(shown), *trackers),
            )
            for tracker in trackers:
                tracker.status = result.status
    except InputError as error:  # found when data and devices were made
        raise InputError(*map(source.place, error.faults)) from None
    if not options.quiet:
        print(_table(result))
    if result.error:
        print(f"edgefl: {result.status}: {result.error}; finished rounds are in {folder}", file=sys.stderr)
    return EXIT_CODES[result.status]


def _trackers(options: argparse.Namespace, scenario: Scenario, folder: Path) -> list[Tracker]:
    """Those that are asked for."""
    from edgefl.results.tracking import MlflowRun, TensorBoardEvents

    asked: list[Tracker] = []
    if options.tensorboard is not None:
        events = Path(options.tensorboard or folder / "tensorboard")
        asked.append(TensorBoardEvents(scenario, events, overwrite=options.overwrite or options.resume))
    if options.mlflow is not None:
        asked.append(MlflowRun(scenario, options.mlflow))
    return asked


def _table(result: Result) -> str:
    """The short table at the end of a run."""
    from edgefl.core.units import energy, seconds

    summary = result.summary
    lines = [
        ("rounds", str(summary["rounds"])),
        ("virtual time", seconds(summary["time_s"])),
        ("energy", energy(summary["energy_j"])),
    ]
    if summary["final_accuracy"] is not None:
        lines.append(("accuracy", f"{summary['final_accuracy']:.4f} (best {summary['best_accuracy']:.4f})"))
    for target in summary["targets"]:
        reached = target["round"] is not None
        cost = f"{seconds(target['time_s'])}, {energy(target['energy_j'])}, round {target['round']}" if reached else ""
        lines.append((f"to {target['accuracy']:.4g}", cost or "not reached"))
    lines.append(("report", str((result.folder or Path()) / "report.html")))
    if result.ledger is None:
        lines.append(("", "finished before; nothing was left to do"))
    return "\n".join(f"{name:<14}{value}" for name, value in lines)
