"""The base of losses.

A loss compares what a model gives for a sample with the sample's label. To add one: a file with a subclass of `Loss`
whose `of_samples` returns the loss of each sample, a line in `__init__.py`, a test. The fields of the class are its
keys in `training.loss`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy.typing as npt

from edgefl.core.catalogue import Member

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


class Loss(Member):
    """Base of all losses."""

    labels: ClassVar[Literal["classes", "numbers", "any"]] = "any"  # what it takes; numbers are those of a regression

    @property
    def takes_log_probabilities(self) -> bool:
        """True if outputs must be logarithms of probabilities, which only some networks give."""
        return False

    def of_samples(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each sample [...].

        The leading axes are those of samples, and in training of clients before them. A sample's loss depends on its
        own outputs and label alone, so that clients and batches may be stacked in any way.

        Args:
            outputs: [..., n] what the model gives.
            labels: [...] classes or numbers, or [..., k] numbers.
        """
        raise NotImplementedError

    def refusal(self, outputs: int, labels: npt.NDArray[np.generic]) -> str | None:
        """Return why the loss cannot be used; None if it can.

        Args:
            outputs: n, numbers that the model gives for a sample.
            labels: [samples] or [samples, k] some of the labels.
        """
        return None  # what a loss of ours takes is known without a trial
