"""Logs of testbeds whose laws are known."""

import csv
import io

import numpy as np

from edgefl.calibration.log import NetworkCounts
from edgefl.world.compute_law import ForwardCounts

COLUMNS = (
    *("device", "network", "round", "phase", "seconds", "bytes", "joules"),
    *("batch_size", "steps", "samples", "clients", "clock_hz"),
)
# The law of the tests; a slow unit takes longer by a factor.
LAW = {"speed": 1 / 20e9, "matmul": 1 / 50e9, "grouped": 1 / 1e9, "bandwidth": 1 / 1e9, "group_s": 2e-5, "step_s": 0.05}


def networks(count, seed=1):
    """Counts of networks of all kinds and sizes."""
    generator = np.random.default_rng(seed)
    sizes = 10.0 ** generator.uniform(-1, 1, (count, 5))
    names = [f"net{number}" for number in range(count)]
    return {
        name: NetworkCounts(ForwardCounts(*(row * [1e9, 1e9, 3e7, 6e7, 5e3]).tolist()))
        for name, row in zip(names, sizes, strict=True)
    }


def step_s(law, counts, batch_size):
    """The seconds of a step, written out."""
    one = law["speed"]
    forward = counts.forward
    seconds = 6 * batch_size * forward.convolution_macs * one
    seconds += 6 * batch_size * forward.matmul_macs * law.get("matmul", one)
    seconds += 6 * batch_size * forward.grouped_macs * law.get("grouped", one)
    seconds += 3 * batch_size * forward.activation_bytes * law.get("bandwidth", 0)
    return seconds + batch_size * forward.groups * law.get("group_s", 0) + law.get("step_s", 0)


def log_text(rows):
    """Rows as the CSV file that users write."""
    stream = io.StringIO()
    table = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return stream.getvalue()


def counts_text(counts):
    """Counts as the CSV file that users write; all convolutions without groups are of 1x1."""
    lines = ["network,macs,depthwise_macs,matmul_macs,conv1x1_macs,convkxk_macs,activation_bytes,conv_groups"]
    for name, (one, _) in counts.items():
        cells = [one.convolution_macs + one.matmul_macs, one.grouped_macs, one.matmul_macs, one.convolution_macs, 0]
        lines.append(",".join([name, *(f"{cell!r}" for cell in [*cells, one.activation_bytes, one.groups])]))
    return "\n".join(lines) + "\n"


def training(law, counts, device="pi", batch_sizes=(16,), rounds=("1",), factor=lambda *_: 1.0):
    """Rows of training, each of ten steps."""
    return [
        {
            "device": device,
            "network": name,
            "round": number,
            "phase": "train",
            "seconds": 10 * step_s(law, one, batch_size) * factor(device, number),
            "batch_size": batch_size,
            "steps": 10,
        }
        for name, one in counts.items()
        for batch_size in batch_sizes
        for number in rounds
    ]


def downloads(capacity_bps, access_s, payloads, clients, rounds):
    """Rows of downloads that share a link, of which the first are done earlier."""
    return [
        {
            "device": f"pi/{unit}",
            "network": name,
            "round": number,
            "phase": "download",
            "seconds": (access_s + clients * 8 * size / capacity_bps) * (unit + 1) / clients,
            "bytes": size,
            "clients": clients,
        }
        for name, size in payloads.items()
        for number in rounds
        for unit in range(clients)
    ]
