"""HARQ and link adaptation of one transfer in plain Python, slot by slot: the oracle of `channel.link_race`."""

import math
from dataclasses import dataclass, field

import numpy as np

from channel import link_columns, link_race
from channel.link_adaptation import DB_PER_NEPER, FIRST_DB, GRID_VALUES, STEP_DB, WEAKEST_SNR, LinkAdaptation


@dataclass
class PlainBlocks:
    """The process of a transfer; `uniform` has one draw for each slot."""

    adaptation: LinkAdaptation
    uniform: list[float]
    offset_db: float = 0.0
    scheme: int = 0
    snrs: list[float] = field(default_factory=list)  # of the block's transmissions
    draw: float = 0.0
    reports_db: list[float] = field(default_factory=list)
    first: int = 0
    lost: int = 0

    def step(self, snr: float) -> float:
        """The bits a symbol that arrive in a slot."""
        of = self.adaptation
        snr_db = decibels(snr)
        slot = len(self.reports_db)
        reported_db = (
            self.reports_db[max(slot - of.report_delay_slots, 0)] if slot and of.report_delay_slots else snr_db
        )
        self.reports_db.append(snr_db)
        is_first = not self.snrs
        if is_first:
            known_db = reported_db + self.offset_db
            reached = [number for number, least_db in enumerate(of.thresholds_db) if least_db <= known_db]
            self.scheme = max(reached, default=0)
            self.draw = self.uniform[slot]
        self.snrs.append(snr)
        is_lost = self.draw < self.error_rate()
        if is_first:
            self.first += 1
            self.lost += is_lost
            step_db = -of.step_db if is_lost else of.step_db * of.target / (1.0 - of.target)
            self.offset_db = min(max(self.offset_db + step_db, -of.most_offset_db), of.most_offset_db)
        if not is_lost or len(self.snrs) == of.transmissions:
            self.snrs = []
        return 0.0 if is_lost else float(of.efficiencies_bps_hz[self.scheme])

    def error_rate(self) -> float:
        """Between two points of the scheme's curve, at the sum of the SNRs."""
        total = 0.0
        for snr in self.snrs:
            total += snr
        curve = self.adaptation.error_rates[self.scheme]
        place = (decibels(total) - FIRST_DB) / STEP_DB
        if place <= 0.0:
            return float(curve[0])
        if place >= GRID_VALUES - 1:
            return float(curve[-1])
        left = int(place)
        return float(curve[left] * (1.0 - (place - left)) + curve[left + 1] * (place - left))


def decibels(snr: float) -> float:
    return DB_PER_NEPER * math.log(max(snr, WEAKEST_SNR))


def raced(adaptation, snr, seed):
    """The state of a transfer after slots of given SNRs [c]."""
    table = link_race.begin(adaptation, np.zeros(1, complex), [bytes(24)], [bytes([seed]) * 24])
    one_hz_s = link_race.links(*(np.array([value]) for value in (1.0, 0.0, 1.0, 1.0, math.inf)))
    link_race.race(adaptation, table, one_hz_s, np.array([link_columns.GIVEN]), len(snr), snr[None])
    return table.state[0]
