"""The base of losses, which compare a model's outputs for a sample with the sample's label.

To add one: a file with a subclass of `Loss` whose `of_samples` returns the loss of each sample, a line in
`members.csv`, a test. The fields of the class are its keys in `training.loss`.
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

    of_all_labels: ClassVar[bool] = False
    """True if the loss of a sample is one of all its labels together, such as the pixels of a mask.

    Then `of_samples` takes outputs [..., L, n] and labels [..., L]; those below 0 do not count.
    """

    whole_batches: ClassVar[bool] = False  # whether it is of a mini-batch as a whole; see `BatchLoss`

    def takes_log_probabilities(self, outputs: int, labels: npt.NDArray[np.generic]) -> bool:
        """Return whether the n `outputs` must be logarithms of probabilities, which only some networks give.

        `labels` [samples, ...] are some of those that `refusal` has accepted.
        """
        return False

    def of_samples(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each sample [...] from outputs [..., n] and labels: classes or numbers [...], or [..., k].

        The last leading axis counts samples; training adds clients before it. A sample's loss must depend only on its
        own outputs and label, so that clients and batches can be stacked in any way.
        """
        raise NotImplementedError

    @property
    def weighs_classes(self) -> bool:
        """True if a sample's weight follows from its class, so that each sample must have one."""
        return False

    def sample_weights(self, labels: npt.NDArray[np.generic]) -> npt.NDArray[np.float64] | None:
        """Return the weight [n] of each training sample in its mini-batch's mean loss, from all labels [n].

        The mean divides by the sum of the weights. None: all samples count alike.
        """
        return None

    def refusal(self, outputs: int, labels: npt.NDArray[np.generic]) -> str | None:
        """Return why the loss cannot take n `outputs` and some of the labels [samples, ...]; None if it can."""
        return None  # edgefl's losses need no trial


class BatchLoss(Loss):
    """Base of losses of a mini-batch as a whole, such as contrastive ones; clients then train one after another.

    `test_loss` is a mean over parts of the test samples, weighted by their sizes.
    """

    whole_batches: ClassVar[bool] = True

    def of_batch(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of a mini-batch, one number, from outputs [B, n] and labels [B] or [B, k]."""
        raise NotImplementedError

    def of_samples(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of the mini-batch for each of its samples [B], whose mean it is."""
        return self.of_batch(outputs, labels).expand(outputs.shape[:-1])
