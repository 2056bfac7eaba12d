"""The cross-entropy of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeFloat

from edgefl.learning.losses.base import Loss

if TYPE_CHECKING:
    from torch import Tensor


ClassWeights = Literal["balanced"] | Annotated[tuple[NonNegativeFloat, ...], Field(strict=False)] | None


class CrossEntropy(Loss):
    """Cross-entropy of the softmax of the outputs (torch's `cross_entropy`): the loss of classes, and the default."""

    labels: ClassVar[Literal["classes", "numbers", "any"]] = "classes"

    # Weight of each class in training; balanced gives all classes the same sum of weights. As in torch, the mean of a
    # mini-batch divides by the sum of its weights.
    class_weights: ClassWeights = None

    @property
    def weighs_classes(self) -> bool:
        """True with `class_weights`."""
        return self.class_weights is not None

    def sample_weights(self, labels: npt.NDArray[np.generic]) -> npt.NDArray[np.float64] | None:
        """Return the weight [n] of each sample's class; balanced is `n / (K n_c)` for n_c samples of class c."""
        if self.class_weights is None:
            return None
        classes = labels.astype(np.int64)
        if self.class_weights != "balanced":
            return np.array(self.class_weights)[classes]
        counts = np.bincount(classes)
        return np.asarray(len(classes) / (np.count_nonzero(counts) * counts[classes]))

    def refusal(self, outputs: int, labels: npt.NDArray[np.generic]) -> str | None:
        """Return that there must be a weight for each class, if there is none."""
        if not isinstance(self.class_weights, tuple) or len(self.class_weights) == outputs:
            return None
        return f"class_weights must be {outputs} numbers, one for each class, got {len(self.class_weights)}"

    def of_samples(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each sample [...] from outputs [..., classes] and labels [...]."""
        from torch.nn.functional import cross_entropy

        # torch wants one axis of samples; clients' and batches' axes come back below
        flat = cross_entropy(outputs.flatten(0, -2), labels.flatten(), reduction="none")
        return flat.view(labels.shape)
