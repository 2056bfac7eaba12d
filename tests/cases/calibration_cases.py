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
# The law of the tests, that of the preset raspberry_pi_4 at twice its speed; a slow unit takes longer by a factor.
NUMBERS = {
    "convolution_flops_per_s": 34.4e9,
    "matmul_flops_per_s": 85.6e9,
    "grouped_flops_per_s": 0.97e9,
    "bandwidth_bytes_per_s": 1.678e9,
    "group_s": 17.95e-6,
    "layer_s": 3.96e-3,
    "step_s": 3.96e-3,
}


def seconds_of(numbers):
    """The seconds of an operation, a byte, a group, a layer or a step, by the keys of `devices.compute`."""
    return {key: 1 / number if key.endswith("_per_s") else number for key, number in numbers.items()}


LAW = seconds_of(NUMBERS)


def networks(count, seed=1):
    """Counts of networks of all kinds and sizes."""
    generator = np.random.default_rng(seed)
    sizes = 10.0 ** generator.uniform(-1, 1, (count, 6))
    names = [f"net{number}" for number in range(count)]
    return {
        name: NetworkCounts(ForwardCounts(*(row * [1e9, 1e9, 3e7, 6e7, 5e3, 50]).tolist()))
        for name, row in zip(names, sizes, strict=True)
    }


def step_s(law, counts, batch_size):
    """The seconds of a step, written out."""
    forward = counts.forward
    seconds = 6 * batch_size * forward.convolution_macs * law["convolution_flops_per_s"]
    seconds += 6 * batch_size * forward.matmul_macs * law["matmul_flops_per_s"]
    seconds += 6 * batch_size * forward.grouped_macs * law["grouped_flops_per_s"]
    seconds += 3 * batch_size * forward.activation_bytes * law["bandwidth_bytes_per_s"]
    seconds += batch_size * forward.groups * law["group_s"]
    return seconds + forward.layers * law["layer_s"] + law["step_s"]


def log_text(rows):
    """Rows as the CSV file that users write."""
    stream = io.StringIO()
    table = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return stream.getvalue()


def counts_text(counts):
    """Counts as the CSV file that users write; all convolutions without groups are of 1x1."""
    lines = ["network,macs,depthwise_macs,matmul_macs,conv1x1_macs,convkxk_macs,activation_bytes,conv_groups,layers"]
    for name, (one, *_) in counts.items():
        cells = [one.convolution_macs + one.matmul_macs, one.grouped_macs, one.matmul_macs, one.convolution_macs, 0]
        cells += [one.activation_bytes, one.groups, one.layers]
        lines.append(",".join([name, *map(repr, cells)]))
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
