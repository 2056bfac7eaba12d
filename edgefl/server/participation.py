"""One device's participation in a round, from the download of the model to the upload of the update, and its cost."""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import simpy

from edgefl.coordination.policies.base import DEPARTED
from edgefl.core.arrays import Floats, Ids
from edgefl.radio.backhaul_links import Message
from edgefl.radio.carriers.roaming import HANDOVER_FAILED
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.radio.transfers import NOT_BEGUN, TransferResult, Way
from edgefl.records.statuses import (
    ANSWERED,
    EVALUATED,
    EVALUATION_FAILED,
    OUT_OF_MEMORY,
    POLLED,
    RECEIVED,
    REPORTED,
)
from edgefl.world.world import World

ARRIVED = (RECEIVED, ANSWERED, POLLED, EVALUATED)  # outcomes of processes whose last message has arrived
FAILED = ("download_failed", "upload_failed", HANDOVER_FAILED)

Activity = Literal["setup", "cpu", "idle"]
ParticipantProcess = Generator[simpy.Event, Any, str]  # a participation in virtual time; returns its status


class Meter:
    """Base of what follows participations for the energy that they cost; each method does nothing by default."""

    def on_activity(self, device: int, activity: Activity) -> None:
        """Note that a device begins to set up, to compute or to wait."""

    def on_transfer(self, part: Participation, way: Way, transfer: TransferResult) -> None:
        """Note that a transfer has ended now, at `part.last_transfer_s`; its device is in the cell `part.serving`."""


class SetUp(NamedTuple):
    """The cost of setting up before a participation: starting the app, its libraries and its data."""

    seconds: float = 0.0
    joules: float = 0.0


NO_SETUP = SetUp()


