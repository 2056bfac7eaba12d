"""One device's part in the learning, from the model that it gets to the update that arrives, and what it has cost."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.protocols.base import DEPARTED
from edgefl.radio import Drop, Leg

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Trip = Generator[simpy.Event, Any, str]  # a device's part; how it ended

RECEIVED = "received"
FAILED = ("download_failed", "upload_failed")
NOTHING = Leg(0.0, 0.0, 0.0, delivered=False)


@dataclass(slots=True, eq=False)
class Participation:
    """Times, bits and fate; entered as it happens."""

    device: int
    cell: int
    drop: Drop  # of those that began together
    row: int  # in it
    position_m: tuple[float, float]
    version: int  # of the model that it starts from: aggregations before
    down: Leg = NOTHING
    up: Leg = NOTHING
    compute_s: float = 0.0
    server_s: float = 0.0  # of waiting for the server's computing, in split learning
    end_s: float = float("nan")
    status: str = ""  # RECEIVED, one of FAILED, or who cut it short


def participations(drop: Drop, positions_m: Floats, version: int) -> list[Participation]:
    """Those of devices [n] that begin together, in order of the drop."""
    who = zip(drop.ids.tolist(), drop.cell.tolist(), positions_m.tolist(), strict=True)
    return [Participation(device, cell, drop, row, (x, y), version) for row, (device, cell, (x, y)) in enumerate(who)]


def columns(
    parts: Sequence[Participation], session: int, number: int, now_s: float, powers_w: dict[str, Floats]
) -> dict[str, npt.NDArray[Any]]:
    """Ended participations [n] as columns of devices.csv.

    Args:
        parts: in order of their devices.
        session: number of the session.
        number: the round in which they ended.
        now_s: the time at which it ends.
        powers_w: what each device [n] draws while receiving, computing, sending and waiting.
    """
    count = len(parts)
    download_s, down_air_s, down_bits = _legs([part.down for part in parts])
    upload_s, up_air_s, up_bits = _legs([part.up for part in parts])
    compute_s = np.array([part.compute_s for part in parts])
    until_s = np.array([part.end_s if part.status == DEPARTED else now_s for part in parts])  # who left waits no more
    wait_s = until_s - np.array([part.end_s - part.server_s for part in parts])
    silent_s = download_s - down_air_s + upload_s - up_air_s
    large = {name: [getattr(part.drop, name)[part.row] for part in parts] for name in _LARGE_SCALE}
    return {
        "session": np.full(count, session),
        "round": np.full(count, number),
        "device": np.array([part.device for part in parts], dtype=np.int64),
        "cell": np.array([part.cell for part in parts], dtype=np.int64),
        "distance_m": np.array(large["distance_m"]),
        "los": np.array(large["los"], dtype=bool),
        "pathloss_db": np.array(large["pathloss_db"]),
        "download_s": download_s,
        "compute_s": compute_s,
        "upload_s": upload_s,
        "wait_s": wait_s,
        "rx_energy_j": powers_w["rx"] * down_air_s,
        "cpu_energy_j": powers_w["cpu"] * compute_s,
        "tx_energy_j": powers_w["tx"] * up_air_s,
        "status": np.array([part.status for part in parts], dtype=str),
        "bytes_down": _whole_bytes(down_bits),
        "bytes_up": _whole_bytes(up_bits),
        "x_m": np.array([part.position_m[0] for part in parts]),
        "y_m": np.array([part.position_m[1] for part in parts]),
        "shadowing_db": np.array(large["shadowing_db"]),
        "idle_energy_j": powers_w["idle"] * (wait_s + silent_s),
    }


_LARGE_SCALE = ("distance_m", "los", "pathloss_db", "shadowing_db")


def _legs(legs: list[Leg]) -> Floats:
    """Durations, times on air and bits of transfers, [3, n]."""
    return np.array([leg[:3] for leg in legs], dtype=np.float64).reshape(-1, 3).T


def _whole_bytes(bits: Floats) -> npt.NDArray[np.int64]:
    return np.floor(bits / 8.0 + 1e-3).astype(np.int64)  # a payload added up in parts may lack its last digit
