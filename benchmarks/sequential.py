"""Sequential against parallel learning (the sequential-FL paper), published beside measured.

EDGEFL_DATA=... python benchmarks/sequential.py exdir [--seeds 1 2 3] [--models MLP ...] [--finished] [--again]
python benchmarks/sequential.py quadratics [-o FIGURE.svg]

`exdir`: MNIST, 500 devices of one or two classes, 10 a round, 5 steps, 1,000 rounds; mean and standard deviation of the
last ten tests, one every four rounds, over all seeds (Tables 3 and 11). What has been measured is kept in
benchmarks/measured/exdir-mnist.csv and is not repeated, unless --again; with --finished nothing runs. `quadratics`:
section 5.1 and its appendix, nine pairs of functions, 500 rounds; of the paper's learning rates the one that ends
nearest to the optimum.
"""

import argparse

import numpy as np
from study import ROOT, SCENARIOS, Measured, column, finished, published, run, table

import edgefl

MODELS = {"MLP": {"kind": "mlp", "dropout": 0.5}, "LeNet-5": {"kind": "lenet5"}}
LR = {  # the paper's best, from its program's README: classes a device -> rate
    ("MLP", "PFL"): {1: 0.1, 2: 0.1},
    ("MLP", "SFL"): {1: 0.01, 2: 0.01},
    ("LeNet-5", "PFL"): {1: 0.1, 2: 0.1},
    ("LeNet-5", "SFL"): {1: 0.03, 2: 0.01},
}
TESTS = 10  # the last ones
METHODS = {"PFL": ("synchronous", 10), "SFL": ("sequential", 50)}  # policy, and norm to which gradients are clipped

FAMILIES = {"1/2, 1/2": (1 / 2, 1 / 2), "2/3, 1/3": (2 / 3, 1 / 3), "1, 0": (1.0, 0.0)}  # a_1, a_2; b_2 = -b_1
SLOPES = (1, 10, 100)  # b_1
RATES = (0.001, 0.003, 0.006, 0.01, 0.03, 0.06, 0.1, 0.3, 0.6, 1.0)
STEPS = (2, 10)
ROUNDS = 500


def exdir(args):
    """The table over models, methods and classes a device."""
    theirs = {
        (row["model"], row["method"]): row
        for row in published("sequential-fl-tables-3-and-11")
        if row["dataset"] == "MNIST"
    }
    known = Measured("exdir-mnist", ("model", "method", "classes", "seed"), again=args.again)
    cases = [
        {"model": model, "method": method, "classes": classes, "seed": seed}
        for seed in args.seeds
        for model, method in LR
        for classes in (1, 2)
        if model in args.models
    ]
    measured = [(case, row) for case in cases if (row := last_ten(known, case, run_it=not args.finished))]
    rows = []
    for model, method in LR:
        cells = [model, method]
        for classes in (1, 2):
            wanted = {"model": model, "method": method, "classes": classes}
            mine = [row for case, row in measured if wanted.items() <= case.items()]
            cells += [theirs[model, method][f"C{classes}_K5"].replace("±", " ± "), pooled(mine), str(len(mine))]
        rows.append(cells)
    heads = [f"ExDir({classes}, 10), published | measured | seeds" for classes in (1, 2)]
    table(["model", "method", *" | ".join(heads).split(" | ")], rows)


def pooled(rows):
    """Mean and standard deviation of all tests of several runs, ten each."""
    if not rows:
        return ""
    means, deviations = (np.array([float(row[name]) for row in rows]) for name in ("last_ten", "last_ten_std"))
    squares = (TESTS - 1) * deviations**2 + TESTS * (means - means.mean()) ** 2
    return f"{means.mean():.2f} ± {np.sqrt(squares.sum() / (TESTS * len(rows) - 1)):.2f}"


def last_ten(known, case, *, run_it):
    """What is measured of a run, in per cent; None where it has not run and shall not."""
    if row := known.get(case):
        return row
    model, method, classes, seed = case.values()
    folder = ROOT / "results" / "exdir-mnist" / model / method / f"C{classes}" / f"seed-{seed}"
    if not run_it and not finished(folder):
        return None
    policy, clip_norm = METHODS[method]
    keys = {
        "data.partition": {"kind": "exdir", "classes": classes, "alpha": 10},
        "model": MODELS[model],
        "training.lr": LR[model, method][classes],
        "training.clip_norm": clip_norm,
        "server.policy": policy,
    }
    overrides = [f"{key}={value}" for key, value in keys.items()]
    curve = column(run(folder, SCENARIOS / "mnist-exdir.yaml", overrides, seed), "test_accuracy")
    tail = 100 * curve[~np.isnan(curve)][-TESTS:]
    return known.put(case, {"last_ten": f"{tail.mean():.4f}", "last_ten_std": f"{tail.std(ddof=1):.4f}"}, folder)


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
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--finished", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("-o", "--out")
    args = parser.parse_args()
    exdir(args) if args.what == "exdir" else quadratics(args.out)


if __name__ == "__main__":
    main()
