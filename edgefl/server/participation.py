"""One device's participation in a round: from the model it gets to the update that arrives, and what that has cost."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Literal

import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.core.arrays import Floats
from edgefl.radio.drop import Drop
from edgefl.radio.roaming import HANDOVER_FAILED
from edgefl.radio.transfers import TransferResult

RECEIVED = "received"
LATE = "late"
POLLED = "polled"  # of a device that was asked for the model's loss and not chosen, whether it answered or not
FAILED = ("download_failed", "upload_failed", HANDOVER_FAILED)
NOT_BEGUN = TransferResult(0.0, 0.0, 0.0, delivered=False)  # a transfer that has cost nothing yet

Activity = Literal["cpu", "idle"]
ActivityListener = Callable[[int, Activity], None]  # told which device begins to compute, or to wait
ParticipantProcess = Generator[simpy.Event, Any, str]  # what a participant does in virtual time; returns its status


def ignore_activity(device: int, activity: Activity) -> None:
    """Do nothing: no battery is metered."""


class Participation:
    """Times, transfers and fate of one device in one round, entered as they happen.

    Other modules read the attributes and change them by methods only.

    Args:
        device: its id.
        drop: the large-scale channel of the devices that began together.
        row: of the device in the drop.
        position_m: (x, y) at the beginning [m].
        version: of the model that it starts from: how many aggregations came before.
        began_s: when it began [s].
        cpu_hz: the fastest clock of its processor [Hz].
        on_activity: told when the device begins to compute or to wait.
    """

    __slots__ = (
        "_on_activity",
        "battery_j",
        "began_s",
        "cell",
        "closed",
        "compute_s",
        "cpu_hz",
        "device",
        "down",
        "drop",
        "end_s",
        "handovers",
        "idle_s",
        "position_m",
        "row",
        "server_s",
        "status",
        "up",
        "version",
        "waits_until_s",
    )

    def __init__(
        self,
        device: int,
        drop: Drop,
        row: int,
        position_m: tuple[float, float],
        version: int,
        began_s: float,
        cpu_hz: float,
        on_activity: ActivityListener = ignore_activity,
    ) -> None:
        self.device = device
        self.drop = drop
        self.row = row
        self.cell = int(drop.cell[row])  # at the beginning
        self.position_m = position_m
        self.version = version
        self.began_s = began_s
        self.cpu_hz = cpu_hz  # at which it computes
        self.down = NOT_BEGUN
        self.up = NOT_BEGUN
        self.compute_s = 0.0
        self.server_s = 0.0  # of waiting for the server's computing, in split learning
        self.idle_s = 0.0  # of waiting for what the backhaul carries, or for the other candidates to be polled
        self.end_s = float("nan")
        self.status = ""  # RECEIVED, LATE, POLLED, one of FAILED, or the cause of the interrupt
        self.handovers: tuple[int, ...] = ()  # the cells that it was handed over to, in order
        self.waits_until_s = float(
            "inf"
        )  # when it stopped waiting for the round's end: battery empty, left, asked anew
        self.closed = False  # whether its round has ended
        self.battery_j = float("nan")  # the battery's level at the end
        self._on_activity = on_activity

    @property
    def gone(self) -> bool:
        """True if it has ended and does not wait for the round's end: the device has left, or was not chosen."""
        return self.status in (DEPARTED, POLLED)

    @property
    def serving(self) -> int:
        """The cell that serves the device, or did last."""
        return self.handovers[-1] if self.handovers else self.cell

    # What happens to it

    def resume_after_poll(self, poll: Participation) -> None:
        """Begin where the device's answer to a poll has ended; it has waited for the other candidates since then."""
        poll.close()
        self.idle_s = poll.idle_s + self.began_s - poll.end_s
        self.began_s = poll.began_s
        self.down = poll.down
        self.up = poll.up
        self.compute_s = poll.compute_s

    def choose_clock(self, cpu_hz: float) -> None:
        """Compute at a clock [Hz] from now on."""
        self.cpu_hz = cpu_hz

    def add_download(self, transfer: TransferResult) -> None:
        """Enter a transfer to the device, after those before it."""
        self.down = transfer.after(self.down)

    def add_upload(self, transfer: TransferResult) -> None:
        """Enter a transfer from the device, after those before it."""
        self.up = transfer.after(self.up)

    def hand_over(self, cell: int) -> None:
        """Be served by another cell from now on."""
        self.handovers = (*self.handovers, cell)

    def finish(self, status: str, time_s: float) -> None:
        """End with a status at a time [s]."""
        self.status = status
        self.end_s = time_s

    def pass_over(self) -> None:
        """Take no part after the poll: the device was asked for its loss, whether it has answered, failed or left."""
        self.status = POLLED

    def stop_waiting(self, time_s: float) -> None:
        """Wait for the round's end no longer than until a time [s]; the earliest counts."""
        self.waits_until_s = min(self.waits_until_s, time_s)

    def measure_battery(self, level_j: float) -> None:
        """Enter the battery's level at the end [J]."""
        self.battery_j = level_j

    def close(self) -> None:
        """End together with the round: nothing happens to it any more."""
        self.closed = True

    # What the device does, in virtual time; each returns "", or the cause of the interrupt that cut it short

    def compute(self, env: simpy.Environment, seconds: float) -> ParticipantProcess:
        """Train, or compute a loss, for some seconds."""
        self._on_activity(self.device, "cpu")
        cause, self.compute_s = yield from _pass(env, seconds, self.compute_s)
        return cause

    def wait_for_server(self, env: simpy.Environment, seconds: float) -> ParticipantProcess:
        """Wait some seconds for the server, which computes its half of the model (split learning)."""
        self._on_activity(self.device, "idle")
        cause, self.server_s = yield from _pass(env, seconds, self.server_s)
        return cause

    def wait(self, env: simpy.Environment, seconds: float) -> ParticipantProcess:
        """Wait some seconds for what is on its way between the server and the base station."""
        self._on_activity(self.device, "idle")
        cause, self.idle_s = yield from _pass(env, seconds, self.idle_s)
        return cause

    def wait_for_backhaul(self, env: simpy.Environment, seconds: float, *, arrives: bool = False) -> ParticipantProcess:
        """Wait while the backhaul carries a message for some seconds.

        An update that has reached the base station `arrives` also when its device leaves meanwhile.
        """
        began_s = env.now
        cause = ""
        while seconds > 0:
            cause = yield from self.wait(env, max(began_s + seconds - env.now, 0.0))
            if not (arrives and cause == DEPARTED):
                break
        return cause


