"""Check every curve of the manual of the radio against its formula, and draw them.

python benchmarks/validate_channel.py [-o FOLDER] [TOPIC ...]
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from channel_validation.report import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOPICS = ("path_loss", "sionna", "drops", "fields", "fading", "rates", "bler", "allocations", "transfers")


def main(arguments: list[str] | None = None) -> int:
    """Check the topics; return 1 if any check fails, else 0."""
    parser = argparse.ArgumentParser(description="Check every curve of the manual of the radio against its formula.")
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=f"of {', '.join(TOPICS)}; all by default")
    parser.add_argument("-o", "--out", type=Path, help="folder for the figures (SVG; needs matplotlib)")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.topics) - set(TOPICS))
    if unknown:
        parser.error(f"unknown topic {unknown[0]}; known: {', '.join(TOPICS)}")
    failed = 0
    for topic in options.topics or TOPICS:
        # One topic at a time: a run of one does not import what the others need.
        module = import_module(f"channel_validation.{topic}")
        print(f"\n{topic}")
        for check in module.checks():
            _print(check)
            failed += not check.ok
        if options.out is not None:
            _draw(module.figures(), options.out)
    if failed:
        print(f"\n{failed} checks failed")
        return 1
    print("\nall checks passed")
    return 0


def _print(check: Check) -> None:
    mark = "ok  " if check.ok else "FAIL"
    expected = f"(expected {check.expected:.6g} ± {check.tolerance:.2g})"
    print(f"  {mark} {check.name}: {check.measured:.6g} {expected}")


def _draw(figures: dict[str, Figure], folder: Path) -> None:
    import matplotlib as mpl

    # A fixed salt and no date: the same figure has the same bytes each time, so a repository shows only real changes.
    mpl.rcParams["svg.hashsalt"] = "channel"
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in figures.items():
        path = folder / f"{name}.svg"
        drawing.savefig(path, metadata={"Date": None})
        print(f"  drew {path}")


if __name__ == "__main__":
    sys.exit(main())
