"""The dynamic-devices paper's rows for MNIST and Fashion-MNIST (seven sessions of 100 devices) beside measured ones.

EDGEFL_DATA=... python benchmarks/sessions_mnist.py [table10 | table7] [--datasets MNIST FMNIST] [--seeds 100 200 300]
    [--variants "5-9 first" ...] [--algorithms FedProx ...] [--strategies Proposed ...] [--overlaps 0.0]
    [--alphas 0.3] [--finished] [--again]

table10: the mean accuracy, on the labels of the devices that are there, in the first ten rounds after the second and
the fourth change that follows the pilot session (t2, t4), the published mean in brackets. table7 has the form
of that table, which the paper has for other datasets: what the session after the second change takes to 97 % of the
best accuracy that Proposed has in it, and how much more accurate Proposed is, summed over its rounds; it runs nothing.
A variant is a reading of the setting: which labels the first session has, and how long devices train. What has been
measured is kept in benchmarks/measured/sessions-mnist.csv and is not repeated, unless --again; with --finished nothing
runs.
"""

import argparse
from itertools import product

import numpy as np
from study import ROOT, SCENARIOS, Measured, column, finished, published, run, table

from edgefl.results import metrics

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
FIRST = "sessions.first_group=1"  # the scenario begins with the second
VARIANTS = {  # the paper has five steps, its program no more than a pass; neither says which labels come first
    "5-9 first": [],
    "5-9 first, five steps": FIVE_STEPS,
    "0-4 first": [FIRST],
    "0-4 first, five steps": [FIRST, *FIVE_STEPS],
}
KEYS = ("dataset", "variant", "overlap", "alpha", "trained", "strategy", "seed")
NAMES = ["labels", "data, overlap, alpha, algorithm"]
PUBLISHED = ["t2", "t4"]
CHANGES = {"t2": 4, "t3": 5, "t4": 6, "t5": 7}  # the session that begins with each; t2 and t4 are published
SHARE = 0.97  # of Proposed's best accuracy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table", nargs="?", choices=["table10", "table7"], default="table10")
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), default=list(DATASETS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[100, 200, 300])
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS)[:1])
    parser.add_argument("--algorithms", nargs="+", choices=list(ALGORITHMS), default=list(ALGORITHMS))
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    parser.add_argument("--overlaps", nargs="+", default=["0.0", "0.2"])
    parser.add_argument("--alphas", nargs="+", default=["0.3", "0.7"])
    parser.add_argument("--finished", action="store_true")
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    known = Measured("sessions-mnist", KEYS, again=args.again)
    if args.table == "table7":
        time_to_accuracy(args, known)
        return
    for seed, (setting, _), strategy in product(args.seeds, cells(args), args.strategies):  # whole tables, seed by seed
        evaluate(known, case_of(*setting, strategy, seed), run_it=not args.finished)
    initial_accuracy(args, known)


def initial_accuracy(args, known):
    """Table X: per cent in the first ten rounds after a change, with the published mean in brackets."""
    rows, wanted = [], list(product(PUBLISHED, args.strategies))
    for setting, theirs in cells(args):
        found = {strategy: of_seeds(args, known, setting, strategy) for strategy in args.strategies}
        cell = [f"{spread(found[s], change)} ({theirs[f'{change}_{s}'].split('±')[0]})" for change, s in wanted]
        if any(found.values()):
            rows.append([*names(setting), *cell, str(max(map(len, found.values())))])
    table([*NAMES, *(" ".join(each) for each in wanted), "seeds"], rows)


def of_seeds(args, known, setting, strategy):
    """The rows of the seeds that have run."""
    found = [known.get(case_of(*setting, strategy, seed)) for seed in args.seeds]
    return [row for row in found if row]


def time_to_accuracy(args, known):
    """The form of Table VII: the median of the seeds that have run with Proposed and with the other."""
    rows = []
    for (setting, _), strategy in product(cells(args), args.strategies):
        pairs = [[known.get(case_of(*setting, each, seed)) for each in ("Proposed", strategy)] for seed in args.seeds]
        took = [compared(*map(curve, pair)) for pair in pairs if all(pair)]
        if took:
            rows.append([*names(setting), strategy, str(len(took)), *medians(took)])
    heads = ["rounds", "latency (s)", "energy (J)", "speed-up, rounds", "speed-up, time", "gain (points)"]
    table([*NAMES, "start", "seeds", *heads], rows)


def cells(args):
    """The published table's rows that are wanted: dataset, variant, overlap, alpha, algorithm; and the row."""
    for variant, theirs in product(args.variants, published("dynamic-devices-table-x")):
        wanted = theirs["dataset"] in args.datasets and theirs["alg"] in args.algorithms
        if wanted and theirs["overlap"] in args.overlaps and theirs["alpha"] in args.alphas:
            yield (theirs["dataset"], variant, theirs["overlap"], theirs["alpha"], theirs["alg"]), theirs


