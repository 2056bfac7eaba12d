"""The loss of sequences that are not aligned with what they describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from edgefl.learning.losses.base import Loss

if TYPE_CHECKING:
    from torch import Tensor


class Ctc(Loss):
    """Connectionist temporal classification (Graves et al., ICML 2006): torch's `ctc_loss` of each sample.

    A row of labels is a shorter sequence, such as a text, filled up at its end with labels that do not count. Each of
    the network's T outputs is a class of the sequence or a blank. A sequence that T outputs cannot spell costs 0.
    """

    labels: ClassVar[Literal["classes", "numbers", "any"]] = "classes"
    of_all_labels: ClassVar[bool] = True

    blank: Annotated[int, Field(ge=0)] = 0  # Class of the blank, which no label has.

    def of_samples(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each sample [...] from outputs [..., T, n] and labels [..., T]."""
        import torch

        rows = labels.flatten(0, -2)
        times, classes = outputs.shape[-2:]
        log_chances = outputs.log_softmax(-1).reshape(-1, times, classes).transpose(0, 1)
        losses = torch.nn.functional.ctc_loss(
            log_chances,
            rows.clamp(min=0),
            torch.full((len(rows),), times),
            (rows >= 0).sum(-1).cpu(),
            blank=self.blank,
            reduction="none",
            zero_infinity=True,
        )
        return losses.view(labels.shape[:-1])
