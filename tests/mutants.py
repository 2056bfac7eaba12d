"""Breaks the code in the places of `mutants.yaml`, one at a time, and lists which test notices each.

    python tests/mutants.py                                # by the tests of `make test`
    python tests/mutants.py --select 'not slow'            # by those of CI
    python tests/mutants.py handover battery               # only these mutants

Each mutant is made in a copy of the working tree, where the tests of the rooms that it belongs to run up to the first
failure. The exit code is the number of mutants that no test has noticed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PASSED = 0


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Args:
        file: where it is made.
        old: the text, found once in the file, that it replaces.
        new: what stands there instead.
        tests: folders or files of tests that are run.
        effect: what is wrong then.
    """

    file: str
    old: str
    new: str
    tests: list[str]
    effect: str


WRITTEN = yaml.safe_load((ROOT / "tests/mutants.yaml").read_text(encoding="utf-8"))
MUTANTS = {name: Mutant(**keys) for name, keys in WRITTEN.items()}


def main() -> int:
    """Try the mutants, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutants", nargs="*", metavar="MUTANT", help=f"default: all of {', '.join(MUTANTS)}")
    parser.add_argument("--select", default="not slow and not process", metavar="MARKS", help="as pytest's option -m")
    parser.add_argument("--processes", default="0", metavar="N", help="as pytest's option -n")
    arguments = parser.parse_args()
    unknown = set(arguments.mutants) - set(MUTANTS)
    if unknown:
        parser.error(f"no such mutant: {', '.join(sorted(unknown))}")

    survivors = 0
    for name in arguments.mutants or MUTANTS:
        with tempfile.TemporaryDirectory() as folder:
            found = first_failure(MUTANTS[name], Path(folder), arguments.select, arguments.processes)
        survivors += found is None
        print(f"{name:12} {'SURVIVED' if found is None else 'killed':9} {MUTANTS[name].effect}: {found}", flush=True)
    return survivors


def first_failure(mutant: Mutant, folder: Path, select: str, processes: str) -> str | None:
    """Return the first test that fails with a mutant, and not without it; None if all pass."""
    copy_tree(folder)
    path = folder / mutant.file
    code = path.read_text()
    if code.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file}: has not exactly once: {mutant.old}")
    path.write_text(code.replace(mutant.old, mutant.new))
    done = tested(folder, ["-n", processes, "-m", select, *mutant.tests])
    if done.returncode == PASSED:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if failed is None:
        raise SystemExit(done.stdout + done.stderr)
    path.write_text(code)
    unbroken = tested(folder, ["-n", "0", "-m", "", failed[1]])
    if unbroken.returncode != PASSED:
        raise SystemExit(f"{failed[1]} fails without a mutant, too:\n{unbroken.stdout}")
    return failed[1]


def tested(folder: Path, options: list[str]) -> subprocess.CompletedProcess[str]:
    """Run pytest in a copy up to the first failure."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}  # before the tree that the environment has installed
    command = [sys.executable, "-m", "pytest", "-q", "-x", *options]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def copy_tree(folder: Path) -> None:
    """Copy what git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


if __name__ == "__main__":
    sys.exit(main())
