"""Unavailable devices on MNIST in the FedAR paper's setting: ways to cope with them, and who is served how well.

EDGEFL_DATA=... python benchmarks/fedar_mnist.py [--seeds 1 2 3] [--schedules inv_t constant] [--p-min 0.1 0.5]

The paper gives numbers only for CIFAR-10 and SVHN (Tables 2 and 3); of MNIST it says that FedAR ends with less loss and
more accuracy than the others. It says neither how many rounds there are nor how the learning rate decays: MIFA's 200
rounds are taken here, with its decay and without any.
"""

import argparse
import json

import numpy as np
from study import ROOT, SCENARIOS, column, run, table

from edgefl.results import metrics

ALGORITHMS = {
    "FedAR": {"kind": "fedar"},
    "MIFA": {"kind": "mifa", "wait": True},
    "FedVARP": {"kind": "fedvarp"},
    "FedAvg-IS": {"kind": "fedavg", "availability": "selection"},
    "FedAvg (S = 50), waits": {"kind": "fedavg", "max_participants": 50, "mode": "wait", "weighting": "uniform"},
    "FedAvg (S = 50), at most": {"kind": "fedavg", "max_participants": 50, "weighting": "uniform"},
    "SCAFFOLD": {"kind": "scaffold"},
    "FedAvg, all there": {"kind": "fedavg", "weighting": "uniform"},
}


def folder(name, schedule, p_min, seed):
    """The result folder of a run."""
    label = name.replace(" ", "").replace(",", "-").replace("(", "-").replace(")", "").replace("=", "")
    churn = {"kind": "none"} if name.endswith("all there") else {"kind": "bernoulli", "p_min": p_min}
    keys = {"training.lr_schedule": {"kind": schedule}, "algorithm": ALGORITHMS[name], "churn": churn}
    overrides = [f"{key}={value}" for key, value in keys.items()]
    place = ROOT / "results" / "fedar-mnist" / schedule / f"p-{p_min:g}" / label / f"seed-{seed}"
    return run(place, SCENARIOS / "mnist-fedar.yaml", overrides, seed)


def row(name, schedule, p_min, seeds, reference):
    """Means over the seeds; the t-test pairs all evaluated rounds of all seeds with FedAR's."""
    folders = [folder(name, schedule, p_min, seed) for seed in seeds]
    curves = [column(place, "test_accuracy") for place in folders]
    losses = [heard[-1] for place in folders for heard in [drop_empty(column(place, "train_loss"))]]
    fairness = [json.loads((place / "summary.json").read_text())["fairness"] for place in folders]
    accuracy = 100 * np.mean([curve[-1] for curve in curves])
    share = {
        key: 100 * np.mean([entry[key] for entry in fairness])
        for key in ("mean", "worst_10_percent", "best_10_percent")
    }
    variance = 1e4 * np.mean([entry["variance"] for entry in fairness])
    p = "" if reference is curves or name == "FedAR" else f"{metrics.paired_t(reference, np.concatenate(curves)).p:.2g}"
    return np.concatenate(curves), [
        name,
        f"{accuracy:.2f}",
        f"{100 * np.mean([curve[-50:].mean() for curve in curves]):.2f}",
        f"{np.mean(losses):.3f}",
        f"{share['mean']:.1f}",
        f"{variance:.0f}",
        f"{share['worst_10_percent']:.1f}",
        f"{share['best_10_percent']:.1f}",
        p,
    ]


def drop_empty(values):
    """Without rounds in which nobody was heard."""
    return values[np.isfinite(values)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--schedules", nargs="+", default=["inv_t", "constant"])
    parser.add_argument("--p-min", type=float, nargs="+", default=[0.1, 0.5])
    args = parser.parse_args()
    header = [
        "",
        "final accuracy",
        "last 50",
        "train loss",
        "devices: mean",
        "variance",
        "worst 10 %",
        "best 10 %",
        "p against FedAR",
    ]
    for schedule in args.schedules:
        for p_min in args.p_min:
            reference, rows = None, []
            for name in ALGORITHMS:
                curve, cells = row(name, schedule, p_min, args.seeds, reference)
                reference = curve if reference is None else reference
                rows.append(cells)
            print(f"\nlearning rate {schedule}, p_min {p_min:g}\n")
            table(header, rows)


if __name__ == "__main__":
    main()
