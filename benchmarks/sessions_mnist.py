"""The dynamic-devices paper's rows for MNIST and Fashion-MNIST (seven sessions of 100 devices) beside measured ones.

EDGEFL_DATA=... python benchmarks/sessions_mnist.py [table10 | table7] [--dataset MNIST | FMNIST] [--seeds 100 200 300]
    [--variants "0-4 first" ...] [--algorithms FedProx ...] [--strategies Proposed ...] [--overlaps 0.0] [--alphas 0.3]

table10: the mean accuracy, on the labels of the devices that are there, in the first ten rounds after the second and
the fourth change that follows the pilot session (t2, t4); measured after the third and fifth, too. table7 has the form
of that table, which the paper has for other datasets: what the session after the second change takes to 97 % of the
best accuracy that Proposed has in it, and how much more accurate Proposed is, summed over its rounds; it only reads
what table10 has run. A variant is a reading of the setting: which labels the first session has, and how long devices
train. What has run lies in results/sessions-mnist and is not repeated.
"""

import argparse
from itertools import product

import numpy as np
from study import ROOT, SCENARIOS, column, finished, published, run, table

from edgefl import metrics

ALGORITHMS = {  # section 6.4 of the cards
    "FedProx": {"kind": "fedprox", "mu": 1.0},
    "FedACG": {"kind": "fedacg", "server_momentum": 0.5, "beta": 0.1, "weighting": "samples"},
    "SCAFFOLD": {"kind": "scaffold", "variant": "dyn"},
    "MOON": {"kind": "moon", "mu": 1.0, "temperature": 1.0},
}
RATES = {"MNIST": (0.001, 0.6), "FMNIST": (0.003, 0.3)}  # the first, and the ratio of the last one to it
SCAFFOLDS_RATE = (0.03, 0.9)
DATASETS = {"MNIST": "mnist", "FMNIST": "fashion_mnist"}
STRATEGIES = {
    "Proposed": {"kind": "proposed", "similarity": 10},
    "Previous": {"kind": "previous"},
    "Average": {"kind": "average"},
    "Continuous": {"kind": "continuous"},
}
FIVE_STEPS = ["training.local_epochs=null", "training.local_steps=5"]  # in place of one pass over 300 samples
VARIANTS = {
    "0-4 first": [],
    "5-9 first": ["sessions.first_group=2"],
    "0-4 first, five steps": FIVE_STEPS,
    "5-9 first, five steps": ["sessions.first_group=2", *FIVE_STEPS],
}
CHANGES = {"t2": 4, "t3": 5, "t4": 6, "t5": 7}  # the session that begins with each; t2 and t4 are published
SHARE = 0.97  # of Proposed's best accuracy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table", nargs="?", choices=["table10", "table7"], default="table10")
    parser.add_argument("--dataset", choices=list(DATASETS), default="MNIST")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 200, 300])
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=["0-4 first", "5-9 first"])
    parser.add_argument("--algorithms", nargs="+", choices=list(ALGORITHMS), default=list(ALGORITHMS))
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    parser.add_argument("--overlaps", nargs="+", default=["0.0", "0.2"])
    parser.add_argument("--alphas", nargs="+", default=["0.3", "0.7"])
    args = parser.parse_args()
    (initial_accuracy if args.table == "table10" else time_to_accuracy)(args)


def initial_accuracy(args):
    """Table X: per cent in the first ten rounds after a change; also after those that the paper does not print."""
    rows = []
    for variant, name, theirs in cells(args):
        setting = args.dataset, variant, theirs["overlap"], theirs["alpha"], name
        for strategy in args.strategies:
            measured = np.array([first_ten(evaluate(*setting, strategy, seed)) for seed in args.seeds])
            values = dict(zip(CHANGES, map(spread, measured.T), strict=True))
            t2, t4 = (theirs[f"{change}_{strategy}"] for change in ("t2", "t4"))
            cell = [t2, values["t2"], values["t3"], t4, values["t4"], values["t5"]]
            rows.append([variant, " ".join(setting[2:]), strategy, *(value.replace("±", " ± ") for value in cell)])
    heads = ["t2, published", "t2", "t3", "t4, published", "t4", "t5"]
    table(["groups", "overlap, alpha, algorithm", "start", *heads], rows)


