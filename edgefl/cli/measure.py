"""`edgefl measure`."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from edgefl.cli.common import add_options, as_typed, printable, working_directory
from edgefl.cli.exits import EXIT_DONE


def add_measure(verbs: Any) -> None:
    """Add `edgefl measure` and its options."""
    about = "time training and evaluation on this machine, for edgefl calibrate (experimental; docs/measure.md)"
    parser = verbs.add_parser("measure", help=about, description=about)
    add_options(parser, "measure")
    parser.set_defaults(verb=_measure)


def _measure(options: argparse.Namespace) -> int:
    from edgefl.learning.torch_device import choose_device
    from edgefl.measuring import measurement, power
    from edgefl.measuring.networks import chosen
    from edgefl.measuring.power.source import NO_POWER

    def tell(line: str) -> None:
        if not options.quiet:
            print(printable(line), flush=True)

    here = working_directory()
    sizes = options.batch_sizes or ()
    measurement.check_options(options.seconds, sizes, options.device_name)
    measurement.check_folder(here / options.out, overwrite=options.overwrite)
    device = choose_device(options.device)
    networks = chosen(options.models or (), options.input, sizes)
    source, missing = power.opened(options.power, here)
    for line in (f"power: {source.scope}", *missing):
        tell(line)
    rows, throttling = measurement.measure(
        networks, options.device_name, seconds=options.seconds, device=device, source=source, tell=tell
    )
    tell(f"throttling: {throttling}")
    without = sum(row.joules is None for row in rows)
    if without and source.scope != NO_POWER:
        tell(f"power: its readings do not cover {without} of {len(rows)} rows")
    facts = measurement.provenance(device, source.scope, throttling)
    files = measurement.write(here / options.out, rows, networks, facts)
    log, counts = map(as_typed, files)
    print(f"written    {log}\nwritten    {counts}")
    command = ["edgefl", "calibrate", log, "--counts", counts, "-o", str(options.out / "calibrated")]
    print(f"next       {shlex.join(command)}")
    return EXIT_DONE
