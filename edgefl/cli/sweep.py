"""`edgefl sweep`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgefl.cli.common import DONE, FAILED, INTERRUPTED, add_running, begin, printable
from edgefl.core.errors import InputError


def add_sweep(verbs: Any) -> None:
    """Its options."""
    parser = verbs.add_parser("sweep", help="a grid of runs: bandwidth, churn, algorithm, seeds, any key")
    parser.add_argument("sweep", metavar="SWEEP.yaml")
    parser.add_argument("-o", "--out", metavar="DIR", type=Path, help="folder of all result folders (results/<name>)")
    parser.add_argument("--workers", metavar="N", type=int, help="runs at a time (one a GPU or core)")
    parser.add_argument("--cluster", metavar="HOST:PORT|auto", help="on the machines of a Ray cluster")
    parser.add_argument("--gpus-per-run", metavar="F", type=float, help="of the cluster: 0.5 is two runs a GPU (1)")
    add_running(parser)
    parser.add_argument("--resume", action="store_true", help="run what is missing, or begin")
    parser.set_defaults(verb=_sweep)


def _sweep(options: argparse.Namespace) -> int:
    from edgefl.api import report
    from edgefl.cli.progress import SweepProgress
    from edgefl.runs import sweeps
    from edgefl.scenario import load_sweep

    if options.workers is not None and options.workers < 1:
        raise InputError(f"--workers {options.workers}: must be >= 1")
    found = load_sweep(options.sweep, options.overrides)
    if options.no_train:
        found = replace(found, train=False)
    folder = options.out or Path("results") / found.name
    begin(quiet=options.quiet)
    runs = sweeps.run(
        found,
        folder,
        workers=options.workers,
        device=options.device,
        cluster=options.cluster,
        gpus_per_run=options.gpus_per_run,
        resume=options.resume,
        overwrite=options.overwrite,
        shown=SweepProgress(found.name, quiet=options.quiet),
    )
    statuses = [one.status for one in runs]
    page = report([folder], folder / "report.html") if "finished" in statuses else None
    if not options.quiet:
        print(f"{statuses.count('finished')} of {len(runs)} runs finished")
        print(f"{'index':<14}{folder / sweeps.INDEX}\n{'report':<14}{page or 'no run has finished'}")
    for one in runs:
        if one.error:
            print(f"edgefl: {one.folder}: {one.status}: {printable(one.error)}", file=sys.stderr)
    return INTERRUPTED if "interrupted" in statuses else FAILED if "failed" in statuses else DONE
