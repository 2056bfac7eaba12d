"""The FedSSG paper's MNIST rows (Tables 1 and 3: 100 devices, 15 %), published beside measured.

EDGEFL_DATA=... python benchmarks/fedssg_mnist.py
    [--seeds 1 2 3] [--algorithms FedAvg ...] [--settings IID ...] [--finished]

A run has 300 rounds; all 63 take about four hours on two cores. "FedVRA, general" is run where it is named. What has
run lies in results/fedssg-mnist and is not repeated; with --finished only such runs are looked at.
"""

import argparse

import numpy as np
from study import ROOT, SCENARIOS, column, finished, published, rounds_to, run, table

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
    args = parser.parse_args()
    cases = [(setting, name, seed) for seed in args.seeds for setting in args.settings for name in args.algorithms]
    curves = {case: evaluate(*case) for case in cases if not args.finished or finished(folder(*case))}
    accuracies, rounds = published("fedssg-table-1"), published("fedssg-table-3")
    for setting in args.settings:
        print(f"\n{setting}\n")
        theirs = {"setting": "100-clients-15%", "dataset": "MNIST", "distribution": setting}
        accuracy = next(row for row in accuracies if theirs.items() <= row.items())
        rounds_97 = next(row for row in rounds if (theirs | {"target_acc": "97"}).items() <= row.items())
        rows = []
        for name in args.algorithms:
            mine = [curves[setting, name, seed] for seed in args.seeds if (setting, name, seed) in curves]
            cells = measured(mine) if mine else ["", "", ""]
            known = name not in OURS
            their_rounds, their_accuracy = (rounds_97[name], accuracy[name]) if known else ("", "")
            rows.append([name, their_rounds.split("|")[0], cells[0], their_accuracy.replace("±", " ± "), *cells[1:]])
        table(["", "rounds to 97 %, published", "measured, by seed", "last 50, published", "measured", "by seed"], rows)


def measured(curves):
    """Rounds to 97 % by seed; mean of the last 50 accuracies with the mean of their deviations; means by seed."""
    reached = [rounds_to(curve, 0.97) for curve in curves]
    last = [100 * curve[-50:].mean() for curve in curves]
    spread = np.mean([100 * curve[-50:].std(ddof=1) for curve in curves])
    by_seed = ", ".join(f"{value:.2f}" for value in last)
    return [", ".join(str(r or "> 300") for r in reached), f"{np.mean(last):.2f} ± {spread:.2f}", by_seed]


def folder(setting, name, seed):
    """Where a run's results lie."""
    return ROOT / "results" / "fedssg-mnist" / setting / SAME.get(name, name) / f"seed-{seed}"


def evaluate(setting, name, seed):
    """Test accuracies by round of a run."""
    overrides = [f"data.partition={SETTINGS[setting]}", f"algorithm={algorithms(setting)[SAME.get(name, name)]}"]
    place = run(folder(setting, name, seed), SCENARIOS / "mnist-fedavg.yaml", overrides, seed)
    return column(place, "test_accuracy")


if __name__ == "__main__":
    main()
