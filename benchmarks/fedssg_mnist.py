"""The FedSSG paper's MNIST rows (Tables 1 and 3: 100 devices, 15 %), published beside measured.

EDGEFL_DATA=... python benchmarks/fedssg_mnist.py
    [--seeds 1 2 3] [--algorithms FedAvg ...] [--settings IID ...] [--finished] [--again]

A run has 300 rounds; all 63 take about four hours on two cores. "FedVRA, general" is run where it is named. What has
been measured is kept in benchmarks/measured/fedssg-mnist.csv and is not repeated, unless --again; with --finished
nothing runs. Result folders lie in results/fedssg-mnist.
"""

import argparse

import numpy as np
from study import ROOT, SCENARIOS, Measured, column, finished, published, rounds_to, run, table

SETTINGS = {
    "IID": {"kind": "iid"},
    "DiD1": {"kind": "dirichlet", "alpha": 0.3},
    "DiD2": {"kind": "dirichlet", "alpha": 0.6},
}
ALPHA = {"IID": 0.03, "DiD1": 0.05, "DiD2": 0.04}  # FedSSG's own, section 5
FEDDYN = {"kind": "feddyn", "alpha": 0.01}
SAME = {"FedVRA": "FedDyn"}  # the program's FedVRA is its FedDyn, byte for byte (`variant: ssg_code`): run once
OURS = ("FedVRA, general",)  # rows without published numbers


def algorithms(setting):
    """Hyper-parameters of the paper, or of its program where they differ (FedProx: 1e-4 |w - w0|^2 without a half)."""
    return {
        "FedAvg": {"kind": "fedavg"},
        "FedProx": {"kind": "fedprox", "mu": 2e-4},
        "SCAFFOLD": {"kind": "scaffold", "variant": "ssg_code", "cv_lr": "initial"},
        "FedDyn": FEDDYN,
        "FedDC": {"kind": "feddc", "alpha": 0.1},
        "FedVRA": {"kind": "fedvra", "variant": "ssg_code", "alpha": 0.01},
        "FedDisco": {"kind": "feddisco", "base": FEDDYN},
        "FedSSG": {"kind": "fedssg", "alpha": ALPHA[setting]},
        "FedVRA, general": {"kind": "fedvra", "a": 7, "d": 10, "gamma": 0.1},
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--algorithms", nargs="+", default=[name for name in algorithms("IID") if name not in OURS])
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS))
    parser.add_argument("--finished", action="store_true")
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    known = Measured("fedssg-mnist", ("setting", "algorithm", "seed"), again=args.again)
    cases = [(setting, name, seed) for seed in args.seeds for setting in args.settings for name in args.algorithms]
    rows_of = {case: evaluate(known, *case, run_it=not args.finished) for case in cases}
    accuracies, rounds = published("fedssg-table-1"), published("fedssg-table-3")
    for setting in args.settings:
        print(f"\n{setting}\n")
        theirs = {"setting": "100-clients-15%", "dataset": "MNIST", "distribution": setting}
        accuracy = next(row for row in accuracies if theirs.items() <= row.items())
        rounds_97 = next(row for row in rounds if (theirs | {"target_acc": "97"}).items() <= row.items())
        rows = []
        for name in args.algorithms:
            mine = [row for seed in args.seeds if (row := rows_of[setting, name, seed])]
            cells = measured(mine) if mine else ["", "", ""]
            their_rounds, their_accuracy = (rounds_97[name], accuracy[name]) if name not in OURS else ("", "")
            their_rounds = their_rounds.split("|")[0]
            cells.insert(1, difference(mine, their_rounds))
            rows.append([name, their_rounds, *cells[:2], their_accuracy.replace("±", " ± "), *cells[2:]])
        heads = ["rounds to 97 %, published", "measured, by seed", "mean", "last 50, published", "measured", "by seed"]
        table(["", *heads], rows)


def measured(rows):
    """Rounds to 97 % by seed; mean of the last 50 accuracies with the mean of their deviations; means by seed."""
    last, spread = (np.array([float(row[name]) for row in rows]) for name in ("last_50", "last_50_std"))
    reached = ", ".join(row["rounds_to_97"] or "> 300" for row in rows)
    return [reached, f"{last.mean():.2f} ± {spread.mean():.2f}", ", ".join(f"{value:.2f}" for value in last)]


def difference(rows, published_rounds):
    """How far the mean of the rounds is from the published one; nothing where it was not reached, or is not known."""
    reached = [row["rounds_to_97"] for row in rows]
    if not published_rounds or not all(reached) or not reached:
        return ""
    return f"{np.mean([float(each) for each in reached]) / float(published_rounds) - 1:+.0%}".replace("%", " %")


def folder(setting, name, seed):
    """Where a run's results lie."""
    return ROOT / "results" / "fedssg-mnist" / setting / SAME.get(name, name) / f"seed-{seed}"


def evaluate(known, setting, name, seed, *, run_it):
    """What is measured of a run, in per cent; None where it has not run and shall not."""
    name = SAME.get(name, name)
    case = {"setting": setting, "algorithm": name, "seed": seed}
    place = folder(setting, name, seed)
    if row := known.get(case):
        return row
    if not run_it and not finished(place):
        return None
    overrides = [f"data.partition={SETTINGS[setting]}", f"algorithm={algorithms(setting)[name]}"]
    curve = column(run(place, SCENARIOS / "mnist-fedavg.yaml", overrides, seed), "test_accuracy")
    last = 100 * curve[-50:]
    values = {"last_50": f"{last.mean():.4f}", "last_50_std": f"{last.std(ddof=1):.4f}"}
    return known.put(case, {"rounds_to_97": rounds_to(curve, 0.97) or "", **values}, place)


if __name__ == "__main__":
    main()
