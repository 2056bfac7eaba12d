"""How far the law of computing misses networks that it was not fitted to (docs/validation.md).

    python benchmarks/compute_law.py

Training steps of 24 networks on a Raspberry Pi 4 and of ten on a Raspberry Pi 5 (federated-embedded-vision, images of
224 x 224 pixels), and of four networks on three boards (E2FL, images of 28 x 28 pixels), stand beside the law, fitted
on the Pi 4 to all networks but those that are predicted, and scaled to the other boards by one number; and beside
multiply-accumulates over one speed. Passes without gradients stand beside shares of a step.
"""

import csv
from pathlib import Path

import numpy as np

import edgefl
from edgefl.calibration.fitting import relative_fit

HERE = Path(__file__).parent
PUBLISHED = Path(edgefl.__file__).parent / "reproductions" / "published"
STEPS = HERE.parent / "scenarios" / "e2fl-steps.csv"
BATCH_SIZE = 16
PASSES = 3  # of a training step, in forward passes
SCALED_BY = "resnet18"
TWINS = {"vit_tiny": "deit_tiny", "vit_base": "deit_base"}  # one network under two names
BOARDS = {"pi3b-b": "Pi 3", "pi4b": "Pi 4", "pi5": "Pi 5"}
FITTED = "pi4b"
LAYERS = 5  # the place of layers among a step's features
GROUPS = 4
NAMES = ("convolution", "matmul", "grouped", "bandwidth")


def rows_of(path):
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def features(counts):
    """Return the operations by kind, bytes, groups and layers [6] of a training step."""
    convolution_macs = float(counts["conv1x1_macs"]) + float(counts["convkxk_macs"])
    operations = [
        2 * PASSES * macs for macs in (convolution_macs, float(counts["matmul_macs"]), float(counts["depthwise_macs"]))
    ]
    memory = [PASSES * float(counts["activation_bytes"]), float(counts["conv_groups"])]
    return np.array([*(BATCH_SIZE * np.array([*operations, *memory])), float(counts["layers"])])


COUNTS = {row["network"]: features(row) for row in rows_of(PUBLISHED / "testbed-network-counts.csv")}
WITHOUT_LAYERS = {network: np.array([*counts[:LAYERS], 1]) for network, counts in COUNTS.items()}  # one time of a step


def large_images():
    """Return the seconds of a step by board and network."""
    rows = rows_of(PUBLISHED / "pi-compute.csv")
    return {board: {row["network"]: float(row[board]) for row in rows if row[board]} for board in (FITTED, "pi5")}


def small_images():
    """Return the seconds of a step by board and network."""
    rows = rows_of(STEPS)
    return {board: {row["network"]: float(row["step_s"]) for row in rows if row["device"] == board} for board in BOARDS}


def halves():
    """Return the networks for small images in two halves: every other one, in the order of the file."""
    networks = list(small_images()[FITTED])
    return networks[::2], networks[1::2]


def fitted(left_out=(), counts=COUNTS):
    """Return the law [6] in seconds, fitted to the steps of all networks of the Pi 4 but some."""
    steps = large_images()[FITTED] | small_images()[FITTED]
    kept = [name for name in steps if name not in left_out]
    return relative_fit(np.array([counts[name] for name in kept]), np.array([steps[name] for name in kept]))


def scale(board, law, small, counts=COUNTS):
    """Return how many times longer a board takes than a law says.

    The Pi 5 is compared by ResNet-18. The Pi 3 has no steps on large images: it is compared by some networks on small
    ones.
    """
    if board == FITTED:
        return 1.0
    if board == "pi5":
        return large_images()[board][SCALED_BY] / (counts[SCALED_BY] @ law)
    steps = small_images()[board]
    return float(np.exp(np.mean([np.log(steps[name] / (counts[name] @ law)) for name in small])))


def on_small_images(board, counts=COUNTS):
    """Return predicted over measured seconds by network, each by a fit that leaves out its half of the networks."""
    found = {}
    for half, other in zip(halves(), reversed(halves()), strict=True):
        law = fitted(half, counts)
        factor = scale(board, law, other, counts)
        found |= {name: factor * counts[name] @ law / small_images()[board][name] for name in half}
    return {name: found[name] for name in small_images()[board]}


