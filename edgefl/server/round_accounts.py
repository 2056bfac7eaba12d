"""The rows of a round that ends: its columns of rounds.csv, and its participations as columns of devices.csv."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.core.arrays import Floats
from edgefl.radio.transfers import Way
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import LATE, NOT_CHOSEN, RECEIVED, REPORTED
from edgefl.scenario import RoundKey
from edgefl.server.accounting import device_columns
from edgefl.server.energy import spent_j
from edgefl.server.observer import DeviceColumns, EndedRound, Observer
from edgefl.server.participation import FAILED, Participation
from edgefl.world.world import World


@dataclass(eq=False)
class RoundAccounts:
    """Makes the rows of rounds from the participations that have ended."""

    env: simpy.Environment  # the clock
    world: World  # what devices draw
    ledger: Ledger  # the rounds before
    observers: Sequence[Observer]  # what adds columns

    def close(self, parts: Sequence[Participation], key: RoundKey, *, merged: bool = False) -> EndedRound:
        """Close participations [n], whose round ends now; return them as the round's.

        Args:
            parts: the participations, in order of their devices.
            key: the round.
            merged: whether the models of all base stations became one.
        """
        ids = np.array([part.device for part in parts], dtype=np.int64)
        # Clock and power are those of the participation: the device may have been told others since.
        cpu_hz = np.array([part.cpu_hz for part in parts])
        tx_power_w = np.array([part.tx_power_w for part in parts])
        powers_w = self.world.powers_w(ids, cpu_hz, tx_power_w)
        bits_j: dict[Way, Floats] = {
            "down": self.world.receiving_j(ids, np.array([part.down.sent_bits for part in parts], dtype=np.float64)),
            "up": self.world.sending_j(ids, np.array([part.up.sent_bits for part in parts], dtype=np.float64)),
        }
        drx_tail_s = self.world.drx_tail_s[ids]
        for part in parts:
            part.close()
        # Observers come first: one of them knows which devices ran out of charge while they waited, and so when their
        # waiting ended.
        more: DeviceColumns = {}
        for observer in self.observers:
            more |= observer.device_columns(parts)
        now_s = self.env.now
        devices = device_columns(parts, key, now_s, powers_w, bits_j, drx_tail_s)
        return EndedRound(key, self.ledger.time_s, now_s, parts, devices | more, merged)

    def row(self, ended: EndedRound, learned: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a round in rounds.csv.

        Args:
            ended: the round.
            learned: its columns of learning.
        """
        row = {**self._costs(ended), **learned, **_failures(ended)}
        for observer in self.observers:
            row |= observer.round_ends(ended)
        return row

    def _costs(self, ended: EndedRound) -> dict[str, Any]:
        """Return the columns of a round's time, energy, participations and bytes."""
        spent = spent_j(ended.devices)
        status = [part.status for part in ended.parts]
        return {
            "session": ended.key.session,
            "round": ended.key.round,
            "time_s": ended.until_s,
            "duration_s": ended.until_s - ended.since_s,
            "energy_j": self.ledger.energy_j + spent,
            "round_energy_j": spent,
            "selected": sum(one not in NOT_CHOSEN for one in status),
            "received": status.count(RECEIVED),
            "late": status.count(LATE),
            "departed": status.count(DEPARTED),
            "bytes_down": int(ended.devices["bytes_down"].sum()),
            "bytes_up": int(ended.devices["bytes_up"].sum()),
        }

    def cut_off(self, ended: EndedRound) -> dict[str, float]:
        """Return what participations that were cut off after the last round add to its row."""
        reports = ended.devices["status"] == REPORTED
        spent = spent_j(ended.devices)
        added: dict[str, float] = {
            "selected": len(ended.parts) - int(reports.sum()),
            "energy_j": spent,
            "round_energy_j": spent,
            "wasted_j": spent - spent_j(ended.devices, reports),
            "bytes_down": int(ended.devices["bytes_down"].sum()),
            "bytes_up": int(ended.devices["bytes_up"].sum()),
        }
        for observer in self.observers:
            added |= observer.run_ends(ended)
        return added


def _failures(ended: EndedRound) -> dict[str, float]:
    """Return the columns of failed participations and of the energy spent without an update that was used."""
    failed = sum(part.status in FAILED for part in ended.parts)
    unused = ~np.isin(ended.devices["status"], (RECEIVED, *NOT_CHOSEN))
    return {"failed": failed, "wasted_j": spent_j(ended.devices, unused)}