def time_to_accuracy(args):
    """The form of Table VII: the median of the seeds that have run with Proposed and with the other."""
    rows = []
    for variant, name, theirs in cells(args):
        setting = args.dataset, variant, theirs["overlap"], theirs["alpha"], name
        for strategy in args.strategies:
            pairs = [[folder_of(*setting, each, seed) for each in ("Proposed", strategy)] for seed in args.seeds]
            took = [compared(*pair) for pair in pairs if all(map(finished, pair))]
            if took:
                rows.append([variant, " ".join(setting[2:]), strategy, str(len(took)), *medians(took)])
    heads = ["rounds", "latency (s)", "energy (J)", "speed-up, rounds", "speed-up, time", "gain (points)"]
    table(["groups", "overlap, alpha, algorithm", "start", "seeds", *heads], rows)


def cells(args):
    """The published table's rows that are wanted, with variant and algorithm."""
    for variant, name in product(args.variants, args.algorithms):
        for theirs in published("dynamic-devices-table-x"):
            cell = theirs["dataset"], theirs["alg"]
            if cell == (args.dataset, name) and theirs["overlap"] in args.overlaps and theirs["alpha"] in args.alphas:
                yield variant, name, theirs


def folder_of(dataset, variant, overlap, alpha, name, strategy, seed):
    """Where a run's results lie. Continuous trains by FedAvg whatever the row's name: rows of one rate share a run."""
    rate, _ = rates(dataset, name)
    trained = f"FedAvg, rate {rate}" if strategy == "Continuous" else name
    place = ROOT / "results" / "sessions-mnist" / dataset / variant / f"overlap {overlap}, alpha {alpha}"
    return place / trained / strategy / f"seed-{seed}"


def rates(dataset, name):
    """The first learning rate, and the ratio of the last one to it (cards, section 6.4)."""
    return SCAFFOLDS_RATE if name == "SCAFFOLD" else RATES[dataset]


def evaluate(dataset, variant, overlap, alpha, name, strategy, seed):
    """The result folder of a run."""
    rate, ratio = rates(dataset, name)
    overrides = [
        f"data.dataset={DATASETS[dataset]}",
        f"data.partition={{kind: label_overlap, overlap: {overlap}, alpha: {alpha}}}",
        f"algorithm={ALGORITHMS[name] if strategy != 'Continuous' else 'fedavg'}",
        f"training.lr={rate}",
        f"training.lr_schedule={{kind: polynomial, ratio: {ratio}}}",
        f"sessions.initialisation={STRATEGIES[strategy] | {'pilots': 1, 'after_pilots': 'initial'}}",
        *VARIANTS[variant],
    ]
    folder = folder_of(dataset, variant, overlap, alpha, name, strategy, seed)
    return run(folder, SCENARIOS / "mnist-sessions.yaml", overrides, seed)


def first_ten(folder):
    """Mean accuracy in per cent of the first ten rounds after each change."""
    session, number, accuracy = (column(folder, part) for part in ("session", "round", "test_accuracy"))
    early = (number >= 1) & (number <= 10)
    return [100 * accuracy[(session == each) & early].mean() for each in CHANGES.values()]


def compared(proposed, other):
    """What Proposed and the other take to the target in the session, and what Proposed gains over its rounds.

    Gradient rounds count with their time and energy, not as rounds.
    """
    ours, theirs = curve(proposed), curve(other)
    target = SHARE * ours.best
    gain = metrics.accumulated_gain_points(*metrics.common(theirs, ours))
    return metrics.reach(ours, target), metrics.reach(theirs, target), gain


def curve(folder, session=CHANGES["t2"]):
    """A session's, from its beginning."""
    columns = {name: column(folder, name) for name in ("session", "round", "time_s", "energy_j", "test_accuracy")}
    rows = np.flatnonzero(columns["session"] == session)
    since = {name: columns[name][rows[0] - 1] for name in ("time_s", "energy_j")}
    return metrics.curve({name: values[rows] - since.get(name, 0.0) for name, values in columns.items()})


def medians(took):
    """The cells of a row; > where a seed never got there."""
    ups = [metrics.speed_up(theirs, ours) for ours, theirs, _ in took]
    numbers = [[*theirs[1:], *up[:2]] for (_, theirs, _), up in zip(took, ups, strict=True)]
    bound = "" if all(theirs.reached for _, theirs, _ in took) else ">"
    gain = np.median([gain for _, _, gain in took])
    return [*(f"{bound}{value:.3g}" for value in np.median(numbers, axis=0)), f"{gain:+.1f}"]


def spread(values):
    """Mean and standard deviation over seeds."""
    return f"{values.mean():.2f}" + (f"±{values.std(ddof=1):.2f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
