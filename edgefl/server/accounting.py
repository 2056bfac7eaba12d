"""Accounts of a round that ends: its row of rounds.csv, its participations in devices.csv, and observations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.coordination.server_view import DeviceReports
from edgefl.core.arrays import Floats
from edgefl.radio.transfers import TransferColumns, Way, columns_of
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import LATE, NOT_CHOSEN, OUT_OF_MEMORY, RECEIVED, REPORTED
from edgefl.scenario import RoundKey
from edgefl.server.energy import Draws, Spans, energy_columns, spent_j
from edgefl.server.observer import DeviceColumns, EndedRound, Observer
from edgefl.server.participation import FAILED, Participation
from edgefl.world.world import World

# Columns of devices.csv that are those of the large-scale channel
DROP_COLUMNS: dict[str, type[np.generic]] = {
    "distance_m": np.float64,
    "los": np.bool_,
    "pathloss_db": np.float64,
    "shadowing_db": np.float64,
}
USEFUL = (RECEIVED, *NOT_CHOSEN)  # the outcomes of participations whose energy is not wasted
# The energy of a participation that does not depend on how long others let the device wait
WORK_COLUMNS = ("rx_energy_j", "cpu_energy_j", "tx_energy_j", "setup_energy_j")


@dataclass(eq=False)
class RoundAccounts:
    """Makes the rows of rounds from the participations that have ended."""

    env: simpy.Environment
    world: World  # what devices draw
    ledger: Ledger  # the rounds before
    observers: Sequence[Observer]  # what adds columns

    def close(self, parts: Sequence[Participation], key: RoundKey, *, merged: bool = False) -> EndedRound:
        """Close participations [n], in order of their devices, whose round ends now; return the ended round."""
        ids = np.array([part.device for part in parts], dtype=np.int64)
        # Clock and power of the participation: the device's may have changed since.
        cpu_hz = np.array([part.cpu_hz for part in parts])
        tx_power_w = np.array([part.tx_power_w for part in parts])
        powers_w = self.world.powers_w(ids, cpu_hz, tx_power_w)
        down = columns_of([part.down for part in parts])
        up = columns_of([part.up for part in parts])
        bits_j: dict[Way, Floats] = {
            "down": self.world.receiving_j(ids, down.sent_bits),
            "up": self.world.sending_j(ids, up.sent_bits),
        }
        draws = Draws(powers_w, bits_j, self.world.drx_tail_s[ids])
        for part in parts:
            part.close()
        # Observers come first: one of them ends the waiting of devices that ran out of charge.
        more: DeviceColumns = {}
        for observer in self.observers:
            more |= observer.device_columns(parts)
        now_s = self.env.now
        devices = device_columns(parts, key, now_s, down, up, draws) | more
        for observer in self.observers:
            devices |= observer.added_device_columns(devices)
        return EndedRound(key, self.ledger.time_s, now_s, parts, devices, merged)

    def row(self, ended: EndedRound, learned: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a round in rounds.csv, with its columns of learning."""
        row = {**self._costs(ended), **learned, **_failures(ended)}
        for observer in self.observers:
            row |= observer.round_ends(ended)
        return row

    def _costs(self, ended: EndedRound) -> dict[str, Any]:
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
    """Return the columns of failures and of the energy spent without an update that was used."""
    failed = sum(part.status in (*FAILED, OUT_OF_MEMORY) for part in ended.parts)
    unused = np.array([part.status not in USEFUL for part in ended.parts], dtype=bool)
    return {"failed": failed, "wasted_j": spent_j(ended.devices, unused)}


