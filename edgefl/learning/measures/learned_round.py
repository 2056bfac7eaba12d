"""What a measure sees of a round that was learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Indices

if TYPE_CHECKING:
    from torch import Tensor

    from edgefl.learning.algorithms import Updates


class ModelOutputs(NamedTuple):
    """What a model gives for some samples, and their labels."""

    outputs: npt.NDArray[np.floating]  # [n, k] what the network gives, such as logits of k classes
    labels: npt.NDArray[Any]  # [n] classes, or [n] or [n, k] numbers
    predicted: Indices | None  # [n] the class that the model predicts; None where samples have no classes

    def only(self, rows: npt.NDArray[Any]) -> ModelOutputs:
        """Return some of the samples, by their numbers or by a mask."""
        predicted = None
        if self.predicted is not None:
            predicted = self.predicted[rows]
        return ModelOutputs(self.outputs[rows], self.labels[rows], predicted)


class WantedContributions(Protocol):
    """Which contributions are computed: see the measure `contributions`."""

    @property
    def players(self) -> Literal["participants", "all"]:
        """Who the players are: the participants, or all devices with a stored update that counts."""

    @property
    def permutations(self) -> int:
        """Number of random orders, for more than ten players."""

    @property
    def value(self) -> Literal["accuracy", "loss"]:
        """What a coalition's model is worth: its accuracy, or its negative loss."""


class LearnedRound(Protocol):
    """A round that was learned, with its models and updates, and what can be asked about them.

    Vectors are flat: all parameters of the model in one [d].
    """

    @property
    def session(self) -> int:
        """Number of the session, from 1."""

    @property
    def number(self) -> int:
        """Number of the round in its session, from 1; an extra round has 0 or less."""

    @property
    def before(self) -> Tensor:
        """The model [d] with which the round has begun."""

    @property
    def after(self) -> Tensor:
        """The global model [d] that the round has made."""

    @property
    def updates(self) -> Updates | None:
        """The updates that were aggregated into one model; None if there were none, or each had a model of its own."""

    @property
    def devices(self) -> Indices:
        """Ids [n] of the devices whose updates these are, ascending."""

    def tensors(self, vector: Tensor) -> Mapping[str, Tensor]:
        """Return the parameters in a vector [d] by the names of their tensors, such as ``layers.0.weight``."""

    def outputs(self) -> ModelOutputs:
        """Return what the global model gives for the test samples, of the classes that the session learns."""

    def outputs_by_device(self) -> Iterator[tuple[int, ModelOutputs]]:
        """Yield each device with what the global model gives for its own samples.

        These are test samples if the test set is divided (`data.test_partition`), otherwise its training samples.
        """

    def generator(self, purpose: str) -> np.random.Generator:
        """Return a generator of random numbers that depends on the seed, the round and the purpose alone."""

    def squared_gradient_norm(self) -> float:
        """Return |grad F|^2 at the present model, F being the mean loss over the session's training samples."""

    def losses_around(self) -> list[tuple[int, float, float, float]]:
        """Return each participant's id with its mean training losses: received model, its own, the new global one."""

    def predictions(self) -> list[tuple[int, int, int]]:
        """Return label, predicted class and number of test samples, ascending, where there are any."""

    def contributions(self, wanted: WantedContributions) -> list[tuple[int, float]]:
        """Return the id of each player with the Shapley value of its update."""
