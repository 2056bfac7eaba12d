"""Result folders with made-up but plausible numbers: what the report reads, without the engine that writes it."""

import csv
import json
from pathlib import Path

import numpy as np
import yaml

from edgefl.records.columns import DEVICE_COLUMNS, ROUND_COLUMNS, fixed_names

LEARNING = ("train_loss", "test_loss", "test_accuracy")
ROUNDS = list(fixed_names(ROUND_COLUMNS))
DEVICES = list(fixed_names(DEVICE_COLUMNS))
CELL = {"layout": "single", "radius_m": 250.0, "min_distance_m": 10.0, "bs_height_m": 10.0}


def scenario(**changes):
    """A whole scenario; ``data__dataset="x"`` changes one key."""
    whole = {
        "name": "quickstart",
        "seed": 1,
        "rounds": 60,
        "targets": [0.8, 0.9],
        "stop": {"accuracy": None, "time_s": None, "energy_j": None},
        "data": {"dataset": "digits", "path": None, "partition": {"kind": "dirichlet", "alpha": 0.3}},
        "model": {"kind": "mlp"},
        "training": {"local_epochs": 5, "batch_size": 50, "lr": 0.1},
        "algorithm": {"kind": "fedavg"},
        "server": {
            "policy": {"kind": "synchronous"},
            "participants": 10,
            "selection": {"kind": "uniform"},
            "deadline_s": None,
        },
        "devices": {"count": 100, "cpu_hz": 1.0e9, "tx_power_dbm": 23.0},
        "cells": dict(CELL),
        "radio": {"carrier_hz": 3.5e9, "bandwidth_hz": 100.0e6, "allocation": "equal"},
        "mobility": {"kind": "random_waypoint", "speed_mps": 10.0},
        "churn": {"kind": "none"},
    }
    for path, value in changes.items():
        *blocks, key = path.split("__")
        block = whole
        for name in blocks:
            block = block[name]
        block[key] = value
    return whole


def devices_of_round(rng, config, number, start_s):
    """The rows of one round: nearer devices load faster, all wait for the slowest."""
    count = config["devices"]["count"]
    participants = min(config["server"]["participants"], count)
    ids = np.sort(rng.choice(count, participants, replace=False))
    drift = start_s * 2 / (1 + ids)
    radius = 10 + 240 * np.sqrt(np.random.default_rng(7).random(count)[ids])
    angle = 2 * np.pi * np.random.default_rng(8).random(count)[ids] + drift / 50
    slowness = 1e8 / config["radio"]["bandwidth_hz"] * (0.5 + radius / 250)
    download = 0.1 * slowness * rng.lognormal(0, 0.1, len(ids))
    compute = 0.5 * rng.lognormal(0, 0.2, len(ids))
    upload = 0.3 * slowness * rng.lognormal(0, 0.25, len(ids))
    busy = download + compute + upload
    shadowing = rng.normal(0, 4, len(ids))
    los = rng.random(len(ids)) < np.exp(-radius / 300)
    pathloss_db = 43 + 21 * np.log10(radius) + np.where(los, 0, 12) + shadowing
    return [
        {
            "session": 1,
            "round": number,
            "device": int(ids[i]),
            "cell": 0,
            "distance_m": float(radius[i]),
            "los": int(los[i]),
            "pathloss_db": float(pathloss_db[i]),
            "download_s": float(download[i]),
            "compute_s": float(compute[i]),
            "upload_s": float(upload[i]),
            "wait_s": float(busy.max() - busy[i]),
            "rx_energy_j": float(0.1 * download[i]),
            "cpu_energy_j": float(0.25 * compute[i]),
            "tx_energy_j": float(0.2 * upload[i]),
            "idle_energy_j": 0.0,
            "status": "received",
            "bytes_down": 320_000,
            "bytes_up": 320_000,
            "x_m": float(radius[i] * np.cos(angle[i])),
            "y_m": float(radius[i] * np.sin(angle[i])),
            "shadowing_db": float(shadowing[i]),
        }
        for i in range(len(ids))
    ]


