"""`python -m channel.validate [-o FOLDER] [TOPIC ...]`: print every check; with a folder, draw every figure as SVG."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

TOPICS = ("path_loss", "fields", "fading", "rates", "allocations", "transfers")


def main(arguments: list[str] | None = None) -> int:
    """Run the topics; 1 if any check fails."""
    parser = argparse.ArgumentParser(prog="python -m channel.validate", description=__doc__)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=f"of {', '.join(TOPICS)}; all where none is given")
    parser.add_argument("-o", "--out", type=Path, help="folder for the figures (SVG; needs matplotlib)")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.topics) - set(TOPICS)):
        parser.error(f"unknown topic {unknown[0]}; known: {', '.join(TOPICS)}")
    failed = 0
    for topic in options.topics or TOPICS:
        module = import_module(f"channel.validate.{topic}")
        print(f"\n{topic}")
        for check in module.checks():
            failed += not check.ok
            mark = "ok  " if check.ok else "FAIL"
            print(
                f"  {mark} {check.name}: {check.measured:.6g} (expected {check.expected:.6g} ± {check.tolerance:.2g})"
            )
        if options.out is not None:
            _draw(module.figures(), options.out)
    print(f"\n{failed} checks failed" if failed else "\nall checks passed")
    return 1 if failed else 0


def _draw(figures: dict[str, object], folder: Path) -> None:
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "channel"  # the same bytes each time
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in figures.items():
        path = folder / f"{name}.svg"
        drawing.savefig(path, metadata={"Date": None})  # type: ignore[attr-defined]
        print(f"  drew {path}")


if __name__ == "__main__":
    sys.exit(main())
