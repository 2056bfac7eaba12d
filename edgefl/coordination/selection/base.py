"""What a selection is: who takes part in a round, from what a server can know."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgefl.coordination.server_view import ServerView
from edgefl.core.arrays import Floats, Ids
from edgefl.core.catalogue import Member
from edgefl.core.streams import Streams


class Selection(Member):
    """Base of all selections."""

    @property
    def reports(self) -> int:
        """Numbers of 32 bits that devices send with each update so that it can choose."""
        return 0

    @property
    def by_loss(self) -> bool:
        """Whether it looks at losses, so that something must be learned."""
        return False

    @property
    def by_battery(self) -> bool:
        """Whether it looks at batteries, so that some device must have one."""
        return False

    @property
    def polls(self) -> bool:
        """Whether `candidates` say which loss the model has on their samples before participants are chosen."""
        return False

    def check(self, count: int, participants: int) -> str | None:
        """Why this selection cannot choose so many participants of `count` devices; None if it can."""
        return None

    def expected(self, participants: int, present: float) -> float:
        """Participants of a round that are to be expected where so many devices are there on average."""
        return min(participants, present)

    def candidates(self, present: Ids, participants: int, index: int, streams: Streams, known: ServerView) -> Ids:
        """The ids of those who are polled before round `index`; arguments as in `choose`."""
        return present

    def polled_samples(self, samples: Ids) -> Ids:
        """On how many of its `samples` [n] each candidate computes its loss."""
        return samples

    def choose(self, present: Ids, participants: int, index: int, streams: Streams, known: ServerView) -> Ids:
        """The ids of round `index`'s participants, in order (sequential protocols walk in that order).

        Args:
            present: [n] ids of the devices in the cell; where it polls, of the candidates that have answered.
            participants: how many the scenario asks for.
            index: the round, from 0.
            streams: keyed randomness.
            known: what the server knows of all devices.
        """
        raise NotImplementedError


def draws(ids: Ids, index: int, streams: Streams, attempt: int = 0) -> Floats:
    """A uniform number [n] of each device in a round; another one for each attempt."""
    return streams.uniform("selection", ids + (attempt << 40), index)


def lowest(ids: Ids, score: Floats, draw: Floats, count: int) -> Ids:
    """The `count` devices of [n] with the lowest scores, in that order; ties are drawn."""
    return ids[np.lexsort((draw, score))[:count]]


def weighted(ids: Ids, weights: npt.ArrayLike, draw: Floats, count: int) -> Ids:
    """`count` devices of [n], one after another without replacement, with chances by positive weights [n].

    The smallest of exponential variables with these rates come first (Efraimidis & Spirakis, 2006).
    """
    return ids[np.argsort(-np.log(draw) / np.asarray(weights), kind="stable")[:count]]


def estimated(ids: Ids, observed: Floats, known: ServerView) -> Floats:
    """What is to be expected of devices [n] by what was `observed` [devices] last.

    Whoever has never taken part is explored first; of whom nothing was heard in spite of it, nothing is expected.
    """
    unknown = np.where(known.parts[ids] == 0, -np.inf, np.inf)
    return np.where(np.isnan(observed[ids]), unknown, observed[ids])
