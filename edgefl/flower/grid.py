"""Flower's grid in virtual time: a ServerApp's messages travel over our radio to our devices and back."""

import math
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from flwr.app import Error, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.server import SimpleClientManager
from flwr.serverapp import Grid
from flwr.supercore.run import Run, RunNotRunningException

from edgefl.coordination.policies.base import finish_moment
from edgefl.core.errors import RunError
from edgefl.flower.clients import Clients, device_of, node_of
from edgefl.flower.message_size import bits_of
from edgefl.flower.metrics import RoundMetrics
from edgefl.flower.operations import EVALUATE, TRAIN, category
from edgefl.flower.virtual_time import EPOCH_S
from edgefl.records.statuses import ANSWERED, RECEIVED
from edgefl.runs.emulation import Emulation
from edgefl.server.clock import Event, Process
from edgefl.server.participant_processes import Exchange

LOOK_EVERY_S = 5.0  # as often as Flower's thread updates the list of nodes
UNFINISHED = "unfinished"  # interrupts participations that are under way when the app ends
MOST_IDLE_CALLS = 10_000  # in a row, while virtual time stands still
THREADS = "the app uses its grid in several threads, which cannot be repeated: send messages from its main function"
PATIENCE = 3  # how often an app may sleep over the same nodes before one sleep lasts until the next device arrives


@dataclass(eq=False)
class Errand:
    """A message on its way: to a device, and back as its answer."""

    message: Message
    device: int
    sent_s: float
    arrived: Event  # succeeds when the app can pull the answer
    answer: Message | None = None

    @property
    def category(self) -> str:
        """The kind of work that the message asks for: train, evaluate, or something else."""
        return category(self.message)

    @property
    def expires_s(self) -> float:
        """The virtual time [s] after which an answer comes too late."""
        return self.sent_s + float(self.message.metadata.ttl)


