"""Which engine for which model: seconds of learning per round, serial and batched in turn, in one process.

EDGEFL_DATA=... python benchmarks/engines.py
"""

import statistics
from pathlib import Path

import edgefl

SCENARIOS = Path(__file__).parents[1] / "scenarios"
MNIST, DIGITS = SCENARIOS / "mnist-fedavg.yaml", SCENARIOS / "quickstart.yaml"
FEW_STEPS = ["devices.count=1000", "server.selection.probability=0.1", "training={local_steps: 5, batch_size: 64}"]
CASES = {
    "MLP 64-64-10, 4,810 parameters, 10 clients x 5 steps": (DIGITS, []),
    "logistic, 7,850 parameters, 100 clients x 5 steps": (MNIST, ["model={kind: logistic}", *FEW_STEPS]),
    "MLP 784-64-10, 50,890 parameters, 15 clients x 60 steps": (MNIST, ["model={kind: mlp}"]),
    "FCN 784-200-200-10, 199,210 parameters, 15 clients x 60 steps": (MNIST, []),
}
ROUNDS, REPEATS = 10, 3


def learning_s(path, overrides, engine):
    result = edgefl.run(path, overrides=[*overrides, f"rounds={ROUNDS}", f"training.engine={engine}"])
    return result.summary["wall_s"]["learning"] / ROUNDS


def main():
    print("| model | serial, s a round | batched, s a round | batched / serial |")
    print("|---|---|---|---|")
    for name, (path, overrides) in CASES.items():
        learning_s(path, overrides, "serial")  # warm up
        pairs = [[learning_s(path, overrides, engine) for engine in ("serial", "batched")] for _ in range(REPEATS)]
        serial, batched = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(b / s for s, b in pairs)
        print(f"| {name} | {serial:.4f} | {batched:.4f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
