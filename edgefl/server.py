"""The server: the one place where world, link, learner and ledger meet, as SimPy processes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import simpy

import channel
from edgefl.device import compute_j, compute_s
from edgefl.ledger import Ledger
from edgefl.payload import Payload
from edgefl.radio import Drop, Link
from edgefl.scenario import Scenario
from edgefl.streams import Streams
from edgefl.world import World

if TYPE_CHECKING:
    from edgefl.learner import Learner, Pending

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Progress = Callable[[Mapping[str, Any]], None]
SESSION = 1


@dataclass(frozen=True)
class Quote:
    """What a round costs each of its participants [n]; known when it begins, as shares and channels hold for it."""

    ids: Ids
    positions_m: Floats  # [n, 2]
    drop: Drop
    download_s: Floats
    compute_s: Floats
    upload_s: Floats
    rx_energy_j: Floats
    cpu_energy_j: Floats
    tx_energy_j: Floats


class Server:
    """Runs rounds as its policy says (see protocols.base.Coordinator).

    Args:
        scenario: the whole scenario.
        world: the devices.
        link: the radio.
        payload: what a participant sends and computes.
        learner: trains; None prices the world without any learning.
        ledger: where finished rounds are entered.
        streams: keyed randomness.
        progress: called with each finished round's row.
    """

    def __init__(
        self,
        scenario: Scenario,
        world: World,
        link: Link,
        payload: Payload,
        learner: Learner | None,
        ledger: Ledger,
        streams: Streams,
        progress: Progress,
    ) -> None:
        self.env = simpy.Environment()
        self.scenario, self.world, self.link, self.payload = scenario, world, link, payload
        self.learner, self.ledger, self.streams, self.progress = learner, ledger, streams, progress
        self.state = scenario.algorithm.server_state(learner.initial) if learner else {}
        self.learning_s = 0.0  # wall-clock
        self._index = -1  # of the running round, from 0
        self._quote: Quote
        self._received: Mapping[str, Any] = {}  # what this round's participants get besides the model
        self._open: deque[tuple[dict[str, Any], Pending | None]] = deque()  # rounds whose evaluation is under way
        self._arrival_s: dict[int, float] = {}

    def running(self) -> bool:
        """Whether another round is to begin: rounds are left, and no stop condition holds."""
        stop, ledger = self.scenario.stop, self.ledger
        self._settle(wait=stop.accuracy is not None)
        accuracy = ledger.rounds[-1]["test_accuracy"] if ledger.rounds else None
        reached = (
            (stop.time_s is not None and ledger.time_s >= stop.time_s)
            or (stop.energy_j is not None and ledger.energy_j >= stop.energy_j)
            or (stop.accuracy is not None and accuracy is not None and accuracy >= stop.accuracy)
        )
        return len(ledger.rounds) < self.scenario.rounds and not reached

    def select(self) -> Ids:
        """Begin a round."""
        self._index += 1
        self._arrival_s = {}
        self.ledger.event(self.env.now, "round_start")
        present = self.world.present(self.env.now)
        section = self.scenario.server
        return section.selection.choose(present, self.scenario.participants, self._index, self.streams)

    def dispatch(self, ids: Ids) -> list[simpy.Process]:
        """Send the model to the participants: one process each."""
        self._received = self.scenario.algorithm.downlink(self.state) if self.learner else {}
        quote = self._quote = self._price(np.sort(ids))
        row_of = {int(device): row for row, device in enumerate(quote.ids)}
        return [self.env.process(self._participate(int(device), row_of[int(device)])) for device in ids]

    def _price(self, ids: Ids) -> Quote:
        """Channels, durations and energies of a round, vectorised over its participants (eq. 20 to 28, 42 to 44)."""
        world, payload = self.world, self.payload
        positions = world.positions_m(ids, self.env.now)
        drop = self.link.drop(ids, positions, world.height_m[ids], self._index)
        fading = self.link.fading(ids, world.speed_mps[ids], self._index)
        flops, cpu_hz, per_cycle = payload.flops[ids], world.cpu_hz[ids], world.flops_per_cycle[ids]
        tx_power_w = channel.units.dbm_to_w(world.tx_power_dbm[ids])
        computing_s = compute_s(flops, cpu_hz, per_cycle)
        download_s = self.link.download_s(np.full(len(ids), payload.down_bits), drop, fading)
        upload_s = self.link.upload_s(np.full(len(ids), payload.up_bits), tx_power_w, drop, fading, computing_s)
        return Quote(
            ids=ids,
            positions_m=positions,
            drop=drop,
            download_s=download_s,
            compute_s=computing_s,
            upload_s=upload_s,
            rx_energy_j=world.rx_power_w[ids] * download_s,
            cpu_energy_j=compute_j(flops, cpu_hz, per_cycle, world.capacitance[ids]),
            tx_energy_j=tx_power_w * upload_s,
        )

    def _participate(self, device: int, row: int) -> Generator[simpy.Event, Any, None]:
        """A participant's round: download, train, upload."""
        quote, env = self._quote, self.env
        yield env.timeout(float(quote.download_s[row]))
        self.ledger.event(env.now, "download_end", device)
        self._submit(device)
        yield env.timeout(float(quote.compute_s[row]))
        self.ledger.event(env.now, "compute_end", device)
        yield env.timeout(float(quote.upload_s[row]))
        self.ledger.event(env.now, "upload_end", device)
        self._arrival_s[device] = env.now

    def _submit(self, device: int) -> None:
        """Hand the job to the learner; nothing is computed before a result is needed."""
        if self.learner is None:
            return
        self.learner.submit(device, self._index, self.state["w"], self._received)

    def aggregate(self) -> None:
        """End the round: learn from what has arrived, evaluate, enter it into the ledger."""
        began = time.perf_counter()
        learned, evaluation = self._learn()
        self.learning_s += time.perf_counter() - began
        quote, previous = self._quote, self.ledger
        arrived = np.array([self._arrival_s[int(device)] for device in quote.ids])
        spent_j = float((quote.rx_energy_j + quote.cpu_energy_j + quote.tx_energy_j).sum())
        down, up = int(self.payload.down_bits) // 8, int(self.payload.up_bits) // 8
        count = len(quote.ids)
        row = {
            "session": SESSION,
            "round": self._index + 1,
            "time_s": self.env.now,
            "duration_s": self.env.now - previous.time_s,
            "energy_j": previous.energy_j + spent_j,
            "round_energy_j": spent_j,
            "selected": count,
            "received": count,
            "late": 0,
            "departed": 0,
            "bytes_down": down * count,
            "bytes_up": up * count,
            **learned,
        }
        self.ledger.event(self.env.now, "round_end")
        self.ledger.close_round(row, _device_columns(self._index + 1, quote, self.env.now - arrived, down, up))
        self._open.append((row, evaluation))

    def _learn(self) -> tuple[dict[str, float | None], Pending | None]:
        """Train and aggregate, and have the result evaluated in the background; the learning columns of the round."""
        columns: dict[str, float | None] = {"train_loss": None, "test_loss": None, "test_accuracy": None}
        if self.learner is None:
            return columns, None
        updates, train_loss = self.learner.collect()
        self.state = self.learner.aggregate(self.state, updates)
        number, section = self._index + 1, self.scenario
        wanted = number % section.report.eval_every == 0 or number == section.rounds
        return {**columns, "train_loss": train_loss}, self.learner.evaluate(self.state["w"]) if wanted else None

    def _settle(self, *, wait: bool) -> None:
        """Enter evaluations that are ready, or all of them, into their rounds, in order."""
        began = time.perf_counter()
        while self._open and (wait or (evaluation := self._open[0][1]) is None or evaluation.done()):
            row, evaluation = self._open.popleft()
            if evaluation is not None:
                _enter(row, evaluation)
            self.progress(row)
        self.learning_s += time.perf_counter() - began

    def finish(self) -> Floats | None:
        """Wait for all evaluations, of which the last round always has one; the final model's accuracy by device."""
        self._settle(wait=True)
        rounds = self.ledger.rounds
        if self.learner is None:
            return None
        try:
            if rounds and rounds[-1]["test_loss"] is None:
                _enter(rounds[-1], self.learner.evaluate(self.state["w"]))
            return self.learner.device_accuracies(self.state["w"]) if rounds else None
        finally:
            self.learner.close()