def names(setting):
    """The cells that name a row."""
    dataset, variant, *rest = setting
    return [variant, " ".join([dataset, *rest])]


def case_of(dataset, variant, overlap, alpha, name, strategy, seed):
    """What names a run. Continuous trains by FedAvg whatever the row's name: rows of one rate share a run."""
    trained = name
    if strategy == "Continuous":
        trained = "FedAvg, SCAFFOLD's rate" if name == "SCAFFOLD" else "FedAvg"
    return dict(zip(KEYS, (dataset, variant, overlap, alpha, trained, strategy, seed), strict=True))


def rates(dataset, trained):
    """The first learning rate, and the ratio of the last one to it (cards, section 6.4)."""
    return SCAFFOLDS_RATE if "SCAFFOLD" in trained else RATES[dataset]


def evaluate(known, case, *, run_it):
    """Measure a run that has not been measured yet: t2 to t5 in per cent, and the whole session that t2 begins."""
    place = ROOT / "results" / "sessions-mnist" / "/".join(str(part) for part in case.values())
    if known.get(case) or not (run_it or finished(place)):
        return
    rate, ratio = rates(case["dataset"], case["trained"])
    overrides = [
        f"data.dataset={DATASETS[case['dataset']]}",
        f"data.partition={{kind: label_overlap, overlap: {case['overlap']}, alpha: {case['alpha']}}}",
        f"algorithm={ALGORITHMS.get(case['trained'], 'fedavg')}",
        f"training.lr={rate}",
        f"training.lr_schedule={{kind: polynomial, ratio: {ratio}}}",
        f"sessions.initialisation={STRATEGIES[case['strategy']] | {'pilots': 1, 'after_pilots': 'initial'}}",
        *VARIANTS[case["variant"]],
    ]
    run(place, SCENARIOS / "mnist-sessions.yaml", overrides, case["seed"])
    known.put(case, {**first_ten(place), **session(place, CHANGES["t2"])}, place)


def first_ten(folder):
    """Mean accuracy in per cent of the first ten rounds after each change."""
    numbers, rounds, accuracy = (column(folder, part) for part in ("session", "round", "test_accuracy"))
    early = (rounds >= 1) & (rounds <= 10)
    return {change: f"{100 * accuracy[(numbers == at) & early].mean():.4f}" for change, at in CHANGES.items()}


def session(folder, number):
    """Accuracies of a session's rounds, and time and energy since it began, its gradient rounds among them."""
    there, rounds = column(folder, "session") == number, column(folder, "round")
    begins = int(np.flatnonzero(there)[0])
    values = {"accuracies": column(folder, "test_accuracy")[there & (rounds >= 1)]}
    for key, name in (("times_s", "time_s"), ("energies_j", "energy_j")):
        total = column(folder, name)
        values[key] = (total - total[begins - 1])[there & (rounds >= 1)]
    return {key: " ".join(f"{value:.6g}" for value in each) for key, each in values.items()}


def curve(row):
    """That of the session, as metrics take it."""
    columns = {"test_accuracy": "accuracies", "time_s": "times_s", "energy_j": "energies_j"}
    values = {name: np.array([float(value) for value in row[key].split()]) for name, key in columns.items()}
    rounds = np.arange(1.0, len(values["time_s"]) + 1)
    return metrics.accuracy_curve(
        {**values, "round": rounds, "session": np.full(len(rounds), CHANGES["t2"], dtype=float)}
    )


def compared(ours, theirs):
    """What Proposed and the other take to the target in the session, and what Proposed gains over its rounds.

    Gradient rounds count with their time and energy, not as rounds.
    """
    target = SHARE * ours.best
    gain = metrics.accumulated_gain_points(*metrics.common(theirs, ours))
    return metrics.reach(ours, target), metrics.reach(theirs, target), gain


def medians(took):
    """The cells of a row; > where a seed never got there."""
    ups = [metrics.speed_up(theirs, ours) for ours, theirs, _ in took]
    numbers = [[*theirs[1:], *up[:2]] for (_, theirs, _), up in zip(took, ups, strict=True)]
    bound = "" if all(theirs.reached for _, theirs, _ in took) else ">"
    gain = np.median([gain for _, _, gain in took])
    return [*(f"{bound}{value:.3g}" for value in np.median(numbers, axis=0)), f"{gain:+.1f}"]


def spread(rows, change):
    """Mean and standard deviation over seeds."""
    values = [float(row[change]) for row in rows]
    if not values:
        return "-"
    return f"{np.mean(values):.2f}" + (f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
