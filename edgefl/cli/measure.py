"""`edgefl measure`."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from edgefl.cli.common import add_options, as_typed, printable, working_directory
from edgefl.cli.exits import EXIT_DONE


def add_measure(verbs: Any) -> None:
    """Add `edgefl measure` and its options."""
    about = "time training and evaluation on this machine, for edgefl calibrate (docs/measure.md)"
    parser = verbs.add_parser("measure", help=about, description=about)
    add_options(parser, "measure")
    parser.set_defaults(verb=_measure)


def _measure(options: argparse.Namespace) -> int:
    from edgefl.learning.torch_device import choose_device
    from edgefl.measuring import board, measurement, networks

    def tell(line: str) -> None:
        if not options.quiet:
            print(printable(line), flush=True)

    here = working_directory()
    folder = here / options.out
    batch_sizes = options.batch_sizes or ()
    measurement.check_options(options.seconds, batch_sizes, options.device_name)
    measurement.check_folder(folder, overwrite=options.overwrite)
    device = choose_device(options.device)
    chosen = networks.chosen(options.models or (), options.input, batch_sizes)
    meter, missing = measurement.meter_of(options.power, here)
    from edgefl.measuring.steps import prepared  # late: it imports torch

    settings = networks.settings_of(chosen)
    tell(f"{len(settings)} settings of {options.seconds:g} s or more each on {device}; power: {meter.scope}")
    for line in missing:
        tell(f"no power   {line}")
    measured = measurement.measure(
        settings,
        lambda setting: prepared(setting, device),
        seconds=options.seconds,
        device_name=options.device_name or board.type_name(),
        with_clock=device == "cpu",
        meter=meter,
        tell=tell,
    )
    tell(f"throttling {measured.throttling}")
    facts = measurement.provenance(device, meter, measured.throttling)
    log, counts = measurement.write(folder, measured, chosen, facts)
    for path in (log, counts):
        print(f"written    {as_typed(path)}")
    command = [
        "edgefl",
        "calibrate",
        as_typed(log),
        "--counts",
        as_typed(counts),
        "-o",
        str(options.out / "calibrated"),
    ]
    print(f"next       {shlex.join(command)}")
    return EXIT_DONE
