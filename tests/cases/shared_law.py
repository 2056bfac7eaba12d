"""Durations of transfers whose share of a band changes by a script, by both engines: are they of one law?

All replicas of a transfer have the same script, so that they are carried side by side, by the code that the clock of a
band uses: nothing is simulated but the shares of a band that others join and leave.
"""

from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import numpy as np
from radio_cases import SLOT_S, link, participants
from scipy import stats

from edgefl.radio.bands import progress
from edgefl.radio.bands.progress import BandProgress
from edgefl.radio.bands.rows import BandRows
from edgefl.radio.bands.transfer import BandTransfer

BAND_HZ = 20e6
NO_LIMIT = 10**9


@dataclass(frozen=True)
class Setting:
    """A transfer that takes about so many slots, and how many others are on the band in parts of that time."""

    speed_mps: float
    slots: int
    snr_db: float  # at the whole band
    others: tuple[int, ...]  # in equal parts of the payload's time; the last number holds to the end

    def __str__(self):
        return f"{self.speed_mps:g} m/s, {self.slots} slots, {self.snr_db:g} dB, others {list(self.others)}"


SCRIPTS = {
    "alone": (0,),
    "joiner": (0, 1),
    "late joiner": (0, 0, 0, 1),
    "many join": (0, 9),
    "one by one": (0, 1, 2, 3, 4, 5, 6, 7),
    "leaver": (1, 0),
    "many leave": (9, 0),
    "leave one by one": (7, 6, 5, 4, 3, 2, 1, 0),
    "to and fro": (0, 4) * 5,
    "in bursts": (0, 19) * 12,
}


GRID = [
    Setting(speed_mps, slots, snr_db, others)
    for speed_mps in (1.0, 3.0, 10.0, 30.0)
    for slots in (50, 200, 1_000, 5_000)
    for snr_db in (0.0, 20.0)
    for others in SCRIPTS.values()
]


@contextmanager
def long_races():
    """Many replicas side by side: how far a race looks ahead changes sums by rounding errors only."""
    with mock.patch.multiple(progress, LOOK_AHEAD_VALUES=2**19, LEAST_AHEAD_SLOTS=128):
        yield


def mean_slot_bits(setting):
    """The mean bits of a slot over fading, in each part of the script."""
    budget = link().pricing.budget
    shares_hz = BAND_HZ / (1.0 + np.array(setting.others))
    return shares_hz * SLOT_S * budget.mean_bps_hz(snr_hz(setting) / shares_hz)


def snr_hz(setting):
    return 10 ** (setting.snr_db / 10) * BAND_HZ


def durations_slots(setting, transfer, replicas, seed):
    """Slots that each of so many transfers takes by an engine."""
    of = link(sharing="processor", transfer=transfer, seed=seed, shadowing_db=0.0, bandwidth_hz=BAND_HZ)
    who = participants(of, np.arange(replicas), speed_mps=setting.speed_mps)
    budget = of.pricing.budget
    parts = len(setting.others)
    part_slots = setting.slots / parts
    bits = part_slots * mean_slot_bits(setting).sum()
    changes = np.rint(part_slots * np.arange(1, parts)).astype(int).tolist()
    rows = BandRows.of(
        [
            BandTransfer(
                participant=one,
                attempt=0,
                left_bits=bits,
                longest_slots=NO_LIMIT,
                gain=one.start[0],
                draws=of.pricing.fading.innovations("up", one, 0),
            )
            for row in range(replicas)
            for one in [who.only(np.array([row]))]
        ],
        1,
    )
    progress = BandProgress(of.pricing.engine, "up")
    found = np.zeros(replicas)
    slot = 0
    while len(rows):
        part = sum(change <= slot for change in changes)
        until = changes[part] if part < len(changes) else NO_LIMIT
        share_hz = np.full(len(rows), BAND_HZ / (1 + setting.others[part]))
        rows.mean_snr[:] = snr_hz(setting) / share_hz
        rows.mean_bps_hz[:] = budget.mean_bps_hz(rows.mean_snr)
        after = progress.divide(rows, share_hz, slot, until - slot)
        last = after.ends[np.isfinite(after.ends)].max(initial=1)
        count = int(min(after.known_slots, until - slot, last))
        over = after.ends <= count
        found[rows.device[over]] = slot + after.ends[over]
        rows.advance(count, np.where(over, 0.0, after.settle(count)))
        rows = rows.only(~over)
        slot += count
    return found


def engines_apart(setting, replicas, seed):
    """The p-value of the distance (Kolmogorov and Smirnov) between the durations of both engines."""
    walked = durations_slots(setting, "slots", replicas, 2 * seed)
    estimated = durations_slots(setting, "fast", replicas, 2 * seed + 1)
    return stats.ks_2samp(walked, estimated).pvalue
