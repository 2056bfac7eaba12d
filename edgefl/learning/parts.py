"""The key `training.parts`: which parameters of a model train, which travel, and which stay at the devices."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, NamedTuple

from pydantic import Field, model_validator

from edgefl.core.section import IF_GIVEN, Count, Section, fault, nearest

Patterns = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)]
MOST_NAMES = 8  # that a message lists


class Division(NamedTuple):
    """The names of a model's parameters by what becomes of them, each in the module's order."""

    sent: tuple[str, ...]  # trained, and sent each way
    kept: tuple[str, ...]  # trained, and kept by each device
    frozen: tuple[str, ...]  # never trained
    first: tuple[str, ...] = ()  # the only ones that train in the first steps of a round; the others follow


class PartsError(ValueError):
    """A pattern or a division that does not fit the model; `key` is the key below `training.parts`."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key


class FirstPart(Section):
    """The only part that trains at the beginning of a round's local work; in the rest of it only the others train."""

    train: Patterns  # Parameters that train first; the other trained ones follow.
    epochs: Annotated[Count | None, IF_GIVEN] = None  # Passes of this part, out of training.local_epochs.
    steps: Annotated[Count | None, IF_GIVEN] = None  # Steps of this part, out of training.local_steps.

    @model_validator(mode="after")
    def _check_one_length(self) -> FirstPart:
        if (self.epochs is None) == (self.steps is None):
            raise fault("needs either epochs or steps, of local_epochs or of local_steps: give one of them")
        return self


class ModelParts(Section):
    """Parts of the model, by names of torch's `state_dict`: a parameter, a layer with all of its own, or a pattern."""

    # Parameters that train; the others keep their first values. By default all train, or only the adapters.
    train: Annotated[Patterns | None, IF_GIVEN] = None
    # Trained parameters that travel; by default all that are not kept.
    send: Annotated[Patterns | None, IF_GIVEN] = None
    # Trained parameters that stay at each device, as in FedPer and FedBN; by default all that are not sent.
    keep: Annotated[Patterns | None, IF_GIVEN] = None
    # The only parameters that train at the beginning of a round's local work, as the heads of FedRep.
    first: Annotated[FirstPart | None, IF_GIVEN] = None

    @property
    def keeps(self) -> bool:
        """Whether devices may keep trained parameters or statistics."""
        return self.keep is not None or self.send is not None

    def divide(self, names: Sequence[str], trainable: Sequence[str], statistics: Sequence[str] = ()) -> Division:
        """Return what becomes of the parameters `names`; the `trainable` ones train unless `train` says otherwise.

        Patterns of `keep` may also match `statistics` of batch normalisation.

        Raises:
            PartsError: a pattern matches nothing, a parameter is both sent and kept or neither, none is sent, or all
                train first.
        """
        trained = set(trainable)
        if self.train is not None:
            trained = matching("train", self.train, names)
        free = [name for name in names if name in trained]
        kept: set[str] = set()
        if self.keep is not None:
            kept = matching("keep", self.keep, [*free, *statistics])
        sent = set(free) - kept
        if self.send is not None:
            sent = matching("send", self.send, free)
            if self.keep is None:
                kept = set(free) - sent
        for name in free:
            if name in sent and name in kept:
                raise PartsError("keep", f"{name} is in send, too: leave it out of one of the two")
            if name not in sent and name not in kept:
                raise PartsError("send", f"{name} trains, and neither send nor keep names it: leave one of the two out")
        if not sent:
            raise PartsError("keep", "leaves nothing to send: keep fewer parameters")
        return Division(
            sent=tuple(name for name in free if name in sent),
            kept=tuple(name for name in free if name in kept),
            frozen=tuple(name for name in names if name not in trained),
            first=self._first_of(free),
        )

    def _first_of(self, free: Sequence[str]) -> tuple[str, ...]:
        if self.first is None:
            return ()
        first = matching("first.train", self.first.train, free)
        if first.issuperset(free):
            raise PartsError("first.train", "leaves nothing to train in the rest of the round: name fewer parameters")
        return tuple(name for name in free if name in first)

    def keeps_statistics(self, statistics: Sequence[str]) -> bool:
        """Return whether `keep` names the statistics of batch normalisation; all of them, or none.

        Raises:
            PartsError: it names only some of them.
        """
        if self.keep is None or not statistics:
            return False
        left = [name for name in statistics if not any(matches(name, pattern) for pattern in self.keep)]
        if not left:
            return True
        if len(left) < len(statistics):
            raise PartsError("keep", f"has some of the statistics, and not {left[0]}: name all of them or none")
        return False


def matches(name: str, pattern: str) -> bool:
    """Return whether a pattern names a parameter, or a layer that holds it."""
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"{pattern}.*")


def matching(key: str, patterns: Sequence[str], names: Sequence[str]) -> set[str]:
    """Return the names that some pattern matches.

    Raises:
        PartsError: a pattern matches none; its key is `key`.
    """
    found: set[str] = set()
    for pattern in patterns:
        matched = {name for name in names if matches(name, pattern)}
        if not matched:
            which = "of the model" if key == "train" else "that is trained"
            text = f"{pattern!r} names no parameter {which}{nearest(pattern, names)}; {_listed(names)}"
            raise PartsError(key, text)
        found |= matched
    return found


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(names[:MOST_NAMES])
    if len(names) > MOST_NAMES:
        return f"there are {len(names)}, such as {listed}"
    return f"there are {listed}"
