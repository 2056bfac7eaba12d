"""Small priced runs whose devices begin and end in every way that there is."""

import csv
import io
import json

import yaml

from edgefl.records.columns import ROUND_COLUMNS, fixed_names
from edgefl.results.export import export

BASE = {
    "rounds": 6,
    "server": {"participants": 6},
    "devices": {"count": 20, "idle_power_w": 0.05, "cpu_hz": {"lognormal": [20.5, 0.8]}},
}
RUNS = {
    "synchronous": {},
    "waiting": {"churn": {"kind": "bernoulli", "probability": 0.02}, "rounds": 4},
    "departing": {
        "server": {"participants": 10},
        "devices": {"count": 60, "idle_power_w": 0.05, "cpu_hz": {"lognormal": [17.0, 0.5]}},
        "radio": {"bandwidth_hz": 2e5},
        "churn": {"kind": "poisson", "arrivals_per_s": 3.0, "stay_s": {"weibull": [8.0, 0.7]}},
    },
    "late": {"server": {"participants": 8, "deadline_s": 0.004, "policy": "deadline"}},
    "overlapping": {"rounds": 12, "server": {"participants": 8, "policy": "asynchronous"}},
    "sequential": {"server": {"participants": 4, "policy": "sequential"}},
    "split": {"server": {"participants": 4, "policy": {"kind": "split", "cut": "fc1"}}},
    "sessions": {"rounds": None, "sessions": {"count": 2, "rounds": 3}},
}
FAILING = {
    "rounds": 12,
    "server": {"participants": 8, "policy": {"kind": "buffered", "buffer": 6}},
    "radio": {"faults": {"failure_probability": 0.4}},
}


def exported(folders, form, part=None, choice=None):
    """The bytes of an export of result folders."""
    out = folders[0].parent / "exported"
    export(folders, form, part, out, choice)
    return out.read_bytes()


def frame(folders, table, form="csv"):
    """An exported table."""
    import pandas as pd

    content = io.BytesIO(exported(folders, form, ("table", table)))
    return pd.read_csv(content) if form == "csv" else pd.read_parquet(content)


def made_round(number, accuracy):
    """A row of ``rounds.csv``: every round takes 10 s and 2 J."""
    return {
        "session": 1,
        "round": number,
        "time_s": 10 * number,
        "duration_s": 10,
        "energy_j": 2 * number,
        "round_energy_j": 2,
        "selected": 1,
        "received": 1,
        "late": 0,
        "departed": 0,
        "bytes_down": 5,
        "bytes_up": 5,
        "train_loss": 1,
        "test_loss": 1,
        "test_accuracy": accuracy,
    }


def cost_of(target, rounds):
    """A target of ``summary.json``: the first round that reaches it, None where there is none."""
    hit = next((row for row in rounds if row["test_accuracy"] >= target), {})
    return {"accuracy": target} | {key: hit.get(key) for key in ("round", "time_s", "energy_j")}


def made(folder, *, accuracies, seed=1, algorithm="fedavg", targets=(), **scenario):
    """A result folder with made-up figures, whose rounds end with these accuracies."""
    rounds = [made_round(number, accuracy) for number, accuracy in enumerate(accuracies, 1)]
    summary = {
        "rounds": len(rounds),
        "time_s": 10 * len(rounds),
        "energy_j": 2 * len(rounds),
        "final_accuracy": accuracies[-1],
        "last": {"n": 1, "mean_accuracy": accuracies[-1], "std_accuracy": 0.0},
        "targets": [cost_of(target, rounds) for target in targets],
    }
    whole = {"name": "made", "seed": seed, "targets": list(targets), "algorithm": {"kind": algorithm}, **scenario}
    folder.mkdir(parents=True)
    with (folder / "rounds.csv").open("w", newline="") as stream:
        table = csv.DictWriter(stream, fixed_names(ROUND_COLUMNS))
        table.writeheader()
        table.writerows(rounds)
    (folder / "scenario.yaml").write_text(yaml.safe_dump(whole))
    (folder / "manifest.json").write_text(json.dumps({"status": "finished"}))
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder
