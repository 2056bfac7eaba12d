"""The view that a measure has of a round that was learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Indices
from edgefl.learning.datasets.base import IGNORED

if TYPE_CHECKING:
    from torch import Tensor

    from edgefl.learning.algorithms import Updates


class ModelOutputs(NamedTuple):
    """Outputs of a model for some samples, with their labels; a measure sees each token or pixel as a sample."""

    outputs: npt.NDArray[np.floating]  # [n, k] what the network gives, such as logits of k classes
    labels: npt.NDArray[Any]  # [n] classes, or [n] or [n, k] numbers
    predicted: Indices | None  # [n] the class that the model predicts; None where samples have no classes

    def only(self, rows: npt.NDArray[Any]) -> ModelOutputs:
        """Return some of the samples, by their numbers or by a mask."""
        predicted = None
        if self.predicted is not None:
            predicted = self.predicted[rows]
        return ModelOutputs(self.outputs[rows], self.labels[rows], predicted)

    def one_by_one(self) -> ModelOutputs:
        """Return each label that counts as a sample of its own, where samples have several: those of tokens or pixels.

        Their outputs are [n, ..., k], labels and predicted classes [n, ...].
        """
        if self.predicted is None or self.labels.ndim == 1:
            return self
        return self.only(self.labels != IGNORED)

    @property
    def classes(self) -> Indices:
        """The predicted classes [n]; raises a ValueError if the samples have none.

        Raises:
            ValueError: the samples have no classes.
        """
        if self.predicted is None:
            raise ValueError("the samples have no classes")
        return self.predicted

    def pairs(self) -> list[tuple[int, int, int]]:
        """Return label, predicted class and number of samples, ascending, for each pair that occurs."""
        pairs, counts = np.unique(np.stack([self.labels, self.classes]), axis=1, return_counts=True)
        return [(*pair, count) for pair, count in zip(pairs.T.tolist(), counts.tolist(), strict=True)]


class WantedContributions(Protocol):
    """The keys of the measure `contributions` that decide what is computed."""

    @property
    def players(self) -> Literal["participants", "all"]:
        """The players: the participants, or all devices with a stored update that counts."""

    @property
    def permutations(self) -> int:
        """Number of random orders, for more than ten players."""

    @property
    def value(self) -> Literal["accuracy", "loss"]:
        """The value of a coalition: the accuracy of its model, or its negative loss."""


class LearnedRound(Protocol):
    """A round that was learned, with its models and updates; vectors hold all parameters of a model, [d]."""

    @property
    def session(self) -> int:
        """Number of the session, from 1."""

    @property
    def number(self) -> int:
        """Number of the round in its session, from 1; an extra round has 0 or less."""

    @property
    def before(self) -> Tensor:
        """The model [d] at the beginning of the round."""

    @property
    def after(self) -> Tensor:
        """The global model [d] at the end of the round."""

    @property
    def updates(self) -> Updates | None:
        """The updates that were aggregated into one model; None if there were none, or each made a new model."""

    @property
    def devices(self) -> Indices:
        """Ids [n] of the devices whose updates these are, ascending."""

    def tensors(self, vector: Tensor) -> Mapping[str, Tensor]:
        """Return the parameters in a vector [d] by the names of their tensors, such as ``layers.0.weight``."""

    def outputs(self) -> ModelOutputs:
        """Return the global model's outputs for the test samples of the classes that the session learns."""

    def outputs_by_device(self) -> Iterator[tuple[int, ModelOutputs]]:
        """Yield each device with the global model's outputs for its test samples (`data.test_partition`).

        If the test set is not divided, its training samples take their place.
        """

    def generator(self, purpose: str) -> np.random.Generator:
        """Return a random generator that depends only on the seed, the round and the purpose."""

    def squared_gradient_norm(self) -> float:
        """Return |grad F|^2 at the present model, F being the mean loss over the session's training samples."""

    def losses_around(self) -> list[tuple[int, float, float, float]]:
        """Return each participant's id with its mean training losses: received, local and new global model."""

    def accuracies_around(self) -> list[tuple[int, int, float, float, float]]:
        """Return each participant's id, number of own samples, and accuracies of the same three models on them."""

    def contributions(self, wanted: WantedContributions) -> list[tuple[int, float]]:
        """Return the id of each player with the Shapley value of its update."""
