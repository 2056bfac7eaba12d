"""Runs whose times, energies and models have closed forms, for the tests of policies, the server and the radio."""

import numpy as np
import pandas as pd
import pytest
from radio_cases import STILL

import edgefl
from edgefl.runs.assembly import build
from edgefl.runs.emulation import silent
from edgefl.scenario import load

PARAMETERS = 20_000
FLOPS = 1e5  # of a participant's training
BAND_HZ = 20e6
BITS = 32 * PARAMETERS
POLICIES = {
    "synchronous": {},
    "deadline": {"policy": "deadline", "deadline_s": 0.05},
    "deadline_keep": {"policy": {"kind": "deadline", "late": "keep"}, "deadline_s": 0.05},
    "over_selection": {"policy": "over_selection"},
    "buffered": {"policy": {"kind": "buffered", "buffer": 4}},
    "asynchronous": {"policy": "asynchronous"},
    "sequential": {"policy": "sequential"},
    "hierarchical": {"policy": {"kind": "hierarchical", "cloud_every": 2, "backhaul_delay_s": 0.01}},
}
BASE = {
    "seed": 2,
    "rounds": 4,
    "data": {"dataset": "digits"},
    "model": {"kind": "mlp", "cost": {"parameters": PARAMETERS, "flops_per_parameter": 5.0}},
    "training": {"local_steps": 1, "batch_size": 1, "engine": "serial"},
    "devices": {"count": 20, "cpu_hz": {"lognormal": [15.2, 0.5]}, "flops_per_cycle": 1.0, "rx_power_w": 0.3},
    "radio": {**STILL, "bandwidth_hz": BAND_HZ},
}
ONE_ROUND = {  # half of twelve devices, which listen and wait at a price
    "model": {"kind": "mlp", "cost": {"parameters": PARAMETERS, "flops_per_parameter": 5.0}},
    "data": {"partition": "iid"},
    "rounds": 1,
    "devices": {"count": 12, "rx_power_w": 0.3, "idle_power_w": 0.01},
    "server": {"participants": 6},
}
SEVEN_CELLS = {"layout": "hexagonal", "sites": 7, "radius_m": 100}
SEVEN_CELLS_RADIO = {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}, "bandwidth_hz": 20e6}
ENERGY = ["rx_energy_j", "cpu_energy_j", "tx_energy_j", "idle_energy_j"]
TIMES = ["download_s", "compute_s", "upload_s"]


# Runs


def run(server, *, train=False, out=None, **changes):
    return edgefl.run({**BASE, **changes, "server": {"participants": 6, **server}}, train=train, out=out, device="cpu")


def run_in_seven_cells(policy, *, train=True, **changes):
    """Fourteen of 28 devices in seven cells, with three local steps."""
    several = {
        "training": {**BASE["training"], "local_steps": 3},
        "devices": {**BASE["devices"], "count": 28},
        "cells": SEVEN_CELLS,
        "radio": SEVEN_CELLS_RADIO,
        "server": {"participants": 14, "policy": policy},
    }
    return edgefl.run({**BASE, **several, **changes}, train=train, device="cpu")


def hierarchical(**keys):
    return {"kind": "hierarchical", **keys}


def interrupted(cuts_s, *, train=False, **changes):
    """A run in which participant i of every round is interrupted `cuts_s[i]` after the round's begin, if still in."""
    server = build(load({**ONE_ROUND, **changes}), "cpu", train=train, progress=silent)

    def cut(process, after_s):
        yield server.env.timeout(after_s)
        if process.is_alive:
            process.interrupt("late")

    def policy():
        while (yield from server.ready()):
            parts = server.dispatch(np.sort(server.select()))
            for process, after_s in zip(parts, cuts_s, strict=False):
                server.env.process(cut(process, after_s))
            yield server.env.all_of(parts)
            server.aggregate()

    server.env.run(server.env.process(policy()))
    accuracies = server.replay.finish()
    server.replay.close()
    ledger = server.ledger
    return server, pd.DataFrame(ledger.round_columns()), pd.DataFrame(ledger.device_columns()), accuracies


def cpu_hz(result):
    return build(load(result.scenario), "cpu", train=False, progress=silent).world.cpu_hz


def presence_trace(tmp_path, rows):
    """Churn by a trace of (device, on_s, off_s)."""
    path = tmp_path / "trace.csv"
    path.write_text("device,on_s,off_s\n" + "".join(f"{device},{on!r},{off!r}\n" for device, on, off in rows))
    return {"kind": "trace", "path": str(path)}


# Oracles


def locally(x, a, b, steps, lr=0.01):
    """`steps` of gradient descent on a x^2 + b x from x."""
    r = (1 - 2 * lr * a) ** steps
    return r * x - (1 - r) * b / (2 * a) if a else x - steps * lr * b


def tables(result):
    return [result.rounds, result.devices, result.events]


def assert_same(one, other):
    """All rows, events and, where something was learned, all parameters, bit by bit."""
    assert all(a.equals(b) for a, b in zip(tables(one), tables(other), strict=True))
    assert (one.parameters is None) == (other.parameters is None)
    assert one.parameters is None or np.array_equal(one.parameters, other.parameters)


def check_books(rounds, devices, summary):
    """Sums over devices are those of the rounds, and of the run; a participant's time is the round's."""
    by_round = devices.groupby("round")
    assert rounds["round_energy_j"].to_numpy() == pytest.approx(by_round[ENERGY].sum().sum(axis=1).to_numpy())
    assert rounds["energy_j"].to_numpy() == pytest.approx(rounds["round_energy_j"].cumsum().to_numpy())
    assert summary["energy_j"] == pytest.approx(devices[ENERGY].to_numpy().sum())
    for way in ("bytes_down", "bytes_up"):
        assert rounds[way].tolist() == by_round[way].sum().tolist()
        assert summary[way] == devices[way].sum()

    def count(*names):
        return by_round["status"].agg(lambda status: status.isin(names).sum()).tolist()

    assert rounds["received"].tolist() == count("received")
    assert rounds["late"].tolist() == count("late")
    assert rounds["failed"].tolist() == count("download_failed", "upload_failed")
    assert rounds["selected"].tolist() == by_round.size().tolist()
    assert summary["drops"] == {
        **{name: rounds[name].sum() for name in ("late", "departed", "failed")},
        "unfinished": 0,
    }
    spent_s = devices[[*TIMES, "wait_s"]].sum(axis=1).to_numpy()
    assert spent_s == pytest.approx(rounds["duration_s"].to_numpy()[devices["round"] - 1], abs=1e-9)
    assert (devices[[*TIMES, "wait_s", *ENERGY]].to_numpy() >= -1e-12).all()


def check_books_of_a_walk(result):
    """The same where devices take part one after another: a participant's time is not the round's."""
    received = (result.devices["status"] == "received").groupby(result.devices["round"]).sum()
    assert result.rounds["received"].tolist() == received.tolist()
    assert result.rounds["energy_j"].iloc[-1] == pytest.approx(result.devices[ENERGY].to_numpy().sum())