@dataclass(kw_only=True, eq=False, slots=True)
class Participation:
    """The times, transfers and status of one device in one round, recorded as they happen.

    Other modules read the attributes, and change them by methods only.
    """

    device: int
    drop: Drop  # the large-scale channel of all devices that begin together
    row: int  # of the device in `drop`
    position_m: tuple[float, float]  # (x, y) when it begins
    version: int  # of the model that it starts from: the number of aggregations before
    began_s: float
    cpu_hz: float  # the highest clock at first, later the clock at which it computes
    tx_power_w: float
    setup: SetUp = NO_SETUP
    meters: Sequence[Meter] = ()  # follow what it costs
    lacks_memory: bool = False  # whether it cannot hold a step of training

    cell: int = field(init=False)  # the serving cell when it began
    serving: int = field(init=False)  # the cell that serves the device, or served it last
    downloaded_with: Drop = field(init=False)  # of the devices that began to download together
    down: TransferResult = field(default=NOT_BEGUN, init=False)
    up: TransferResult = field(default=NOT_BEGUN, init=False)
    setup_share: float = field(default=0.0, init=False)  # how much of its set-up is done
    compute_s: float = field(default=0.0, init=False)
    server_s: float = field(default=0.0, init=False)  # waited for the server to compute, in split learning
    idle_s: float = field(default=0.0, init=False)  # waited for the radio, the backhaul, or other devices
    last_transfer_s: float = field(default=float("-inf"), init=False)  # when its last transfer ended
    end_s: float = field(default=float("nan"), init=False)
    # One of `records.statuses`, one of FAILED, or the cause of an interrupt; "" until it ends
    status: str = field(default="", init=False)
    arrived: bool = field(default=False, init=False)  # whether its last message has arrived, even if it was dropped
    handovers: tuple[int, ...] = field(default=(), init=False)  # the cells that it was handed over to, in order
    link_failures: int = field(default=0, init=False)
    # A device waits for the round's end, unless it runs out of charge, leaves or is asked again before.
    waits_until_s: float = field(default=float("inf"), init=False)
    closed: bool = field(default=False, init=False)  # whether its round has ended
    battery_j: float = field(default=float("nan"), init=False)  # level when the participation ended; nan on mains

    def __post_init__(self) -> None:
        self.cell = int(self.drop.cell[self.row])
        self.serving = self.cell
        self.downloaded_with = self.drop

    @property
    def setup_spent(self) -> SetUp:
        """The time and the energy that it has spent to set up."""
        return SetUp(self.setup.seconds * self.setup_share, self.setup.joules * self.setup_share)

    @property
    def gone(self) -> bool:
        """True if the device does not wait for the round's end, as it has left, refused, or was not chosen."""
        return self.status in (DEPARTED, OUT_OF_MEMORY, POLLED, REPORTED)

    # Its course

    def resume_after_poll(self, poll: Participation) -> None:
        """Continue from the device's answer to a poll, which has downloaded the model already."""
        poll.close()
        # The device has waited for the other candidates since its answer.
        self.idle_s = poll.idle_s + self.began_s - poll.end_s
        self.began_s = poll.began_s
        self.setup_share = poll.setup_share
        self.downloaded_with = poll.downloaded_with
        self.down = poll.down
        self.up = poll.up
        self.compute_s = poll.compute_s

    def choose_clock(self, cpu_hz: float) -> None:
        """Record the clock [Hz] at which the device computes from now on."""
        self.cpu_hz = cpu_hz

    def add_download(self, transfer: TransferResult, time_s: float) -> None:
        """Add a transfer to the device, which has ended now, to those before it."""
        self.down = transfer.after(self.down)
        self._end_transfer("down", transfer, time_s)

    def add_upload(self, transfer: TransferResult, time_s: float) -> None:
        """Add a transfer from the device, which has ended now, to those before it."""
        self.up = transfer.after(self.up)
        self._end_transfer("up", transfer, time_s)

    def _end_transfer(self, way: Way, transfer: TransferResult, time_s: float) -> None:
        self.idle_s += transfer.access_s
        self.last_transfer_s = time_s
        for meter in self.meters:
            meter.on_transfer(self, way, transfer)

    def hand_over(self, cell: int) -> None:
        """Record that another cell serves the device from now on."""
        self.handovers = (*self.handovers, cell)
        self.serving = cell

    def lose_link(self) -> None:
        """Record that the radio link has failed."""
        self.link_failures += 1

    def reestablish(self, cell: int) -> None:
        """Record that a cell serves the device after a failure of its link; this does not count as a handover."""
        self.serving = cell

    def finish(self, status: str, time_s: float, *, arrived: bool = False) -> None:
        """Record how and when [s] the participation ended, and whether its last message has arrived."""
        self.status = status
        self.arrived = arrived
        self.end_s = time_s

    def report(self, transfer: TransferResult, began_s: float) -> None:
        """Record that the device has reported its channel, by a transfer from a time [s] on, and does nothing else."""
        self.began_s = began_s
        self.up = transfer
        self.finish(REPORTED, began_s + transfer.duration_s)

    def pass_over(self) -> None:
        """Record that the device was polled and not chosen, whether it answered, failed or left."""
        self.status = POLLED

    def end_evaluation(self) -> None:
        """Record that the participation, which has ended, was an evaluation of the round's new model."""
        if self.arrived:
            return
        if self.gone:
            self.stop_waiting(self.end_s)
        self.status = EVALUATION_FAILED

    def stop_waiting(self, time_s: float) -> None:
        """Record a time [s] at which the device stopped waiting for the round's end; the earliest one counts."""
        self.waits_until_s = min(self.waits_until_s, time_s)

    def measure_battery(self, level_j: float) -> None:
        """Record the battery's level when the participation ended [J]."""
        self.battery_j = level_j

    def close(self) -> None:
        """Record that the round has ended, after which nothing changes any more."""
        self.closed = True

    def _begin_activity(self, activity: Activity) -> None:
        for meter in self.meters:
            meter.on_activity(self.device, activity)

    # The device's activities in virtual time; each returns "", or the cause of the interrupt that cut it short

    def set_up(self, env: simpy.Environment) -> ParticipantProcess:
        """Set up before the first message: all other activities come later."""
        if self.setup == NO_SETUP:
            return ""
        self._begin_activity("setup")
        cause = ""
        passed_s = 0.0
        if self.setup.seconds > 0:
            cause, passed_s = yield from _pass(env, self.setup.seconds, 0.0)
        self.setup_share = 1.0
        if cause:
            self.setup_share = passed_s / self.setup.seconds
        self._begin_activity("idle")
        return cause

    def compute(self, env: simpy.Environment, seconds: float) -> ParticipantProcess:
        """Compute for some seconds: training, or the loss that a poll asks for."""
        self._begin_activity("cpu")
        cause, self.compute_s = yield from _pass(env, seconds, self.compute_s)
        return cause

    def wait_for_server(self, env: simpy.Environment, seconds: float) -> ParticipantProcess:
        """Wait some seconds for the server, which computes its half of the model (split learning)."""
        self._begin_activity("idle")
        cause, self.server_s = yield from _pass(env, seconds, self.server_s)
        return cause

    def _wait_for(self, env: simpy.Environment, event: simpy.Event) -> ParticipantProcess:
        self._begin_activity("idle")
        began_s = env.now
        cause = ""
        try:
            yield event
        except simpy.Interrupt as interrupt:
            cause = str(interrupt.cause)
        self.idle_s += env.now - began_s
        return cause

    def wait_for_backhaul(
        self, env: simpy.Environment, message: Message | None, *, arrives: bool = False
    ) -> ParticipantProcess:
        """Wait while the backhaul carries a message; without one go on at once.

        With `arrives` the message arrives even if the device leaves: an update that the base station has.
        """
        if message is None:
            return ""
        cause = yield from self._wait_for(env, message.arrival)
        while arrives and cause == DEPARTED:
            cause = yield from self._wait_for(env, message.arrival)
        if cause:
            message.withdraw()
        return cause


