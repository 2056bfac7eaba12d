"""`edgefl sweep`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgefl.cli.common import (
    add_options,
    add_running,
    as_typed,
    begin,
    command_again,
    printable,
    warn_of_points,
    working_directory,
)
from edgefl.cli.exits import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED
from edgefl.core.errors import InputError

if TYPE_CHECKING:
    from edgefl.runs.sweeps import SweepOptions
    from edgefl.scenario import Sweep

NAME_WIDTH = 14  # of the names before results


def add_sweep(verbs: Any) -> None:
    """Add `edgefl sweep` and its options."""
    about = "run a grid of scenarios: bandwidth, churn, algorithm, seeds, any key (docs/sweeps.md)"
    parser = verbs.add_parser("sweep", help=about, description=about)
    add_options(parser, "sweep")
    add_running(parser)
    parser.set_defaults(verb=_sweep)


def _sweep(options: argparse.Namespace) -> int:
    from edgefl.cli.progress import SweepProgress
    from edgefl.runs import sweeps
    from edgefl.runs.emulation import RESULTS
    from edgefl.scenario import load_sweep

    if options.dry_run and options.cluster is not None:
        raise InputError("--cluster: a dry run tries first rounds on this machine: leave one of the two out")
    here = working_directory()
    # Every point is checked before the first one runs.
    sweep = load_sweep(options.sweep, options.overrides)
    begin(quiet=options.quiet, verbose=options.verbose)
    warn_of_points(sweep.points)
    sweep_options = sweeps.SweepOptions(
        out=here / (options.out or RESULTS / sweep.name),
        workers=options.workers,
        device=options.device,
        cluster=options.cluster,
        gpus_per_run=options.gpus_per_run,
        train=not options.no_train,
        resume=options.resume,
        overwrite=options.overwrite,
    )
    if options.dry_run:
        return _forecast(sweep, sweep_options)
    result = sweeps.run(sweep, sweep_options, SweepProgress(sweep.name, quiet=options.quiet))
    statuses = [run.status for run in result.runs]
    if not options.quiet:
        counts = [f"{count} {status}" for status, count in Counter(statuses).items() if status != "finished"]
        others = f" ({', '.join(counts)})" if counts else ""
        report = as_typed(result.report) if result.report else "no run has finished"
        print(f"{statuses.count('finished')} of {len(statuses)} runs finished{others}")
        print(f"{'index':<{NAME_WIDTH}}{as_typed(result.index)}")
        print(f"{'report':<{NAME_WIDTH}}{report}")
    for run in result.runs:
        if run.error:
            print(f"edgefl: {as_typed(run.folder)}: {run.status}: {printable(as_typed(run.error))}", file=sys.stderr)
    # Resuming an interrupted sweep also repeats its failed runs, so that interruption decides the exit code.
    code = EXIT_DONE
    if {"interrupted", "pending"} & set(statuses):
        code = EXIT_INTERRUPTED
    elif "failed" in statuses:
        code = EXIT_FAILED
    if code != EXIT_DONE and not options.quiet:
        names = ("out", "overrides", "no_train", "no_plugins", "workers", "device", "cluster", "gpus_per_run")
        print(f"{'go on with':<{NAME_WIDTH}}{command_again('sweep', options.sweep, options, names)}", flush=True)
    return code


def _forecast(sweep: Sweep, sweep_options: SweepOptions) -> int:
    from edgefl.runs.sweep_forecast import forecast_sweep

    for name, text in forecast_sweep(sweep, sweep_options, Path(sweep_options.out or "")):
        print(f"{name:<{NAME_WIDTH}}{as_typed(text)}")
    return EXIT_DONE
