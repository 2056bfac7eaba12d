"""What a round costs each of its participants, entered as it happens."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgefl.radio import Drop, Leg

Floats = npt.NDArray[np.float64]

RECEIVED = "received"
NOTHING = Leg(0.0, 0.0, 0.0, delivered=False)
FAILED = ("download_failed", "upload_failed")


class Account:
    """Times, bits and fates of a round's participants [n], in order of their ids."""

    def __init__(self, drop: Drop, positions_m: Floats) -> None:
        count = len(drop.ids)
        self.drop, self.positions_m = drop, positions_m
        self.who = list(zip(drop.ids.tolist(), drop.cell.tolist(), strict=True))  # device and cell
        self.down, self.up = [NOTHING] * count, [NOTHING] * count
        self.compute_s = [0.0] * count
        self.end_s = [float("nan")] * count  # when its part in the round was over
        self.status = [""] * count

    def close(self, row: int, status: str, now_s: float) -> None:
        """Enter how it ended."""
        self.status[row], self.end_s[row] = status, now_s

    def count(self, *status: str) -> int:
        """How many ended like that."""
        return sum(map(self.status.count, status))

    def columns(self, session: int, number: int, now_s: float, powers_w: dict[str, Floats]) -> dict[str, Any]:
        """The round as columns of devices.csv; `powers_w` [n] are those of receiving, computing, sending, waiting."""
        drop, count = self.drop, len(self.status)
        download_s, down_air_s, down_bits = _columns(self.down)
        upload_s, up_air_s, up_bits = _columns(self.up)
        compute_s, wait_s = np.array(self.compute_s), now_s - np.array(self.end_s)
        silent_s = download_s - down_air_s + upload_s - up_air_s
        return {
            "session": np.full(count, session),
            "round": np.full(count, number),
            "device": drop.ids,
            "cell": drop.cell,
            "distance_m": drop.distance_m,
            "los": drop.los,
            "pathloss_db": drop.pathloss_db,
            "download_s": download_s,
            "compute_s": compute_s,
            "upload_s": upload_s,
            "wait_s": wait_s,
            "rx_energy_j": powers_w["rx"] * down_air_s,
            "cpu_energy_j": powers_w["cpu"] * compute_s,
            "tx_energy_j": powers_w["tx"] * up_air_s,
            "status": np.array(self.status),
            "bytes_down": _whole_bytes(down_bits),
            "bytes_up": _whole_bytes(up_bits),
            "x_m": self.positions_m[:, 0],
            "y_m": self.positions_m[:, 1],
            "shadowing_db": drop.shadowing_db,
            "idle_energy_j": powers_w["idle"] * (wait_s + silent_s),
        }


def _columns(legs: list[Leg]) -> Floats:
    """Durations, times on air and bits of transfers, [3, n]."""
    return np.array([leg[:3] for leg in legs]).reshape(-1, 3).T


def _whole_bytes(bits: Floats) -> npt.NDArray[np.int64]:
    return np.floor(bits / 8.0 + 1e-3).astype(np.int64)  # a payload added up in parts may lack its last digit
