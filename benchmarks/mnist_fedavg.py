"""FedAvg on MNIST in FedSSG's setting (Dirichlet 0.3, 15 % of 100 devices): published beside measured.

EDGEFL_DATA=... python benchmarks/mnist_fedavg.py [--seeds 1 2 3]
"""

import argparse
from pathlib import Path

import edgefl

SCENARIO = Path(__file__).parents[1] / "scenarios" / "mnist-fedavg.yaml"
PUBLISHED = {"rounds": 76, "last50": "97.70 ± 0.03"}  # FedSSG paper, Tables 3 and 1, FedAvg, DiD1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    print("| | rounds to 97 % | mean ± std of the last 50 accuracies | time to 97 % | energy to 97 % |")
    print("|---|---|---|---|---|")
    print(f"| published | {PUBLISHED['rounds']} | {PUBLISHED['last50']} % | | |")
    for seed in parser.parse_args().seeds:
        result = edgefl.run(SCENARIO, seed=seed)
        last = 100 * result.rounds["test_accuracy"].iloc[-50:]
        target = next(t for t in result.summary["targets"] if t["accuracy"] == 0.97)
        cost = f"{target['time_s']:.2f} s | {target['energy_j']:.1f} J" if target["round"] else "not reached | "
        print(f"| seed {seed} | {target['round']} | {last.mean():.2f} ± {last.std():.2f} % | {cost} |", flush=True)


if __name__ == "__main__":
    main()