class VirtualGrid(Grid):
    """Carries a ServerApp's messages in virtual time, which passes only while the app waits.

    A message to a busy device waits for its turn. A round begins with train messages, and ends when the app sends train
    messages again after at least one of them was answered or given up. Those of one group, which Flower uses as the
    number of a round, belong to one round: secure aggregation sends several to each device.

    Args:
        emulation: the run.
        clients: run the ClientApp.
        metrics: collects what replies say about the model.
        run: Flower's own description of the run.
    """

    def __init__(self, emulation: Emulation, clients: Clients, metrics: RoundMetrics, run: Run) -> None:
        self._emulation = emulation
        self._server = emulation.server
        self._clock = emulation.server.env
        self._clients = clients
        self._metrics = metrics
        self._run = run
        self._numbers = count(1)
        self._errands: dict[str, Errand] = {}  # by message id, until the answer is pulled
        self._under_way: dict[int, Process] = {}  # by device
        self._waiting: defaultdict[int, deque[Errand]] = defaultdict(deque)  # messages to devices under way
        self._round_is_open = False
        self._round_group = ""  # the group of the open round's first messages; "" is none
        self._round_has_trained = False  # whether devices have been asked to train in the open round
        self._round_may_end = False  # whether one of them has answered, or was given up
        self._idle = (-1.0, "", 0)  # time, kind and number of calls in a row that found nothing new
        self._known_nodes: list[int] = []
        self._looked: list[int] | None = None  # the nodes that the app has just looked at
        self._before: list[int] | None = None  # those that it had looked at before it slept last
        self._waits = 0  # how often in a row it has slept over the same nodes
        self._thread = threading.get_ident()
        self._has_unrecorded = False  # whether a participation has begun that is in no recorded round

    # Flower's interface

    def set_run(self, run: Run) -> None:
        """Set the run."""
        self._run = run

    @property
    def run(self) -> Run:
        """The run."""
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        """Return a new message."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        """Return the nodes of the devices that are present now."""
        if threading.get_ident() != self._thread:
            # A workflow's thread looks every five seconds of real time: it sees what the app has seen last.
            if self._emulation.status != "running":
                raise RunNotRunningException
            return self._known_nodes
        nodes = [node_of(device) for device in self._server.present().tolist()]
        self._note_idle("nodes")
        self._looked = nodes
        self._known_nodes = nodes
        return nodes

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send messages now; return their ids."""
        return [errand.message.metadata.message_id for errand in self._push(messages)]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the answers that have arrived and were not pulled before, in the order of their messages.

        An app that pulls repeatedly without sleeping continues at the next arrival.
        """
        self._check_thread()
        wanted = set(message_ids)
        errands = [errand for number, errand in self._errands.items() if number in wanted]
        answers = self._pulled(errands)
        if answers:
            return answers
        pending = [errand.arrived for errand in errands]
        if self._note_idle("pull") > 1 and pending:
            self._advance(self._clock.any_of(pending))
            answers = self._pulled(errands)
        return answers

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        """Send messages, wait for all answers, at most `timeout` [s] of virtual time, and return the answers.

        They are in the order of their messages, so that sums over them do not depend on the order of arrival.
        """
        if timeout is not None and math.isnan(timeout):
            raise ValueError("timeout must be a number of seconds, got nan")
        errands = self._push(messages)
        answered = self._clock.all_of([errand.arrived for errand in errands])
        if timeout is None:
            self._advance(answered)
        else:
            self._advance(answered | self._clock.timeout(max(timeout, 0.0)))
            if any(errand.answer is None for errand in errands):
                self._advance(self._clock.process(finish_moment(self._clock)))  # an answer at the deadline is in time
            self._round_may_end = True
        return self._pulled(errands)

    def _check_thread(self) -> None:
        """Check that the app uses the grid in the thread of its main function."""
        if threading.get_ident() != self._thread:
            self._emulation.stop("failed", THREADS)
            raise RunError(THREADS)

    # Virtual time

    def now_s(self) -> float:
        """Return the virtual time [s]."""
        return float(self._clock.now)

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass while the ServerApp sleeps.

        Raises:
            RunError: it waits for devices, and none will ever arrive.
        """
        if self._looked is None or self._under_way or self._looked != self._before:
            self._waits = 0
        else:
            self._waits += 1
        self._before = self._looked
        self._looked = None
        if self._waits > PATIENCE:
            # It would look again after every few seconds, perhaps for days, so it sleeps until a device arrives.
            seconds *= max(math.ceil(self._wait_for_device_s() / seconds), 1)
        self._advance(self.now_s() + seconds)

    def wait_for_clients(self) -> Callable[..., bool]:
        """Return a client manager's method that waits for nodes in virtual time; Flower's waits in real time."""

        # The names of the arguments are Flower's.
        def wait_for(manager: SimpleClientManager, num_clients: int, timeout: float = 86400) -> bool:
            give_up_s = self.now_s() + timeout
            while manager.num_available() < num_clients:
                if self.now_s() >= give_up_s:
                    return False
                self.sleep(LOOK_EVERY_S)
            return True

        return wait_for

    def _wait_for_device_s(self) -> float:
        """Return the seconds until another device arrives."""
        present = len(self._server.present())
        try:
            wait_s = self._server.wait_for_device_s()
        except RunError:
            wait_s = 0.0
        if wait_s <= 0:
            raise RunError(
                f"the ServerApp waits for more devices than the {present} that are present at {self.now_s():g} s, and "
                "no others will arrive: let it ask for fewer (min_available_nodes), or change devices.count or churn"
            )
        return wait_s

    def _advance(self, until: Event | float) -> None:
        """Let virtual time pass."""
        if not self._emulation.advance(until):
            raise RunError(self._emulation.error or "the run has ended")

    def _note_idle(self, kind: str) -> int:
        """Note a call that found nothing new; return how many followed each other at this time.

        Raises:
            RunError: the app calls endlessly, and lets no time pass.
        """
        now_s = self.now_s()
        calls = 1
        if self._idle[:2] == (now_s, kind):
            calls += self._idle[2]
        self._idle = (now_s, kind, calls)
        if calls > MOST_IDLE_CALLS:
            raise RunError(
                f"the ServerApp has asked {MOST_IDLE_CALLS:,} times in a row at {now_s:g} s without waiting for "
                "anything: let it sleep between calls, or stop asking for answers that it has received"
            )
        return calls

    def _note_news(self) -> None:
        self._idle = (-1.0, "", 0)
        self._looked = None

    # Messages

    def _push(self, messages: Iterable[Message]) -> list[Errand]:
        self._check_thread()
        batch = []
        for message in messages:
            metadata = message.metadata
            if not metadata.ttl > 0:  # refuses NaN, too
                raise ValueError(f"the ttl of a message must be > 0 s, got {metadata.ttl}")
            metadata.__dict__["_message_id"] = str(next(self._numbers))
            metadata.__dict__["_run_id"] = self._run.run_id
            metadata.created_at = EPOCH_S + self.now_s()
            errand = Errand(message, device_of(metadata.dst_node_id), self.now_s(), self._clock.event())
            self._errands[metadata.message_id] = errand
            batch.append(errand)
        self._note_news()
        present = set(self._server.present().tolist())
        reachable = [errand for errand in batch if errand.device in present]
        for errand in batch:
            if errand.device in present:
                self._clock.process(self._expire(errand))
            else:
                self._fail(errand, ErrorCode.NODE_UNAVAILABLE, "the device is not present")
        groups = [errand.message.metadata.group_id for errand in reachable if errand.category == TRAIN]
        if groups:
            self._enter_round(groups[0])
        self._send(reachable)
        return batch

    def _send(self, errands: Sequence[Errand]) -> None:
        beginning: dict[int, Errand] = {}
        for errand in errands:
            if errand.device in self._under_way or errand.device in beginning:
                self._waiting[errand.device].append(errand)
            else:
                beginning[errand.device] = errand
        ordered = [beginning[device] for device in sorted(beginning)]
        for trains in (True, False):
            group = [errand for errand in ordered if (errand.category == TRAIN) == trains]
            if group:
                self._begin(group, trains=trains)

    def _begin(self, errands: Sequence[Errand], *, trains: bool) -> None:
        """Begin the participations of free devices, in order of their ids.

        A ClientApp's answer does not depend on the time, so it runs now, and the size of its answer is known.
        """
        if self._under_way and self._emulation.scenario.radio.sharing == "fixed":
            raise RunError(
                "radio.sharing: fixed prices messages that are sent together, and the app sends some while others are "
                f"under way (at {self.now_s():g} s): set radio.sharing: processor"
            )
        number = len(self._server.ledger.rounds) + 1
        answers = [self._clients.answer(errand.device, errand.message, number) for errand in errands]
        exchange = Exchange(
            down_bits=np.array([bits_of(errand.message.content) for errand in errands]),
            up_bits=np.array([_bits_of_reply(answer.reply) for answer in answers]),
            flops=np.array([answer.flops for answer in answers]),
            outcome=RECEIVED if trains else ANSWERED,
            on_computed=self._clients.note_computed,
        )
        ids = np.array([errand.device for errand in errands], dtype=np.int64)
        refill = trains and self._round_has_trained
        processes = self._server.exchange(ids, exchange, refill=refill)
        self._has_unrecorded = True
        if trains:
            self._round_has_trained = True
        for errand, answer, process in zip(errands, answers, processes, strict=True):
            self._under_way[errand.device] = process
            process.callbacks.append(partial(self._end, errand, answer.reply))

    def _end(self, errand: Errand, reply: Message, process: Event) -> None:
        if not process.ok:
            return  # the event loop raises the failure
        del self._under_way[errand.device]
        status = str(process.value)
        if errand.category == TRAIN:
            self._round_may_end = True
        if status in (RECEIVED, ANSWERED):
            self._note_metrics(errand, reply)
            self._answer(errand, reply)
        elif status != UNFINISHED:
            self._fail(errand, ErrorCode.NODE_UNAVAILABLE, f"the device's part ended early: {status}")
        self._send_next(errand.device)

    def _send_next(self, device: int) -> None:
        waiting = self._waiting[device]
        while waiting:
            errand = waiting.popleft()
            if errand.answer is not None:  # it has expired
                continue
            if device in self._server.present():
                self._send([errand])
                return
            self._fail(errand, ErrorCode.NODE_UNAVAILABLE, "the device is not present")

    def _expire(self, errand: Errand) -> Any:
        """Answer a message with an error when its time to live ends, as Flower's server does."""
        yield self._clock.timeout(errand.message.metadata.ttl) | errand.arrived
        if errand.answer is None:
            self._fail(errand, ErrorCode.MESSAGE_UNAVAILABLE, "the message has expired")
            if errand.category == TRAIN:
                self._round_may_end = True

    def _fail(self, errand: Errand, code: int, reason: str) -> None:
        received = errand.message.metadata.created_at
        errand.message.metadata.created_at = datetime.now(UTC).timestamp()  # or the error would expire
        reply = Message(Error(code, f"{reason} (device {errand.device})"), reply_to=errand.message)
        errand.message.metadata.created_at = received
        self._answer(errand, reply)

    def _answer(self, errand: Errand, reply: Message) -> None:
        if errand.answer is not None:
            return
        metadata = reply.metadata
        metadata.__dict__["_message_id"] = str(next(self._numbers))
        metadata.created_at = EPOCH_S + self.now_s()
        metadata.ttl = errand.expires_s - self.now_s()
        errand.answer = reply
        errand.arrived.succeed()

    def _pulled(self, errands: Iterable[Errand]) -> list[Message]:
        """Return the answers that have arrived, and forget their messages."""
        answers = []
        for errand in errands:
            if errand.answer is not None:
                del self._errands[errand.message.metadata.message_id]
                answers.append(errand.answer)
        if answers:
            self._note_news()
        return answers

    def _note_metrics(self, errand: Errand, reply: Message) -> None:
        if not reply.has_content():
            return
        metrics: dict[str, Any] = {}
        # Clients of a workflow send their metrics in a configuration.
        for records in (reply.content.config_records, reply.content.metric_records):
            for record in records.values():
                metrics.update(record)
        if errand.category == TRAIN:
            self._metrics.note_update(metrics)
        elif errand.category == EVALUATE:
            self._metrics.note_answer(metrics)

    # Rounds

    def _enter_round(self, group: str) -> None:
        """Begin a round with the next train messages, of a group, unless they belong to the open round."""
        is_same_group = group != "" and group == self._round_group
        if self._round_is_open and (is_same_group or not self._round_may_end):
            return
        self._close_round()
        self._metrics.take()  # a test before the first round belongs to no round
        self._begin_round(group)

    def _begin_round(self, group: str = "") -> None:
        self._advance(self._clock.process(self._server.ready()))
        self._round_is_open = True
        self._round_group = group
        self._round_has_trained = False
        self._round_may_end = False

    def _close_round(self) -> None:
        """End the open round, if it has any cost, and enter the metrics of its model."""
        if not self._round_is_open or not self._has_unrecorded:
            return
        self._round_is_open = False
        self._has_unrecorded = bool(self._under_way)
        self._server.aggregate()
        self._server.ledger.enter_evaluation(len(self._server.ledger.rounds) - 1, self._metrics.take())

    def end(self) -> None:
        """End the last round, and interrupt what is still under way, as when the server is switched off.

        Messages other than training that belong to no round get a separate round, so that their cost is recorded.
        """
        running = self._emulation.status == "running"
        if running and self._has_unrecorded and not self._round_is_open and self._server.ledger.last_row is None:
            self._begin_round()
        self._waiting.clear()
        if self._round_is_open and (self._round_may_end or not self._round_has_trained):
            self._close_round()
        if not running:  # the event loop has stopped, and nothing under way can end
            return
        processes = list(self._under_way.values())
        for process in processes:
            process.interrupt(UNFINISHED)
        if processes:
            self._advance(self._clock.all_of(processes))
        self._close_round()
        self._server.close()


def _bits_of_reply(reply: Message) -> float:
    """Return the bits of a reply; an error has the size of an empty message."""
    return bits_of(reply.content if reply.has_content() else RecordDict())
