"""Sequential against parallel learning (the sequential-FL paper), published beside measured.

EDGEFL_DATA=... python benchmarks/sequential.py exdir [--seeds 1 2 3]
python benchmarks/sequential.py quadratics [-o FIGURE.svg]

`exdir`: MNIST, 500 devices of one or two classes, 10 a round, 5 steps, 1,000 rounds; mean and standard deviation of the
last ten tests, one every four rounds, over all seeds (Tables 3 and 11). `quadratics`: section 5.1 and its appendix,
nine pairs of functions, 500 rounds; of the paper's learning rates the one that ends nearest to the optimum.
"""

import argparse

import numpy as np
from study import ROOT, SCENARIOS, column, published, run, table

import edgefl

MODELS = {"MLP": {"kind": "mlp", "dropout": 0.5}, "LeNet-5": {"kind": "lenet5"}}
LR = {  # the paper's best, from its program's README: classes a device -> rate
    ("MLP", "PFL"): {1: 0.1, 2: 0.1},
    ("MLP", "SFL"): {1: 0.01, 2: 0.01},
    ("LeNet-5", "PFL"): {1: 0.1, 2: 0.1},
    ("LeNet-5", "SFL"): {1: 0.03, 2: 0.01},
}
METHODS = {"PFL": ("synchronous", 10), "SFL": ("sequential", 50)}  # policy, and norm to which gradients are clipped

FAMILIES = {"1/2, 1/2": (1 / 2, 1 / 2), "2/3, 1/3": (2 / 3, 1 / 3), "1, 0": (1.0, 0.0)}  # a_1, a_2; b_2 = -b_1
SLOPES = (1, 10, 100)  # b_1
RATES = (0.001, 0.003, 0.006, 0.01, 0.03, 0.06, 0.1, 0.3, 0.6, 1.0)
STEPS = (2, 10)
ROUNDS = 500


def exdir(seeds):
    """The table over models, methods and classes a device."""
    theirs = {
        (row["model"], row["method"]): row
        for row in published("sequential-fl-tables-3-and-11")
        if row["dataset"] == "MNIST"
    }
    rows = []
    for (model, method), rates in LR.items():
        cells = [model, method]
        for classes, lr in rates.items():
            tails = [100 * accuracy(model, method, classes, lr, seed)[-10:] for seed in seeds]
            cells += [theirs[model, method][f"C{classes}_K5"].replace("±", " ± ")]
            cells += [f"{np.mean(tails):.2f} ± {np.std(tails, ddof=1):.2f}"]
        rows.append(cells)
    table(["model", "method", "ExDir(1, 10), published", "measured", "ExDir(2, 10), published", "measured"], rows)


def accuracy(model, method, classes, lr, seed):
    """Test accuracies of a run, one every four rounds."""
    policy, clip_norm = METHODS[method]
    keys = {
        "data.partition": {"kind": "exdir", "classes": classes, "alpha": 10},
        "model": MODELS[model],
        "training.lr": lr,
        "training.clip_norm": clip_norm,
        "server.policy": policy,
    }
    folder = ROOT / "results" / "exdir-mnist" / model / method / f"C{classes}" / f"seed-{seed}"
    overrides = [f"{key}={value}" for key, value in keys.items()]
    curve = column(run(folder, SCENARIOS / "mnist-exdir.yaml", overrides, seed), "test_accuracy")
    return curve[~np.isnan(curve)]


def quadratics(out):
    """The distance to the optimum over the rounds, the best rate of each curve."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "edgefl", "font.size": 8, "axes.spines.top": False, "axes.spines.right": False}
    figure, axes = plt.subplots(3, 3, figsize=(9, 7.5), sharex=True, constrained_layout=True)
    rows = []
    for row, (family, (a, c)) in zip(axes, FAMILIES.items(), strict=True):
        for axis, b in zip(row, SLOPES, strict=True):
            for steps in STEPS:
                for method, colour in (("PFL", "#2a6fbb"), ("SFL", "#c4481c")):
                    lr, curve = best((a, b, 0), (c, -b, 0), method, steps)
                    axis.plot(
                        np.maximum(curve, 1e-16),
                        color=colour,
                        lw=1,
                        ls="-" if steps == STEPS[0] else ":",
                        label=f"{method}, K = {steps}",
                    )
                    rows.append([f"{family}; {b}, {-b}", str(steps), method, f"{lr:g}", f"{curve[-1]:.2g}"])
            axis.set(yscale="log", title=f"a = {family}; b = {b}, {-b}", ylim=(1e-17, 100))
        row[0].set_ylabel("distance to the optimum")
    for axis in axes[-1]:
        axis.set_xlabel("round")
    axes[0, 0].legend(frameon=False)
    if out:
        figure.savefig(out, metadata={"Date": None})
    table(["a; b", "K", "method", "best rate", "distance after 500 rounds"], rows)


def best(one, two, method, steps):
    """The rate that ends nearest to the optimum, and its distances [rounds + 1], the mean over five seeds for SFL."""
    with np.errstate(over="ignore", invalid="ignore"):
        ends = {lr: expected_end(one, two, method, steps, lr) for lr in RATES}
    lr = min((lr for lr in RATES if np.isfinite(ends[lr])), key=ends.get)
    seeds = (1,) if method == "PFL" else (1, 2, 3, 4, 5)
    return lr, np.mean([distances(one, two, method, steps, lr, seed) for seed in seeds], axis=0)


def expected_end(one, two, method, steps, lr):
    """The distance at the end by both devices' local maps x -> r x + s, for choosing a rate without 1,000 runs."""
    maps = []
    for a, b, _ in (one, two):
        r, s = 1.0, 0.0
        for _ in range(steps):
            r, s = r * (1 - 2 * lr * a), s * (1 - 2 * lr * a) - lr * b
        maps.append((r, s))
    optimum, ends = -0.5 * (one[1] + two[1]) / (one[0] + two[0]), []
    for seed in range(1 if method == "PFL" else 20):
        x, rng = 10.0, np.random.default_rng(seed)
        for _ in range(ROUNDS):
            if method == "PFL":
                x = np.mean([r * x + s for r, s in maps])
            else:
                for r, s in rng.permutation(maps):
                    x = r * x + s
        ends.append(abs(x - optimum))
    return np.mean(ends)


def distances(one, two, method, steps, lr, seed):
    """Distances [rounds + 1] of a run from x = 10; infinite where it diverges."""
    scenario = {
        "name": "quadratics",
        "seed": seed,
        "rounds": ROUNDS,
        "data": {"dataset": "quadratic", "coefficients": [one, two]},
        "model": {"init": {"kind": "value", "value": 10.0}},
        "training": {"local_steps": steps, "batch_size": "full", "lr": lr, "engine": "serial"},
        "algorithm": {"kind": "fedavg", "weighting": "uniform"},
        "server": {"policy": METHODS[method][0]},
        "devices": {"count": 2},
        "radio": {"transfer": "fast"},
    }
    result = edgefl.run(scenario)
    curve = np.full(ROUNDS + 1, np.inf)
    optimum = -0.5 * (one[1] + two[1]) / (one[0] + two[0])
    curve[0] = abs(10.0 - optimum)
    curve[1 : len(result.rounds) + 1] = result.rounds["distance_to_optimum"]
    return curve


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["exdir", "quadratics"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("-o", "--out")
    args = parser.parse_args()
    exdir(args.seeds) if args.what == "exdir" else quadratics(args.out)


if __name__ == "__main__":
    main()