ProcessFactory = Callable[[Participation], ParticipantProcess]  # begins the process of each of several participants


def _pass(env: simpy.Environment, seconds: float, before_s: float) -> Generator[simpy.Event, Any, tuple[str, float]]:
    """Let some seconds pass.

    Args:
        env: the clock.
        seconds: how many.
        before_s: the time that was spent in the same way before [s].

    Returns:
        "", or the cause of the interrupt that came before their end; the time spent in all [s].
    """
    began_s = env.now
    try:
        yield env.timeout(seconds)
    except simpy.Interrupt as interrupt:
        return str(interrupt.cause), before_s + env.now - began_s
    # As planned, to the last digit: a difference of the clock's times has lost some.
    return "", before_s + seconds


def participations(
    drop: Drop,
    positions_m: Floats,
    version: int,
    now_s: float,
    cpu_hz: Floats,
    on_activity: ActivityListener = ignore_activity,
) -> list[Participation]:
    """Return the participations of devices that begin together, in order of the drop.

    Args:
        drop: their large-scale channel [n].
        positions_m: where they are [n, 2].
        version: of the model that they start from.
        now_s: the time [s].
        cpu_hz: their fastest clocks [n].
        on_activity: told when one of them begins to compute or to wait.
    """
    begun = []
    devices = zip(drop.ids.tolist(), positions_m.tolist(), cpu_hz.tolist(), strict=True)
    for row, (device, (x_m, y_m), clock_hz) in enumerate(devices):
        begun.append(Participation(device, drop, row, (x_m, y_m), version, now_s, clock_hz, on_activity))
    return begun
