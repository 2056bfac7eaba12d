"""Training plans: results name the one that was used, as plans differ from each other by rounding."""

from dataclasses import dataclass

from edgefl.learning.training_engines import Kernel


@dataclass(frozen=True)
class Plan:
    """One way to train."""

    engine: str  # the module of a row of ENGINES
    kernel: Kernel
    width: int  # clients that are trained together

    def __str__(self) -> str:
        return f"{self.engine}, {self.kernel}, {self.width} at once"


class CannotBatchError(Exception):
    """A kernel cannot train the module's clients together, such as torch.func.vmap one that branches on values."""


SERIAL = Plan("serial", "autograd", 1)
