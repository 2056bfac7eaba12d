"""Measure how far time and energy of the shipped worlds depend on the seed.

    python benchmarks/seeds.py [NAME ...]

Without names it runs the numbered scenarios and the quickstart. Each runs without training and to its last round under
the seeds 1 to 10, two at a time.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import edgefl

SCENARIOS = Path(__file__).parents[1] / "scenarios"
SEEDS = range(1, 11)


class Spread(NamedTuple):
    """The costs of a scenario under all seeds."""

    time_s: list[float]
    energy_j: list[float]

    @property
    def times(self):
        """Return the ratio of the longest and the shortest time, and that of the energies."""
        return max(self.time_s) / min(self.time_s), max(self.energy_j) / min(self.energy_j)


def names():
    """Return the numbered scenarios, and the quickstart."""
    return [*sorted(path.stem for path in SCENARIOS.glob("[0-9][0-9]-*.yaml")), "quickstart"]


def spread(name, pool):
    """Return the costs of a scenario, in processes of a pool."""
    costs = list(pool.map(_costs, [name] * len(SEEDS), SEEDS))
    return Spread(*(list(column) for column in zip(*costs, strict=True)))


def _costs(name, seed):
    summary = edgefl.run(SCENARIOS / f"{name}.yaml", overrides=[f"seed={seed}", "targets=null"], train=False).summary
    return summary["time_s"], summary["energy_j"]


def main():
    """Print a row for each scenario."""
    print("| scenario | shortest, s | longest, s | ratio | least energy, J | most, J | ratio |")
    print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(2) as pool:
        for name in sys.argv[1:] or names():
            found = spread(name, pool)
            cells = []
            for costs, times in zip(found, found.times, strict=True):
                cells += [f"{min(costs):.3g}", f"{max(costs):.3g}", f"{times:.2f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
