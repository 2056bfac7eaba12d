"""Builds the processes of participants that begin together: their messages, links and local computation."""

from dataclasses import dataclass

import numpy as np
import simpy

from edgefl.coordination.server_section import DeviceEvaluationSection, ServerSection
from edgefl.core.arrays import Floats, Ids
from edgefl.learning.codecs.base import BITS_PER_FLOAT
from edgefl.learning.payload import Payload, SplitPayload
from edgefl.learning.workload import Workload
from edgefl.radio.backhaul_links import BackhaulLinks
from edgefl.radio.carriers.carrier import Carrier
from edgefl.radio.drop import Drop
from edgefl.radio.link import Link
from edgefl.radio.messages import round_trip
from edgefl.radio.participants import Participants
from edgefl.records.ledger import Ledger
from edgefl.records.statuses import EVALUATED, POLLED
from edgefl.server.handover import Roaming
from edgefl.server.held_samples import HeldSamples
from edgefl.server.participant_processes import Exchange, ParticipantProcesses
from edgefl.server.participation import ProcessFactory
from edgefl.server.reach import Reach
from edgefl.server.split_learning_processes import SplitLearningProcesses, split_messages, split_turns
from edgefl.world.cells_section import Handover
from edgefl.world.compute import LocalComputation
from edgefl.world.world import World


