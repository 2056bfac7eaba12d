"""Selections choose the participants of a round, from what a server can know.

To write a selection:

1. One file in this folder with a subclass of `Selection`. Its fields are its keys under `server.selection`, and the
   first line of its docstring, which names the source, is what `edgefl list selection` prints.
2. `choose`, which returns the ids of a round's participants. It may use only its arguments: the same arguments give the
   same participants. Its random numbers come from `draws`, so that a device's number does not depend on the others.
3. If it learns from round to round: `memory_width`, how many numbers it keeps of each device, and `remember`, which
   makes the next memory of the last one. The server holds the memory, and shows it as `view.memory`.
4. The flags that differ: what devices must report or be asked so that the selection can choose.
5. If it adds columns to results, such as its scores: `round_columns` and `device_columns` (`records/added_columns.py`).
6. One line in the table of contents (`members.csv`), one test in `tests/coordination/`, one row in
   `docs/selection.md`.
"""

import numpy as np
import numpy.typing as npt

from edgefl.coordination.server_view import DeviceReports, ServerView
from edgefl.core.arrays import Floats, Ids, Ints
from edgefl.core.streams import Streams
from edgefl.records.added_columns import AddsColumns

# An attempt's draws are keyed by ids shifted beyond all real ones: there are fewer than 2^40 of these.
ATTEMPT_BITS = 40


class Selection(AddsColumns):
    """Base class of all selections, which may add columns to results.

    The properties are flags, which the server and the checks of a scenario read.
    """

    @property
    def report_floats(self) -> int:
        """Return how many numbers of 32 bits devices upload with each update, so that the selection can choose."""
        return 0

    @property
    def needs_losses(self) -> bool:
        """Return whether it looks at losses, so that the run must learn."""
        return False

    @property
    def needs_batteries(self) -> bool:
        """Return whether it looks at batteries, so that some device must have one."""
        return False

    @property
    def needs_csi(self) -> bool:
        """Return whether it looks at `view.forecast`, so that `server.csi` must let the server know channels."""
        return False

    @property
    def needs_fading(self) -> bool:
        """Return whether it compares the fading of this moment, so that `server.csi` must know more than the mean."""
        return False

    @property
    def needs_deadline(self) -> bool:
        """Return whether it plans for `view.forecast.deadline_s`, so that there must be a `server.deadline_s`."""
        return False

    @property
    def needs_labels(self) -> bool:
        """Return whether it looks at `view.labels`, so that the samples must have classes."""
        return False

    @property
    def count_varies(self) -> bool:
        """Return whether the server's observations decide how many it chooses: `expected` is then the most."""
        return False

    @property
    def memory_width(self) -> int:
        """Return how many numbers of each device it keeps from round to round."""
        return 0

    @property
    def polls(self) -> bool:
        """Return whether `candidates` are asked for the model's loss before participants are chosen."""
        return False

    @property
    def polls_training(self) -> bool:
        """Return whether polled devices train and report the norm of their update, instead of the model's loss.

        The chosen ones then upload their update at once.
        """
        return False

    def check(self, count: int, participants: int) -> str | None:
        """Return why the selection cannot choose `participants` of `count` devices; None if it can."""
        return None

    def expected(self, participants: int, present: float) -> float:
        """Return the expected number of participants of a round when `present` devices can be asked on average."""
        return min(participants, present)

    def asked(self, presence: Floats) -> Floats:
        """Return the probability [devices] that each can be asked in a round, from that of its presence [devices]."""
        return presence

    def candidates(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the ids of the devices to be polled before a round; the arguments are those of `choose`."""
        return present

    def polled_samples(self, samples: Ints) -> Ints:
        """Return on how many of its `samples` [n] each candidate computes its loss."""
        return samples

    def polled_parameters(self, ids: Ids, view: ServerView) -> Ints | None:
        """Return how many parameters [n] each polled device counts in its norm: its largest ones; None: all."""
        return None

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, view: ServerView) -> Ids:
        """Return the ids of a round's participants, in order: the policy `sequential` visits them in that order.

        Args:
            present: [n] ids of the devices that can be asked, ascending; if it polls, of the candidates that answered.
            participants: how many the scenario asks for, at most n.
            index: the round, from 0.
            streams: keyed randomness.
            view: the server's knowledge of all devices; if it `needs_csi`, with a forecast of devices `present`.
        """
        raise NotImplementedError

    def remember(self, memory: Floats, reports: DeviceReports, view: ServerView) -> Floats:
        """Return the memory [devices, k] after a round; called at its end if `memory_width` is not 0.

        Like `choose` it may use only its arguments, and it leaves them as they are.

        Args:
            memory: [devices, k] of the round before; zeros at first.
            reports: of the devices whose participation ended in the round. Energies, levels and losses are nan where no
                update
                has arrived; the energy is all since the device's last report.
            view: the server's knowledge of all devices, with these reports; without a forecast.
        """
        raise NotImplementedError


def draws(ids: Ids, index: int, streams: Streams, attempt: int = 0) -> Floats:
    """Return a uniform number [n] of each device for a round; another attempt gives other numbers."""
    return streams.uniform("selection", ids + (attempt << ATTEMPT_BITS), index)


def lowest(ids: Ids, score: Floats, draw: Floats, count: int) -> Ids:
    """Return the `count` devices of [n] with the lowest scores, in that order; the lower draw comes first in a tie."""
    order = np.lexsort((draw, score))
    return ids[order[:count]]


def weighted(ids: Ids, weights: npt.ArrayLike, draw: Floats, count: int) -> Ids:
    """Return `count` devices of [n], drawn one after another without replacement in proportion to `weights` [n] > 0.

    The smallest of exponential variables with these rates come first (Efraimidis & Spirakis, 2006).
    """
    arrival = -np.log(draw) / np.asarray(weights)
    order = np.argsort(arrival, kind="stable")
    return ids[order[:count]]


def estimated(ids: Ids, observed: Floats, view: ServerView) -> Floats:
    """Return a score [n] of devices [n]: the last one `observed` [devices].

    Devices that have never taken part get -inf, so that they are tried first; those that took part and reported nothing
    get inf.
    """
    never_tried = view.participations[ids] == 0
    unknown = np.where(never_tried, -np.inf, np.inf)
    return np.where(np.isnan(observed[ids]), unknown, observed[ids])