def learning(kind, number, rng, pace):
    """The learning cells of a round."""
    untested = dict.fromkeys(LEARNING, "")
    if kind == "none":
        return untested
    if kind == "quadratic":
        distance = 10 * 0.9 ** (number * pace)
        losses = {"train_loss": distance**2 - 1, "test_loss": distance**2 - 1}
        return untested | losses | {"parameter": f"{1 + distance:.12g}", "distance_to_optimum": f"{distance:.12g}"}
    left = np.exp(-number * pace / 9)  # of what there is to learn
    return {
        "train_loss": 0.12 + 2.1 * left + rng.normal(0, 0.01),
        "test_loss": 0.2 + 2.1 * left + abs(rng.normal(0, 0.03)),
        "test_accuracy": round(float(np.clip(0.945 - 0.84 * left + rng.normal(0, 0.008), 0, 1)), 4),
    }


def rows_of(config, rounds, kind, pace):
    """The rows of ``rounds.csv`` and of ``devices.csv``."""
    rng = np.random.default_rng(config["seed"])
    time_s = 0.0
    energy_j = 0.0
    round_rows = []
    device_rows = []
    for number in range(1, rounds + 1):
        participants = devices_of_round(rng, config, number, time_s)
        duration_s = max(row["download_s"] + row["compute_s"] + row["upload_s"] for row in participants)
        spent_j = sum(row["rx_energy_j"] + row["cpu_energy_j"] + row["tx_energy_j"] for row in participants)
        device_rows += [row | {"start_s": time_s} for row in participants]
        time_s += duration_s
        energy_j += spent_j
        row = {
            "session": 1,
            "round": number,
            "time_s": time_s,
            "duration_s": duration_s,
            "energy_j": energy_j,
            "round_energy_j": spent_j,
            "selected": len(participants),
            "received": len(participants),
            "late": 0,
            "departed": 0,
            "bytes_down": 320_000 * len(participants),
            "bytes_up": 320_000 * len(participants),
        }
        round_rows.append(row | learning(kind, number, rng, pace))
    return round_rows, device_rows


def summary_of(config, table):
    accuracies = [row["test_accuracy"] for row in table if row["test_accuracy"] != ""]

    def target(wanted):
        for row in table:
            if row["test_accuracy"] != "" and row["test_accuracy"] >= wanted:
                return {"accuracy": wanted} | {key: row[key] for key in ("round", "time_s", "energy_j")}
        return {"accuracy": wanted, "round": None, "time_s": None, "energy_j": None}

    last = table[-1] if table else {"time_s": 0.0, "energy_j": 0.0}
    final = None
    fairness = None
    if accuracies:
        final = accuracies[-1]
        fairness = {"mean": 0.93, "variance": 0.002, "worst_10_percent": 0.81, "best_10_percent": 0.99}
    return {
        "rounds": len(table),
        "time_s": last["time_s"],
        "energy_j": last["energy_j"],
        "final_accuracy": final,
        "best_accuracy": max(accuracies, default=None),
        "targets": [target(wanted) for wanted in config["targets"]],
        "bytes_down": sum(row["bytes_down"] for row in table),
        "bytes_up": sum(row["bytes_up"] for row in table),
        "drops": {"late": 0, "departed": 0},
        "fairness": fairness,
        "wall_s": {"total": 12.3, "learning": 9.1, "world": 0.8, "write": 0.2},
    }


def write_csv(path, columns, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rewrite(folder, name, change):
    """Rewrite a CSV file row by row: ``change`` gives new cells, also of new columns; returns the folder."""
    rows = [row | change(row) for row in read_csv(folder / name)]
    write_csv(folder / name, list(rows[0]), rows)
    return folder


def make(folder, /, *, rounds=None, kind="accuracy", status="finished", error=None, pace=1.0, **changes):
    """Write a result folder and return it; ``data__dataset="x"`` changes one key of the scenario."""
    config = scenario(**changes)
    if rounds is None:
        rounds = config["rounds"]
    table, devices = rows_of(config, rounds, kind, pace)
    folder = Path(folder)
    folder.mkdir(parents=True)
    scalar = ["parameter", "distance_to_optimum"] if kind == "quadratic" else []
    write_csv(folder / "rounds.csv", ROUNDS + scalar, table)
    write_csv(folder / "devices.csv", DEVICES, devices)
    manifest = {
        "edgefl": "0.1.0",
        "python": "3.11.2",
        "numpy": "2.4.0",
        "torch": "2.11.0",
        "platform": "Linux-6.1-x86_64",
        "device": "cpu",
        "git": None,
        "started": "2025-11-21T08:37:00+00:00",
        "wall_s": 12.3,
        "status": status,
        "error": error,
        "digests": {},
    }
    (folder / "scenario.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(summary_of(config, table)), encoding="utf-8")
    return folder
