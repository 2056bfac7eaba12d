"""Training plans, and the fastest one by trials.

Results name the plan that was used, as plans differ from each other by rounding.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

log = logging.getLogger("edgefl")

WORTH = 0.95  # a plan must take less than this share of a simpler one's time to be preferred
COHORT_WIDTHS = {"cpu": (1, 2, 4, 8, 16, 32), "cuda": (1, 4, 16, 64, 256, 1024)}
GROWTH = 4  # the largest step from one width to the next, for which memory must be left
SLOWER = 1.3  # wider cohorts of a family are not tried once a step takes this multiple of the family's best time
HOPELESS = 3  # nor once it takes this multiple of the best time of all


Together = Literal["layers", "triton", "vmap"]  # kernels that compute the gradients of several clients


@dataclass(frozen=True)
class Plan:
    """One way to train."""

    engine: Literal["serial", "batched"]
    kernel: Literal["autograd"] | Together
    width: int  # clients that are trained together

    def __str__(self) -> str:
        return f"{self.engine}, {self.kernel}, {self.width} at once"


@dataclass(frozen=True)
class Trial:
    """Time and memory that a plan took."""

    step_s: float  # for one step of one client
    client_bytes: float  # memory for one client


class CannotBatchError(Exception):
    """A kernel cannot train the module's clients together, such as torch.func.vmap one that branches on values."""


SERIAL = Plan("serial", "autograd", 1)


def candidates(kernels: Iterable[Together], device: str, *, serial: bool) -> list[list[Plan]]:
    """Return the plans that are worth a trial, simplest first; each list has more and more clients together.

    With `serial` one client after another is allowed, too.
    """
    families = [[Plan("batched", kernel, width) for width in COHORT_WIDTHS[device]] for kernel in kernels]
    if serial:
        return [[SERIAL], *families]
    return families


def fastest(families: list[list[Plan]], attempt: Callable[[Plan], Trial], limit_bytes: float) -> Plan:
    """Return the fastest plan; wider cohorts are tried as long as that helps and they fit into `limit_bytes`.

    Raises:
        MemoryError: not even the first plan can be tried.
        CannotBatchError: no plan can train the module.
    """
    best = families[0][0]
    best_s = float("inf")
    refused: CannotBatchError | None = None
    for family in families:
        family_best_s = float("inf")
        for plan in family:
            try:
                trial = attempt(plan)
            except MemoryError:
                break  # wider cohorts need still more
            except CannotBatchError as error:
                refused = error  # no width helps; the next family may do
                break
            log.debug("%s: %.3g s a step, %.3g MB a client", plan, trial.step_s, trial.client_bytes / 1e6)
            needed_bytes = plan.width * trial.client_bytes
            fits = plan.width == 1 or needed_bytes <= limit_bytes
            if fits and trial.step_s < best_s * WORTH:
                best = plan
                best_s = trial.step_s
            wider_fits = fits and GROWTH * needed_bytes <= limit_bytes
            too_slow = trial.step_s > SLOWER * family_best_s or trial.step_s > HOPELESS * best_s
            if not wider_fits or too_slow:
                break
            family_best_s = min(family_best_s, trial.step_s)
    if best_s == float("inf"):
        raise refused or MemoryError
    return best