ProcessFactory = Callable[[Participation], ParticipantProcess]  # makes each participant's process


def sent_by_cells(
    parts: Sequence[Participation], seconds: Callable[[TransferResult], float], *, broadcast: bool
) -> list[tuple[int, float]]:
    """Return the cell and the `seconds` of each download that cells have sent.

    A broadcast is sent once, until the last device of the cell has received it that began together with others.
    """
    if not broadcast:
        return [(part.cell, seconds(part.down)) for part in parts]
    longest_s: dict[tuple[int, int], float] = {}
    for part in parts:
        key = (id(part.downloaded_with), part.cell)
        longest_s[key] = max(longest_s.get(key, 0.0), seconds(part.down))
    return [(cell, longest) for (_, cell), longest in longest_s.items()]


def _pass(env: simpy.Environment, seconds: float, before_s: float) -> Generator[simpy.Event, Any, tuple[str, float]]:
    """Let some seconds pass, after `before_s` in the same way; return the cause of an interrupt, and the sum."""
    began_s = env.now
    try:
        yield env.timeout(seconds)
    except simpy.Interrupt as interrupt:
        return str(interrupt.cause), before_s + env.now - began_s
    # Add the planned time, which is exact: a difference of two times of the clock has lost its last digits.
    return "", before_s + seconds


def participations(
    *,
    world: World,
    link: Link,
    ids: Ids,
    tx_power_w: Floats,
    version: int,
    now_s: float,
    index: int,
    meters: Sequence[Meter] = (),
    lacking: Container[int] = (),
) -> list[Participation]:
    """Return the participations of devices [n], ascending, that begin together.

    Args:
        world: the devices.
        link: the radio over which they take part.
        ids: the devices; at least one.
        tx_power_w: the powers [n] at which they transmit [W].
        version: number of aggregations before.
        now_s: the time [s].
        index: it keys the draws of their large-scale channel.
        meters: follow what they cost.
        lacking: the devices that cannot hold a step of training.
    """
    positions_m = world.positions_m(ids, now_s)
    drop = link.drop(ids, positions_m, world.height_m[ids], index)
    columns = (ids, positions_m, world.cpu_hz[ids], tx_power_w, world.setup_s[ids], world.setup_j[ids])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    begun = []
    for row, (device, (x_m, y_m), clock_hz, power_w, setup_s, setup_j) in enumerate(rows):
        begun.append(
            Participation(
                device=device,
                drop=drop,
                row=row,
                position_m=(x_m, y_m),
                version=version,
                began_s=now_s,
                cpu_hz=clock_hz,
                tx_power_w=power_w,
                setup=SetUp(setup_s, setup_j),
                meters=meters,
                lacks_memory=device in lacking,
            )
        )
    return begun
