"""Links, participants and transfers for the tests of the radio, and its formulas written down a second time."""

import math

import numpy as np
import simpy
from scipy.special import j0

from edgefl.core.streams import Streams
from edgefl.radio.link import Link
from edgefl.radio.messages import DOWNLOAD, UPLOAD, round_trip
from edgefl.scenario import load

SLOT_S = 0.0005
NOISE_W_HZ = 10 ** (-17.4 - 3)
SERVER_W = 10 ** (4.3 - 3)
DEVICE_W = 10 ** (2.3 - 3)
STILL = {"fading": "none", "shadowing_db": 0.0}  # every rate has a closed form


def link(cells=None, seed=1, **radio):
    scenario = load({"radio": radio, "cells": cells or {}})
    return Link(radio=scenario.radio, cells=scenario.cells, streams=Streams(seed))


def drop(of, ids, index=0, distance_m=100.0):
    """Devices on a line to the east."""
    n = len(ids)
    positions = np.stack([np.broadcast_to(distance_m, n), np.zeros(n)], axis=-1)
    return of.drop(np.asarray(ids), positions, np.full(n, 1.5), index)


def participants(of, ids, index=0, distance_m=100.0, speed_mps=10.0):
    at = drop(of, ids, index, distance_m)
    return of.participants(at, np.full(len(ids), speed_mps), np.full(len(ids), DEVICE_W), index)


def transfers(of, ids, bits=1e6, index=0, distance_m=100.0, speed_mps=10.0, compute_s=0.01):
    """Downloads and uploads of devices `ids` that all begin at time 0; columns of `TransferResult` as arrays."""
    env = simpy.Environment()
    n = len(ids)
    found = {}
    at = drop(of, ids, index, distance_m)
    who = of.participants(at, np.full(n, speed_mps), np.full(n, DEVICE_W), index)
    carrier = of.open(env, who, round_trip(n, bits, bits, lambda _: np.full(n, compute_s)))

    def device(row):
        down = yield from carrier.send(row, DOWNLOAD)
        yield env.timeout(compute_s)
        found[row] = down, (yield from carrier.send(row, UPLOAD))

    env.run(env.all_of([env.process(device(row)) for row in range(n)]))
    downs = [found[row][0] for row in range(n)]
    ups = [found[row][1] for row in range(n)]
    return _columns(downs), _columns(ups)


def _columns(rows):
    first = rows[0]
    columns = [np.array([getattr(row, name) for row in rows]) for name in first._fields]
    return type(first)(*columns)


def path_gain(distance_m, shadowing_db=0.0):
    """UMi in line of sight, before the break point at 210 m (TR 38.901, Table 7.4.1-1)."""
    loss_db = 32.4 + 21 * math.log10(math.hypot(distance_m, 8.5)) + 20 * math.log10(3.5)
    return 10 ** (-(loss_db + shadowing_db) / 10)


def snr_hz(power_w, distance_m=100.0, shadowing_db=0.0):
    return power_w * path_gain(distance_m, shadowing_db) / NOISE_W_HZ


def best_snr(bps_hz):
    """The SNR at which a transmitter's power carries most, on a fine grid."""
    snr = np.geomspace(1e-3, 10.0, 200_001)
    return snr[np.argmax(bps_hz(snr) / snr)]


def correlation(speed_mps, slot_s=SLOT_S):
    return j0(2 * np.pi * speed_mps * 3.5e9 / 3.0e8 * slot_s)


def still_slots(bits, share_hz, snr, slot_s=SLOT_S, bps_hz=lambda snr: math.log2(1 + snr)):
    """Slots over a channel that does not change."""
    return math.ceil(bits / (share_hz * slot_s * bps_hz(snr)))


def walk(draws, bits, share_hz, snr, start, rho, k=0.0, hold=1, limit=math.inf):
    """A transfer slot by slot, as the formulas say: slots, gain in the last of them and bits."""
    if math.isinf(k):
        line = 1.0
        scatter = 0.0
    else:
        line = math.sqrt(k / (k + 1))
        scatter = math.sqrt(1 / (k + 1))
    slots = 0
    sent = 0.0
    h = complex(start)
    while sent < bits and slots < limit:
        if slots % hold == 0:
            fresh = complex(draws.standard_normal(), draws.standard_normal()) * math.sqrt(0.5)
            h = rho * h + math.sqrt(1 - rho**2) * fresh
        sent += share_hz * SLOT_S * math.log2(1 + snr * abs(line + scatter * h) ** 2)
        slots += 1
    return slots, h, min(sent, bits)


def block_gain(streams, device, slot, hold, cell=0):
    """The gain of a device in a slot of the clock whose blocks are of `hold` slots, from the key of its block."""
    number = slot // hold
    parts = streams.normal("fading_blocks", [device + (hold % 2**31 << 32)], cell, count=2 * number + 2)[0, -2:]
    return complex(*parts) * math.sqrt(0.5)


def block_walk(streams, device, bits, share_hz, snr, first, hold, limit=math.inf):
    """A transfer from slot `first` of the clock on, through blocks of `hold` slots: slots and bits."""
    slots = 0
    sent = 0.0
    while sent < bits and slots < limit:
        power = abs(block_gain(streams, device, first + slots, hold)) ** 2
        sent += share_hz * SLOT_S * math.log2(1 + snr * power)
        slots += 1
    return slots, min(sent, bits)