@dataclass(kw_only=True, eq=False)
class Dispatcher:
    """Builds the participants' processes; remembers which devices already have the per-session payload."""

    env: simpy.Environment
    section: ServerSection  # the section `server` of the scenario
    world: World
    link: Link
    polling: Link  # the radio for polls, with separate draws
    backhaul: BackhaulLinks  # that carries participants' messages between the server and the base stations
    handover: Handover | None  # when devices change their base stations; None if they do not
    payload: Payload  # what a participant sends and computes
    split: SplitPayload | None  # the same for each half of a model that is cut in two; None if it is not cut
    workload: Workload  # how much a participant trains
    held: HeldSamples  # how many samples a participant has in a round
    ledger: Ledger
    reach: Reach  # refuses a run if no device can finish

    def __post_init__(self) -> None:
        self._roaming: Roaming | None = None
        if self.handover is not None:
            self._roaming = Roaming(self.env, self.ledger, self.world, self.link, self.handover)
        self._equipped: set[int] = set()  # devices that have downloaded the per-session payload
        self._begun: set[int] = set()  # devices that have downloaded the model's frozen parameters

    @property
    def hands_over(self) -> bool:
        """True if devices may change their base stations while they take part."""
        return self._roaming is not None

    @property
    def links_fail(self) -> bool:
        """True if radio links may fail while devices take part."""
        return self._roaming is not None and self._roaming.section.radio_link_failure is not None

    # The per-session payload

    def begin_session(self) -> None:
        """Note that a session begins, whose payload no device has yet."""
        self._equipped.clear()

    def note_download(self, device: int) -> None:
        """Note that a device's download has arrived, with the payload that is sent once."""
        self._equipped.add(device)
        self._begun.add(device)

    def forget(self, ids: Ids) -> None:
        """Note that devices [n] have lost the payload that is sent once."""
        lost = set(ids.tolist())
        self._equipped -= lost
        self._begun -= lost

    # Sizes of messages

    @property
    def model_parameters(self) -> int:
        """The number of parameters of the model that a device trains."""
        return int(self.payload.model_bits / BITS_PER_FLOAT)

    def expected(self, ids: Ids) -> Exchange:
        """Return the messages and operations of devices [n] if they take part, as far as they can be known before."""
        # Not even the device knows before whether it straggles in a round.
        down_bits = self._with_what_is_sent_once(self.payload.down_bits, ids)
        return Exchange(down_bits, self.payload.sent_bits(ids), self.payload.flops[ids])

    def samples(self, ids: Ids) -> Floats:
        """Return how many training samples devices [n] hold."""
        return self.held.own_sizes(ids)

    # Processes of participants

    def processes(self, drop: Drop, index: int, number: int, *, polled: bool = False) -> ProcessFactory:
        """Return the factory of the processes of devices [n] that begin together.

        Args:
            drop: their large-scale channel [n].
            index: of the selection that chose them; it keys the radio's draws.
            number: number of rounds that have ended; it keys the workload's draws.
            polled: whether they have answered a poll before, which may have been by training.
        """
        if self.split is not None:
            return self._split_processes(self.split, drop, index, number)
        down_bits = self._with_what_is_sent_once(self.payload.down_bits, drop.ids)
        up_bits = self.payload.sent_bits(drop.ids)
        flops = self._training_flops(drop.ids, number)
        if polled and self.section.selection.polls_training:
            flops = np.zeros(len(drop.ids))
        computing = self._computing(drop, flops, down_bits, up_bits)
        return self._round_trip(self.link, drop, index, computing, Exchange(down_bits, up_bits, flops))

    def exchanges(self, drop: Drop, index: int, exchange: Exchange) -> ProcessFactory:
        """Return the factory of the processes of devices [n] that exchange messages of any size."""
        flops = self.world.as_long_as_now(drop.ids, exchange.flops, index, self.env.now)
        computing = self._computing(drop, flops, exchange.down_bits, exchange.up_bits)
        return self._round_trip(self.link, drop, index, computing, exchange)

    def _round_trip(
        self, link: Link, drop: Drop, index: int, computing: LocalComputation, exchange: Exchange
    ) -> ProcessFactory:
        participants = self._participants(link, drop, index)
        messages = round_trip(len(participants), exchange.down_bits, exchange.up_bits, computing.durations_s)
        self.reach.look(participants, messages)
        if self._roaming is not None:
            roamer = link.roam(self.env, participants, messages, self._roaming.section)
            carrier = link.after_access(self.env, roamer, participants, messages)
            processes = self._ordinary(carrier, computing, exchange)
            return self._roaming.during(processes, roamer)
        carrier = link.open(self.env, participants, messages)
        return self._ordinary(carrier, computing, exchange)

    def _split_processes(self, split: SplitPayload, drop: Drop, index: int, number: int) -> ProcessFactory:
        """Return the factory of split learning's processes: devices train the model's front, the server its back."""
        server_flops_per_s = self.section.flops_per_s or float("inf")  # by default the server takes no time
        device_flops_per_s = self.world.flops_per_s(drop.ids).tolist()
        steps = self.workload.steps(drop.ids, number).tolist()
        turns = []
        for device, flops_per_s, count in zip(drop.ids.tolist(), device_flops_per_s, steps, strict=True):
            turns.append(split_turns(split, device, flops_per_s, server_flops_per_s, int(count)))
        messages = split_messages(turns)
        participants = self._participants(self.link, drop, index)
        self.reach.look(participants, messages)
        carrier = self.link.open(self.env, participants, messages)
        return SplitLearningProcesses(self.env, self.ledger, carrier, turns)

    def poll_processes(self, drop: Drop, index: int, samples: Ids) -> ProcessFactory:
        """Return the factory of polled devices [n]: each computes its loss on `samples` [n], and uploads that."""
        return self._answers(drop, index, self.payload.forward_flops(drop.ids, samples))

    def trained_poll_processes(self, drop: Drop, index: int, number: int) -> ProcessFactory:
        """Return the factory of polled devices [n] that train as in round `number`, and upload their update's norm."""
        return self._answers(drop, index, self._training_flops(drop.ids, number))

    def evaluation_processes(
        self, drop: Drop, index: int, link: Link, section: DeviceEvaluationSection
    ) -> ProcessFactory:
        """Return the factory of the processes of devices [n] that evaluate the round's new model, and do not train.

        Each downloads the model, without the payload of training, computes its loss on some of its own samples, and
        uploads an answer.

        Args:
            drop: their large-scale channel [n].
            index: it keys the radio's draws.
            link: the radio over which they do so.
            section: the share of samples, and the size of the answer.
        """
        held = self.samples(drop.ids)
        samples = np.minimum(held, np.maximum(np.rint(section.samples * held), 1))
        flops = self.payload.forward_flops(drop.ids, samples)
        down_bits = self._with_what_is_sent_once(self.payload.model_bits, drop.ids)
        up_bits = float(section.answer_bits + self.section.csi.update_bits)
        # A clock that follows the deadline leaves the answer a whole slot, and the time until one begins.
        deadline_s = (section.deadline_s or self._deadline_s) - 2 * self.link.radio.slot_s
        computing = self._computing(drop, flops, down_bits, up_bits, deadline_s)
        return self._round_trip(link, drop, index, computing, Exchange(down_bits, up_bits, flops, EVALUATED))

    def _training_flops(self, ids: Ids, number: int) -> Floats:
        """Return the operations [n] of the local training of devices [n] that begin now, after `number` rounds."""
        flops = self.payload.flops_in(ids, number, self.workload, self.held.sizes(ids, number))
        return self.world.as_long_as_now(ids, flops, number, self.env.now)

    def _answers(self, drop: Drop, index: int, flops: Floats) -> ProcessFactory:
        """Return the factory of processes that download the model, compute, and upload one number."""
        down_bits = self._with_what_is_sent_once(self.payload.down_bits, drop.ids)
        up_bits = float(BITS_PER_FLOAT + self.section.csi.update_bits)
        computing = self._computing(drop, flops, down_bits, up_bits)
        # Polls have a separate link: a poll and the participation that may follow it must not share draws.
        candidates = self._participants(self.polling, drop, index)
        messages = round_trip(len(candidates), down_bits, up_bits, computing.durations_s)
        carrier = self.polling.open(self.env, candidates, messages)
        return self._ordinary(carrier, computing, Exchange(down_bits, up_bits, flops, POLLED))

    def _ordinary(self, carrier: Carrier, computing: LocalComputation, exchange: Exchange) -> ProcessFactory:
        return ParticipantProcesses(self.env, self.ledger, carrier, computing, self.backhaul, exchange, self._broadcast)

    @property
    def _broadcast(self) -> bool:
        return self.link.radio.downlink == "broadcast"

    # Parts of a process: local computation, participants, payload, peer

    def _computing(
        self,
        drop: Drop,
        flops: Floats,
        down_bits: Floats | float,
        up_bits: Floats | float,
        deadline_s: float | None = None,
    ) -> LocalComputation:
        """Return the local computation of devices [n] between their downloads and uploads.

        Args:
            drop: their large-scale channel [n].
            flops: their operations [n].
            down_bits: the sizes of their downloads, one for all or [n].
            up_bits: the sizes of their uploads, in the same form.
            deadline_s: for all of it; None: the round's deadline.
        """
        down = np.broadcast_to(down_bits, flops.shape)
        up = np.broadcast_to(up_bits, flops.shape)
        # Setting up, access and time on the backhaul do not depend on the clock: they come off the deadline first.
        # Which other messages will be on the backhaul is not known before, so this counts none.
        routes = self.backhaul.routes
        backhaul_s = routes.one_way_s(down, drop.cell) + routes.one_way_s(up, drop.cell)
        access_s = self.link.access_s("down", down) + self.link.access_s("up", up)
        if deadline_s is None:
            left_s = self._deadline_s - backhaul_s - access_s - self.world.setup_s[drop.ids]
        else:  # of an evaluation, before which a device has set up already
            left_s = deadline_s - backhaul_s - access_s
        if not self.world.dvfs.needs_deadline:
            return self.world.computing(drop.ids, flops, left_s)
        # A device chooses its clock after its download, and estimates the upload from how long the download took.
        reciprocity = self.link.reciprocity(drop, self.world.tx_power_w(drop.ids), down, up)
        return self.world.computing(drop.ids, flops, left_s, reciprocity.upload_s)

    @property
    def _deadline_s(self) -> float:
        return self.section.deadline_s or float("inf")

    def _participants(self, link: Link, drop: Drop, index: int) -> Participants:
        speeds_mps = self.world.speeds_mps(drop.ids, self.env.now)
        return link.participants(drop, speeds_mps, self.world.tx_power_w(drop.ids), index)

    def _with_what_is_sent_once(self, bits: float, ids: Ids) -> Floats | float:
        """Return downloads of devices [n] [bits], with the payload that is sent once for devices that lack it."""
        payload = self.payload
        down_bits: Floats | float = bits
        for once_bits, have in ((payload.once_bits, self._equipped), (payload.first_bits, self._begun)):
            if once_bits:
                down_bits = np.where(np.isin(ids, list(have)), 0.0, once_bits) + down_bits
        return down_bits