def _enter(row: dict[str, Any], evaluation: Pending) -> None:
    test = evaluation.result()
    row.update({"test_loss": test.loss, "test_accuracy": test.accuracy, **test.extra})


def _device_columns(number: int, quote: Quote, wait_s: Floats, down: int, up: int) -> dict[str, npt.NDArray[Any]]:
    """A round's participants as the columns of devices.csv."""
    count = len(quote.ids)
    return {
        "session": np.full(count, SESSION),
        "round": np.full(count, number),
        "device": quote.ids,
        "cell": np.zeros(count, dtype=np.int64),
        "distance_m": quote.drop.distance_m,
        "los": quote.drop.los,
        "pathloss_db": quote.drop.pathloss_db,
        "download_s": quote.download_s,
        "compute_s": quote.compute_s,
        "upload_s": quote.upload_s,
        "wait_s": wait_s,
        "rx_energy_j": quote.rx_energy_j,
        "cpu_energy_j": quote.cpu_energy_j,
        "tx_energy_j": quote.tx_energy_j,
        "status": np.full(count, "received"),
        "bytes_down": np.full(count, down),
        "bytes_up": np.full(count, up),
        "x_m": quote.positions_m[:, 0],
        "y_m": quote.positions_m[:, 1],
        "shadowing_db": quote.drop.shadowing_db,
    }
