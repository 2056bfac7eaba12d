"""One device's part in the learning, from the model that it gets to the update that arrives, and what it has cost."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.coordination.server_view import DeviceReports
from edgefl.core.arrays import Floats
from edgefl.radio import HANDOVER_FAILED, Drop, Leg

Trip = Generator[simpy.Event, Any, str]  # a device's part; how it ended

RECEIVED = "received"
POLLED = "polled"  # who was asked for the model's loss and not chosen, having answered or not
FAILED = ("download_failed", "upload_failed", HANDOVER_FAILED)
SAME_S = 1e-9  # times that near are one
NOTHING = Leg(0.0, 0.0, 0.0, delivered=False)


def _unheard(activity: str) -> None:
    """Nobody wants to know."""


@dataclass(slots=True, eq=False)
class Participation:
    """Times, bits and fate; entered as it happens."""

    device: int
    cell: int  # at its beginning
    drop: Drop  # of those that began together
    row: int  # in it
    position_m: tuple[float, float]
    version: int  # of the model that it starts from: aggregations before
    began_s: float
    cpu_hz: float  # the clock at which it computes
    down: Leg = NOTHING
    up: Leg = NOTHING
    compute_s: float = 0.0
    server_s: float = 0.0  # of waiting for the server's computing, in split learning
    idle_s: float = 0.0  # of waiting for what is on its way over the backhaul, or for the others to be polled
    end_s: float = float("nan")
    status: str = ""  # RECEIVED, one of FAILED, or who cut it short
    handovers: list[int] = field(default_factory=list)  # the cells that it was handed over to, in turn
    doing: Callable[[str], None] = _unheard  # told when it begins to compute ("cpu") or to wait ("idle")
    waits_until_s: float = float("inf")  # when its battery ran out or it left while it waited, or it has begun anew
    closed: bool = False  # whether its round has ended
    battery_j: float = float("nan")  # in its battery when the part ended

    @property
    def gone(self) -> bool:
        """Whether it has ended and waits for nobody: who left, or was not chosen."""
        return self.status in (DEPARTED, POLLED)

    @property
    def serving(self) -> int:
        """The cell that it is in, or was last."""
        return self.handovers[-1] if self.handovers else self.cell

    def go_on(self, polled: Participation) -> None:
        """Begin where a poll has ended, and have waited since then."""
        polled.closed = True
        self.idle_s = polled.idle_s + self.began_s - polled.end_s
        self.began_s, self.down, self.up, self.compute_s = polled.began_s, polled.down, polled.up, polled.compute_s


Trips = Callable[[Participation], Trip]  # what each of those does that begin together


def participations(drop: Drop, positions_m: Floats, version: int, now_s: float, cpu_hz: Floats) -> list[Participation]:
    """Those of devices [n] that begin together, in order of the drop; computing at clocks `cpu_hz` [n]."""
    each = zip(drop.ids.tolist(), drop.cell.tolist(), positions_m.tolist(), cpu_hz.tolist(), strict=True)
    rows = enumerate(each)
    return [Participation(who, cell, drop, row, (x, y), version, now_s, hz) for row, (who, cell, (x, y), hz) in rows]


def spend(
    env: simpy.Environment, part: Participation, kind: Literal["compute_s", "server_s", "idle_s"], seconds: float
) -> Trip:
    """Time in which a device computes, or waits within its part; who cut it short, if somebody did."""
    before_s, began_s = getattr(part, kind), env.now
    part.doing("cpu" if kind == "compute_s" else "idle")
    try:
        yield env.timeout(seconds)
    except simpy.Interrupt as cut:
        setattr(part, kind, before_s + env.now - began_s)
        return str(cut.cause)
    setattr(part, kind, before_s + seconds)
    return ""


def travel(env: simpy.Environment, part: Participation, seconds: float, *, arrives: bool = False) -> Trip:
    """Time in which the backhaul carries something for a device; who cut its part short, if somebody did.

    What `arrives` in any case does so also when the device leaves meanwhile.
    """
    began_s, cut = env.now, ""
    while seconds > 0:
        cut = yield from spend(env, part, "idle_s", max(began_s + seconds - env.now, 0.0))
        if not (arrives and cut == DEPARTED):
            break
    return cut


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
    until_s = np.array([part.end_s if part.gone else min(now_s, part.waits_until_s) for part in parts])
    waited_s = np.array([part.server_s + part.idle_s for part in parts])  # on the way
    end_s = np.array([part.end_s for part in parts])
    wait_s = until_s - (end_s - waited_s)
    busy_s = download_s + compute_s + upload_s + waited_s
    early_s = busy_s - (end_s - np.array([part.began_s for part in parts]))  # over a direct link, before it is its turn
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
        "start_s": np.array([part.began_s for part in parts]) - np.where(early_s > SAME_S, early_s, 0.0),
    }


def seen(
    parts: Sequence[Participation],
    devices: Mapping[str, npt.NDArray[Any]],
    losses: Mapping[int, float],
    now_s: float,
) -> DeviceReports:
    """What the server has seen of ended participations [n] at the round's end; polls have told it all they could.

    Args:
        parts: in order of their devices.
        devices: their columns.
        losses: of the local training, by device, of those whose update has arrived.
        now_s: the time.
    """
    rows = np.flatnonzero(devices["status"] != POLLED)
    mine = [parts[row] for row in rows.tolist()]
    received = devices["status"][rows] == RECEIVED
    until_s = np.where(received, [part.end_s for part in mine], now_s)
    return DeviceReports(
        ids=devices["device"][rows],
        received=received,
        trip_s=until_s - [part.began_s for part in mine],
        energy_j=np.sum([devices[name][rows] for name in ("rx_energy_j", "cpu_energy_j", "tx_energy_j")], axis=0),
        battery_j=np.array([np.nan_to_num(part.battery_j, nan=np.inf) for part in mine], dtype=np.float64),
        loss=np.array([losses.get(part.device, np.nan) for part in mine], dtype=np.float64),
    )


_LARGE_SCALE = ("distance_m", "los", "pathloss_db", "shadowing_db")


def _legs(legs: list[Leg]) -> Floats:
    """Durations, times on air and bits of transfers, [3, n]."""
    return np.array([leg[:3] for leg in legs], dtype=np.float64).reshape(-1, 3).T


def _whole_bytes(bits: Floats) -> npt.NDArray[np.int64]:
    return np.floor(bits / 8.0 + 1e-3).astype(np.int64)  # a payload added up in parts may lack its last digit
