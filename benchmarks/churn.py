"""Time- and energy-to-accuracy over the rate at which devices arrive: a table and a figure.

python benchmarks/churn.py [--seeds 1 2 3 4 5] [--rates 0.1 0.2 ...] [-o FIGURE.svg]

The world of scenarios/17-coming-and-going.yaml: whoever comes stays for an exponential time of 20 s in the mean; its
update is lost if it leaves in the middle. A run ends at 80 % accuracy, or after 300 s of virtual time: then all that is
known of the target is that it takes more than was spent by then. The medians over seeds take such runs as the largest.
What has run lies in results/churn and is not repeated.
"""

import argparse
import csv
import json
from pathlib import Path

import numpy as np

import edgefl

ROOT = Path(__file__).parents[1]
SCENARIO = ROOT / "scenarios" / "17-coming-and-going.yaml"
STAY_S = 20.0
TARGET, LIMIT_S = 0.80, 300.0
REACHED, CENSORED = "#2a6fbb", "#c4481c"
COSTS = {"time_s": ("time to 80 %", "s"), "energy_j": ("energy to 80 %", "J")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
    parser.add_argument("-o", "--out")
    args = parser.parse_args()
    found = {rate: [measured(rate, seed) for seed in args.seeds] for rate in args.rates}
    if args.out:
        draw(found, args.out)
    heads = ["arrivals a second", "devices there", "reached", "rounds", "time to 80 %", "energy to 80 %", "lost parts"]
    table([*heads, "energy in vain"], [row(rate, runs) for rate, runs in found.items()])


def measured(rate, seed):
    """What one run took, and whether it reached the target."""
    keys = {
        "targets": [TARGET],
        "stop": {"accuracy": TARGET, "time_s": LIMIT_S},
        "rounds": 100_000,
        "churn": {"kind": "poisson", "arrivals_per_s": rate, "stay_s": {"exponential": STAY_S}},
    }
    overrides = [f"{key}={value}" for key, value in keys.items()]
    folder = ROOT / "results" / "churn" / f"rate-{rate:g}" / f"seed-{seed}"
    run(folder, SCENARIO, overrides, seed)
    names = ("time_s", "energy_j", "test_accuracy", "present", "selected", "departed", "wasted_j", "duration_s")
    columns = {name: column(folder, name) for name in names}
    there = np.average(columns["present"], weights=columns["duration_s"])
    return {
        "reached": bool(columns["test_accuracy"][-1] >= TARGET),
        "rounds": len(columns["time_s"]),
        "time_s": columns["time_s"][-1],
        "energy_j": columns["energy_j"][-1],
        "there": there,
        "lost": columns["departed"].sum() / columns["selected"].sum(),
        "wasted": columns["wasted_j"].sum() / columns["energy_j"][-1],
    }


def median(runs, name):
    """The median over seeds of what the target took; infinite where half of them never reached it."""
    return float(np.median([each[name] if each["reached"] else np.inf for each in runs]))


def row(rate, runs):
    """A line of the table."""

    def told(name, unit):
        value = median(runs, name)
        if not np.isfinite(value):
            return "not reached"
        return f"{value:,.0f} {unit}".rstrip() if value >= 100 else f"{value:.3g} {unit}".rstrip()

    share = {name: f"{100 * np.median([each[name] for each in runs]):.2g} %" for name in ("lost", "wasted")}
    count = f"{sum(each['reached'] for each in runs)} of {len(runs)}"
    there = f"{np.median([each['there'] for each in runs]):.3g}"
    costs = [told("rounds", ""), told("time_s", "s"), told("energy_j", "J")]
    return [f"{rate:g}", there, count, *costs, share["lost"], share["wasted"]]


def draw(found, out):
    """A point for every run, an open triangle where the target was not reached; the line joins the medians."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "edgefl", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    figure, axes = plt.subplots(1, len(COSTS), figsize=(9, 3.4), constrained_layout=True)
    for axis, (name, (title, unit)) in zip(axes, COSTS.items(), strict=True):
        medians = [median(runs, name) for runs in found.values()]
        axis.plot(list(found), [value if np.isfinite(value) else np.nan for value in medians], color=REACHED, lw=1.5)
        for wanted, marker, fill in ((True, "o", REACHED), (False, "^", "none")):
            points = [(rate, each[name]) for rate, runs in found.items() for each in runs if each["reached"] == wanted]
            look = {"color": REACHED if wanted else CENSORED, "facecolors": fill, "s": 22}
            label = "reached" if wanted else "not reached: at least"
            if points:
                axis.scatter(*zip(*points, strict=True), marker=marker, label=label, **look)
        axis.set(xscale="log", yscale="log", xlabel="arrivals a second", ylabel=f"{title} [{unit}]")
        axis.set_xticks(list(found), [f"{rate:g}" for rate in found])
        low, high = axis.get_ylim()
        ticks = [digit * 10**power for power in range(-2, 5) for digit in (1, 2, 5)]
        axis.set_yticks([tick for tick in ticks if low <= tick <= high], [f"{t:g}" for t in ticks if low <= t <= high])
        axis.minorticks_off()
        axis.legend(frameon=False)
    figure.savefig(out, metadata={"Date": None})


def run(folder, scenario, overrides, seed):
    """Run a scenario into a folder, unless it has finished there before."""
    manifest = folder / "manifest.json"
    if not manifest.exists() or json.loads(manifest.read_text())["status"] != "finished":
        edgefl.run(scenario, overrides=overrides, seed=seed, out=folder, overwrite=True)


def column(folder, name):
    """A column of a run's rounds.csv; NaN where it is empty."""
    with (folder / "rounds.csv").open() as file:
        return np.array([float(row[name] or "nan") for row in csv.DictReader(file)])


def table(header, rows):
    """A Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
