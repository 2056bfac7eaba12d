"""Measure time- and energy-to-accuracy over the rate at which devices arrive: a table and a figure.

python benchmarks/churn.py [--seeds 1 2 3 4 5] [--rates 0.1 0.2 ...] [-o FIGURE.svg]

The world of benchmarks/churn.yaml: a device stays for an exponential time of 20 s on average; its update is lost if it
leaves in the middle. A run ends at 80 % accuracy, or after 300 s of virtual time: then all that is
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
SCENARIO = ROOT / "benchmarks" / "churn.yaml"
STAY_S = 20.0
TARGET = 0.80
LIMIT_S = 300.0
REACHED = "#2a6fbb"  # colours of runs that reached the target, and of those that did not
CENSORED = "#c4481c"
COSTS = {"time_s": ("time to 80 %", "s"), "energy_j": ("energy to 80 %", "J")}
COLUMNS = ("time_s", "energy_j", "test_accuracy", "present", "selected", "departed", "wasted_j", "duration_s")


def main():
    """Run each rate with each seed, draw the figure where one is asked for, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
    parser.add_argument("-o", "--out")
    args = parser.parse_args()
    found = {}
    for rate in args.rates:
        found[rate] = [measured(rate, seed) for seed in args.seeds]
    if args.out:
        draw(found, args.out)
    heads = ["arrivals a second", "devices there", "reached", "rounds", "time to 80 %", "energy to 80 %", "lost parts"]
    rows = [row(rate, runs) for rate, runs in found.items()]
    table([*heads, "wasted energy"], rows)


def measured(rate, seed):
    """Return what one run took, and whether it reached the target."""
    keys = {
        "targets": [TARGET],
        "stop": {"accuracy": TARGET, "time_s": LIMIT_S},
        "rounds": 100_000,
        "churn": {"kind": "poisson", "arrivals_per_s": rate, "stay_s": {"exponential": STAY_S}},
    }
    overrides = [f"{key}={value}" for key, value in keys.items()]
    folder = ROOT / "results" / "churn" / f"rate-{rate:g}" / f"seed-{seed}"
    run(folder, SCENARIO, overrides, seed)
    columns = {name: column(folder, name) for name in COLUMNS}
    energy_j = columns["energy_j"][-1]
    return {
        "reached": bool(columns["test_accuracy"][-1] >= TARGET),
        "rounds": len(columns["time_s"]),
        "time_s": columns["time_s"][-1],
        "energy_j": energy_j,
        "there": np.average(columns["present"], weights=columns["duration_s"]),
        "lost": columns["departed"].sum() / columns["selected"].sum(),
        "wasted": columns["wasted_j"].sum() / energy_j,
    }


def median_cost(runs, name):
    """Return the median over seeds of what the target took; infinite where half of them never reached it."""
    values = []
    for each in runs:
        if each["reached"]:
            values.append(each[name])
        else:
            values.append(np.inf)
    return float(np.median(values))


def median(runs, name):
    """Return the median over seeds, whether they reached the target or not."""
    return np.median([each[name] for each in runs])


def told(runs, name, unit):
    """Return the median of what the target took with its unit, as text."""
    value = median_cost(runs, name)
    if not np.isfinite(value):
        return "not reached"
    number = f"{value:.3g}"
    if value >= 100:
        number = f"{value:,.0f}"
    return f"{number} {unit}".rstrip()


def row(rate, runs):
    """Return a line of the table."""
    there = f"{median(runs, 'there'):.3g}"
    reached = sum(each["reached"] for each in runs)
    count = f"{reached} of {len(runs)}"
    costs = [told(runs, "rounds", ""), told(runs, "time_s", "s"), told(runs, "energy_j", "J")]
    lost = f"{100 * median(runs, 'lost'):.2g} %"
    wasted = f"{100 * median(runs, 'wasted'):.2g} %"
    return [f"{rate:g}", there, count, *costs, lost, wasted]


def draw(found, out):
    """Draw a point for every run, an open triangle where the target was not reached; the line joins the medians."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "edgefl", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    figure, axes = plt.subplots(1, len(COSTS), figsize=(9, 3.4), constrained_layout=True)
    for axis, name in zip(axes, COSTS, strict=True):
        draw_cost(axis, found, name)
    figure.savefig(out, metadata={"Date": None})


def draw_cost(axis, found, name):
    """Draw one cost over the rates."""
    title, unit = COSTS[name]
    medians = []
    for runs in found.values():
        value = median_cost(runs, name)
        if not np.isfinite(value):
            value = np.nan  # the line is broken there
        medians.append(value)
    axis.plot(list(found), medians, color=REACHED, lw=1.5)
    rates, costs = points(found, name, reached=True)
    if rates:
        axis.scatter(rates, costs, marker="o", label="reached", color=REACHED, facecolors=REACHED, s=22)
    rates, costs = points(found, name, reached=False)
    if rates:
        label = "not reached: at least"
        axis.scatter(rates, costs, marker="^", label=label, color=CENSORED, facecolors="none", s=22)
    axis.set(xscale="log", yscale="log", xlabel="arrivals a second", ylabel=f"{title} [{unit}]")
    axis.set_xticks(list(found), [f"{rate:g}" for rate in found])
    ticks = round_ticks(*axis.get_ylim())
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.legend(frameon=False)


def points(found, name, *, reached):
    """Return the rates and the costs of all runs that reached the target, or of those that did not."""
    rates = []
    costs = []
    for rate, runs in found.items():
        for each in runs:
            if each["reached"] == reached:
                rates.append(rate)
                costs.append(each[name])
    return rates, costs


def round_ticks(low, high):
    """Return the round numbers between two limits: 1, 2 and 5 of each power of ten."""
    ticks = []
    for power in range(-2, 5):
        for digit in (1, 2, 5):
            tick = digit * 10**power
            if low <= tick <= high:
                ticks.append(tick)
    return ticks


def run(folder, scenario, overrides, seed):
    """Run a scenario into a folder, unless it has finished there before."""
    if not has_finished(folder):
        edgefl.run(scenario, overrides=overrides, seed=seed, out=folder, overwrite=True)


def has_finished(folder):
    """Return whether a run in a folder has come to its end."""
    manifest = folder / "manifest.json"
    return manifest.exists() and json.loads(manifest.read_text())["status"] == "finished"


def column(folder, name):
    """Return a column of a run's rounds.csv; NaN where it is empty."""
    with (folder / "rounds.csv").open() as file:
        return np.array([float(row[name] or "nan") for row in csv.DictReader(file)])


def table(header, rows):
    """Print a Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
