"""Runs of made-up rounds, whose devices have given times and costs."""

from result_folders import scenario

from edgefl.results.reader import Documents
from edgefl.results.report.shared.read import from_memory

ENERGY_COLUMNS = ("rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j")
DEVICE = {
    "session": 1,
    "cell": 0,
    "los": "true",
    "pathloss_db": 100.0,
    "shadowing_db": 0.0,
    "distance_m": 100.0,
    "x_m": 100.0,
    "y_m": 0.0,
    "rx_energy_j": 0.0,
    "cpu_energy_j": 0.0,
    "tx_energy_j": 0.0,
    "idle_energy_j": 0.0,
    "status": "received",
    "bytes_down": 1,
    "bytes_up": 1,
}


def a_run(rounds, samples=None, accuracies=(), **changes):
    """A run of made-up rounds.

    Args:
        rounds: for each round its devices: their number, download_s, compute_s, upload_s, and other columns.
            All begin together, and the round ends with the last of them, unless `until_s` is there: for what the
            server waits for afterwards.
        samples: of each device.
        accuracies: of the first rounds.
        changes: of the scenario.
    """
    rows = []
    table = []
    now_s = 0.0
    now_j = 0.0
    for number, participants in enumerate(rounds, 1):
        busy_s = [sum(phases) + more.get("begins", 0.0) for _, phases, more in participants]
        duration_s = max([*busy_s, *(more["until_s"] for _, _, more in participants if "until_s" in more)], default=0)
        for (device, (down, compute, up), more), its_busy_s in zip(participants, busy_s, strict=True):
            times = {"download_s": down, "compute_s": compute, "upload_s": up}
            when = {"start_s": now_s + more.get("begins", 0.0), "wait_s": duration_s - its_busy_s}
            own = {key: value for key, value in more.items() if key not in {"until_s", "begins"}}
            rows.append({**DEVICE, "round": number, "device": device, **times, **when, **own})
        now_s += duration_s
        round_j = sum(row[column] for row in rows[len(rows) - len(participants) :] for column in ENERGY_COLUMNS)
        now_j += round_j
        accuracy = accuracies[number - 1] if number <= len(accuracies) else float("nan")
        costs = {"time_s": now_s, "duration_s": duration_s, "energy_j": now_j, "round_energy_j": round_j}
        table.append({"session": 1, "round": number, **costs, "received": len(participants), "test_accuracy": accuracy})
    tables = {"rounds.csv": columns(table), "devices.csv": columns(rows)}
    if samples:
        held = [{"device": device, "label": 0, "samples": count} for device, count in enumerate(samples)]
        tables["labels.csv"] = columns(held)
    documents = Documents("", scenario(**changes), {"status": "finished"}, {})
    return from_memory(documents, tables)


def columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def device(number, down, compute, up, **more):
    return number, (down, compute, up), more