def device_columns(
    parts: Sequence[Participation],
    round_key: RoundKey,
    now_s: float,
    down: TransferColumns,
    up: TransferColumns,
    draws: Draws,
) -> DeviceColumns:
    """Return participations [n], in order of their devices, as columns of devices.csv, of a round that ends now."""
    count = len(parts)
    compute_s = np.array([part.compute_s for part in parts])
    began_s = np.array([part.began_s for part in parts])
    end_s = np.array([part.end_s for part in parts])

    # A device waits during its participation, and afterwards for the round's end, unless it has left or was not chosen.
    waited_s = np.array([part.server_s + part.idle_s for part in parts])
    until_s = np.array([part.end_s if part.gone else min(now_s, part.waits_until_s) for part in parts])
    wait_s = until_s - (end_s - waited_s)
    of_drops = _of_drops(parts)
    return {
        "session": np.full(count, round_key.session),
        "round": np.full(count, round_key.round),
        "device": np.array([part.device for part in parts], dtype=np.int64),
        # Position and channel are those at the beginning; later changes are events.
        "cell": np.array([part.cell for part in parts], dtype=np.int64),
        "distance_m": of_drops["distance_m"],
        "los": of_drops["los"],
        "pathloss_db": of_drops["pathloss_db"],
        "download_s": down.duration_s,
        "compute_s": compute_s,
        "upload_s": up.duration_s,
        "wait_s": wait_s,
        **energy_columns(parts, Spans(down, up, compute_s, wait_s, until_s), draws),
        "status": np.array([part.status for part in parts], dtype=str),
        "bytes_down": _whole_bytes(down.sent_bits),
        "bytes_up": _whole_bytes(up.sent_bits),
        "x_m": np.array([part.position_m[0] for part in parts]),
        "y_m": np.array([part.position_m[1] for part in parts]),
        "shadowing_db": of_drops["shadowing_db"],
        "start_s": began_s,
    }


def device_reports(
    parts: Sequence[Participation],
    devices: Mapping[str, npt.NDArray[Any]],
    losses: Mapping[int, float],
    waited_until_s: float,
) -> DeviceReports:
    """Return the server's observations at the round's end of the participations [n] that ended in it.

    Polls and reports on channels are left out, as the server noted their answers when they came, and so are messages
    besides training, evaluations, and refusals, which say nothing of a device's speed.

    Args:
        parts: the participations, in order of their devices.
        devices: the same as columns of devices.csv.
        losses: training losses by device, of the devices whose update has arrived.
        waited_until_s: until when the server waited for updates [s].
    """
    unheard = (*NOT_CHOSEN, OUT_OF_MEMORY)
    rows = np.array([row for row, part in enumerate(parts) if part.status not in unheard], dtype=np.int64)
    reporting = [parts[row] for row in rows.tolist()]
    received = devices["status"][rows] == RECEIVED
    # For an update that never arrived, the server has waited until the end.
    until_s = np.where(received, [part.end_s for part in reporting], waited_until_s)
    working = [devices[name][rows] for name in WORK_COLUMNS if name in devices]
    return DeviceReports(
        ids=devices["device"][rows],
        received=received,
        round_trip_s=until_s - [part.began_s for part in reporting],
        energy_j=np.sum(working, axis=0),
        battery_j=_on_mains_inf([part.battery_j for part in reporting]),
        loss=np.array([losses.get(part.device, np.nan) for part in reporting], dtype=np.float64),
    )


def _on_mains_inf(battery_j: list[float]) -> Floats:
    """Return levels [n] of batteries, with inf instead of nan, which means no battery."""
    level_j = np.array(battery_j, dtype=np.float64)
    return np.where(np.isnan(level_j), np.inf, level_j)


def _of_drops(parts: Sequence[Participation]) -> DeviceColumns:
    """Return the columns of the large-scale channels of participations [n]; most began together."""
    pieces = {name: [np.empty(0, dtype=kind)] for name, kind in DROP_COLUMNS.items()}
    for _, together in groupby(parts, key=_drop_of):
        group = list(together)
        rows = [part.row for part in group]
        for name in DROP_COLUMNS:
            pieces[name].append(getattr(group[0].drop, name)[rows])
    return {name: np.concatenate(values) for name, values in pieces.items()}


def _drop_of(part: Participation) -> int:
    return id(part.drop)


def _whole_bytes(bits: Floats) -> npt.NDArray[np.int64]:
    """Return the whole bytes [n] of a number of bits [n]."""
    # A payload that is added up in parts may fall short by its last digit, which must not cost a byte.
    return np.floor(bits / 8.0 + 1e-3).astype(np.int64)
