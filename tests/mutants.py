"""Breaks the code in twenty places, one at a time, and lists which test notices each.

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
    tests: tuple[str, ...]
    effect: str


MUTANTS = {
    "noise": Mutant(
        "channel/rate.py",
        "dbm_to_w(thermal + non_negative(",
        "dbm_to_w(thermal - non_negative(",
        ("tests/channel", "tests/radio"),
        "a worse receiver has less noise",
    ),
    "learning": Mutant(
        "edgefl/learning/learner/engines/solver.py",
        "velocity = moments[0].mul_(training.momentum).add_(gradient)",
        "velocity = moments[0].mul_(training.momentum).add_(gradient, alpha=1 - training.momentum)",
        ("tests/learning",),
        "momentum averages gradients instead of adding them up",
    ),
    "accounting": Mutant(
        "edgefl/server/energy.py",
        "radio_off_s = down.duration_s - down.air_s + up.duration_s - up.air_s",
        "radio_off_s = down.duration_s - down.air_s",
        ("tests/server", "tests/runs"),
        "between its slots of an upload a radio draws no idle power",
    ),
    "churn": Mutant(
        "edgefl/world/churn/stays.py",
        "self.quantile_s(u) * float(np.exp(sigma**2))",
        "self.quantile_s(u)",
        ("tests/world",),
        "a stay that is under way at the beginning is no longer than any other",
    ),
    "aggregation": Mutant(
        "edgefl/learning/algorithms/averaging.py",
        'return updates.vectors["delta"].new_tensor(n / n.sum())',
        'return updates.vectors["delta"].new_tensor(n / n.max() / len(n))',
        ("tests/learning",),
        "the weights of a mean do not add up to 1",
    ),
    "bytes": Mutant(
        "edgefl/learning/codecs/sparse.py",
        "return _sent(self.part, d) * (BITS_PER_FLOAT + bits_per_place)",
        "return _sent(self.part, d) * BITS_PER_FLOAT + bits_per_place",
        ("tests/learning",),
        "a sparse update has the bits of one place only",
    ),
    "staleness": Mutant(
        "edgefl/learning/algorithms/fedbuff.py",
        "(discount @ delta) / len(delta)",
        "(discount @ delta) / discount.sum()",
        ("tests/coordination", "tests/learning"),
        "a buffer of old moves takes as long a step as one of new moves",
    ),
    "scheduling": Mutant(
        "edgefl/coordination/policies/deadline.py",
        "            yield from finish_moment(server.env)  # an update that arrives at the deadline is in time\n",
        "",
        ("tests/coordination", "tests/server"),
        "an update that arrives at the deadline is late",
    ),
    "handover": Mutant(
        "edgefl/server/handover.py",
        "np.where(stays_better[first], levels_db[measurement], -np.inf)",
        "np.where(stays_better[first], powers_db[measurement], -np.inf)",
        ("tests/server",),
        "the target of a handover is chosen without the cells' offsets",
    ),
    "battery": Mutant(
        "edgefl/world/batteries.py",
        "drained_j = drawn_j[~participates].sum()",
        "drained_j = drawn_j.sum()",
        ("tests/world", "tests/server"),
        "what participants draw counts twice",
    ),
    "reader": Mutant(
        "edgefl/results/reader.py",
        "if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):",
        "if not isinstance(rows, list):",
        ("tests/results",),
        "targets that are not mappings are read",
    ),
    "refusal": Mutant(
        "edgefl/scenario/rules/features.py",
        'world.cells_are_hexagons, to="disc"',
        'world.cells_are_hexagons, to="hexagons"',
        ("tests/scenario",),
        "a refusal's remedy leads nowhere",
    ),
    "passage": Mutant(
        "channel/first_passage.py",
        "samples = passage(mean_samples, draws[drawn], ahead.lines[:, ahead.enough])",
        "samples = passage(mean_samples, 0.9 * draws[drawn], ahead.lines[:, ahead.enough])",
        ("tests/channel",),
        "durations of the fast engine vary too little",
    ),
    "replay": Mutant(
        "edgefl/learning/learner/engines/step_graphs.py",
        "        self.tensors.load(tensors)\n",
        "",
        ("tests/learning/test_step_graphs.py",),
        "a recorded step trains from the models of the cohort before",
    ),
    "phases": Mutant(
        "edgefl/learning/learner/engines/phases.py",
        "return Phase(self._first, first_steps)",
        "return Phase((), first_steps)",
        ("tests/learning",),
        "the part that trains first goes on with the rest",
    ),
    "journal": Mutant(
        "edgefl/learning/record.py",
        "self._file.truncate(self._good_bytes)",
        "self._file.truncate()",
        ("tests/runs",),
        "half a line of a killed run stays in the journal",
    ),
    "holm": Mutant(
        "edgefl/results/statistics.py",
        "factors = np.arange(len(order), 0, -1)",
        "factors = np.full(len(order), len(order))",
        ("tests/results",),
        "p-values are adjusted by Bonferroni's rule",
    ),
    "foreign": Mutant(
        "edgefl/core/own_files.py",
        "    if is_own(path, mark):\n        path.unlink(missing_ok=True)",
        "    path.unlink(missing_ok=True)",
        ("tests/core", "tests/cli", "tests/runs"),
        "files of the user with the name of a result are deleted",
    ),
    "units": Mutant(
        "edgefl/scenario/units.yaml",
        "{mW: 0.001, W: 1.0, kW: 1000.0, MW: 1000000.0}",
        "{mW: 1.0e-6, W: 1.0, kW: 1000.0, MW: 1000000.0}",
        ("tests/scenario",),
        "milliwatts are proposed as millionths",
    ),
    "contract": Mutant(
        "edgefl/learning/algorithms/contracts.py",
        'elif self.numbers == "finite" and not value.isfinite().all():',
        'elif self.numbers == "finite" and value.isnan().all():',
        ("tests/learning", "tests/cli"),
        "a hook may return NaN",
    ),
}


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