def on_large_images(board):
    """Return predicted over measured seconds by network, each by a fit that leaves it out."""
    found = {}
    for name, step_s in large_images()[board].items():
        if name in TWINS.values() or (board != FITTED and name == SCALED_BY):
            continue
        law = fitted((name, TWINS.get(name)))
        found[name] = scale(board, law, ()) * COUNTS[name] @ law / step_s
    return found


def passes_without_gradients():
    """Return E2FL's evaluations: board, network, share of a measured step, and the groups' part of a predicted one."""
    law = fitted()
    found = []
    for row in rows_of(HERE / "e2fl-evaluations.csv"):
        board, network = row["device"], row["network"]
        steps = float(row["samples"]) / BATCH_SIZE
        share = float(row["seconds"]) / steps / small_images()[board][network]
        parts = COUNTS[network] * law
        found.append((board, network, share, parts[GROUPS] / parts.sum()))
    return found


def share_of_groups(passes):
    """Return the share of a group's time that a pass without gradients takes: the one of least squares of logarithms.

    All else takes a third.
    """
    shares = np.linspace(0, 1 / PASSES, 1001)
    squares = [sum(np.log(share_of_step(part, one) / share) ** 2 for *_, share, part in passes) for one in shares]
    return float(shares[int(np.argmin(squares))])


def share_of_step(part, of_groups):
    """Return the share of a step that a pass without gradients takes, where groups have a part of that step."""
    return (1 - part) / PASSES + part * of_groups


def by_halves(predict):
    """Return predicted over measured passes, each by `predict(others)` of the other half, which returns a function."""
    passes = passes_without_gradients()
    found = []
    for half in halves():
        law = predict([one for one in passes if one[1] not in half])
        found += [law(part) / share for _, network, share, part in passes if network in half]
    return found


def one_share(others):
    mean = np.exp(np.mean([np.log(share) for *_, share, _ in others]))
    return lambda _: mean


def share_by_groups(others):
    of_groups = share_of_groups(others)
    return lambda part: share_of_step(part, of_groups)


def told(title, ratios):
    errors = np.array(ratios) - 1
    print(f"{title:58s} {100 * np.abs(errors).mean():5.1f} % {100 * errors.min():+6.1f} % {100 * errors.max():+6.1f} %")


def main():
    law = fitted()
    print("fitted to all networks of the Raspberry Pi 4:")
    for name, value in zip(NAMES, law, strict=False):
        print(f"  {name:12s} {1 / value / 1e9:7.3f} G/s")
    print(f"  group        {1e6 * law[GROUPS]:7.1f} us")
    print(f"  layer        {1e3 * law[LAYERS]:7.2f} ms")
    for board, title in BOARDS.items():
        print(f"  speed {title}   {1 / scale(board, law, small_images()[board]):7.3f}")
    of_large_images(law)
    of_small_images()
    of_passes()


def of_large_images(law):
    print(f"\n{'images of 224 x 224 pixels':58s}  mean  lowest  highest")
    steps = large_images()
    told("Pi 4, the fit itself", [COUNTS[name] @ law / step_s for name, step_s in steps[FITTED].items()])
    for board in steps:
        told(f"{BOARDS[board]}, each network left out of the fit", list(on_large_images(board).values()))
    for board, times in steps.items():
        macs = {name: COUNTS[name][:3].sum() for name in times}
        speed = macs[SCALED_BY] / times[SCALED_BY]
        ratios = [macs[name] / speed / step_s for name, step_s in times.items() if name != SCALED_BY]
        told(f"{BOARDS[board]}, multiply-accumulates, scaled by {SCALED_BY}", ratios)


def of_small_images():
    print(f"\n{'images of 28 x 28 pixels, half of the networks left out':58s}  mean  lowest  highest")
    for board, title in BOARDS.items():
        found = on_small_images(board)
        told(title, list(found.values()))
        for name, ratio in found.items():
            print(f"  {name:56s} {'':7s} {100 * (ratio - 1):+6.1f} %")
        told("  with one time of a step instead of layers", list(on_small_images(board, WITHOUT_LAYERS).values()))


def of_passes():
    print(f"\n{'passes without gradients, half of the networks left out':58s}  mean  lowest  highest")
    told("a third of a step", by_halves(lambda _: lambda _: 1 / PASSES))
    told("one share of a step", by_halves(one_share))
    told("a third, and of groups one share", by_halves(share_by_groups))
    print(f"the share of groups, by all networks: {share_of_groups(passes_without_gradients()):.3f}")


if __name__ == "__main__":
    main()
