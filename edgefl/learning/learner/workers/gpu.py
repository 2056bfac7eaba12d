"""GPUs: torch's flags while a learner computes there, and the context of a thread that computes on one."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import finalize

import torch

from edgefl.core.errors import RunError

Value = TypeVar("Value")


@dataclass(frozen=True)
class _Flags:
    """Torch's flags for computations on GPUs, as the program has set them."""

    deterministic: bool
    benchmark: bool
    convolutions: bool | None  # whether cuDNN may round factors to TF32; None: see `_if_told`
    products: str | None  # precision of products: highest, high or medium; None: see `_if_told`
    precisions: tuple[str, ...]  # the same by newer names, of `_sections`

    @classmethod
    def now(cls) -> "_Flags":
        cudnn = torch.backends.cudnn
        return cls(
            deterministic=cudnn.deterministic,
            benchmark=cudnn.benchmark,
            convolutions=_if_told(lambda: bool(cudnn.allow_tf32)),
            products=_if_told(torch.get_float32_matmul_precision),
            precisions=tuple(section.fp32_precision for section in _sections()),
        )

    def restore(self) -> None:
        torch.backends.cudnn.deterministic = self.deterministic
        torch.backends.cudnn.benchmark = self.benchmark
        # Older names first: they set the newer ones, too.
        if self.convolutions is not None:
            torch.backends.cudnn.allow_tf32 = self.convolutions
        if self.products is not None:
            torch.set_float32_matmul_precision(self.products)
        for section, precision in zip(_sections(), self.precisions, strict=True):
            section.fp32_precision = precision


def _sections() -> tuple[Any, ...]:
    """Return the parts of torch's backends that have a precision of their own and follow older names."""
    backends: Any = torch.backends
    return backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn, backends.mkldnn.matmul


def _if_told(read: Callable[[], Value]) -> Value | None:
    """Return a flag by its older name; None where the program uses the newer names, after which torch refuses."""
    try:
        return read()
    except RuntimeError:
        return None


class _Holders:
    """The learners that compute on GPUs now, and the flags from before the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._exact = True
        self._before: _Flags | None = None

    def hold(self, *, exact: bool) -> None:
        """Set the flags, or check that another learner has set the same."""
        with self._lock:
            if self._count and exact != self._exact:
                raise RunError(
                    "training.precision: this program has an open run on a GPU with another one, and torch multiplies "
                    "either in float32 or in tf32: close that run first, or set the same precision"
                )
            if not self._count:
                self._before = _Flags.now()
                self._exact = exact
                _set(exact=exact)
            self._count += 1

    def release(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count and self._before is not None:
                self._before.restore()


_holders = _Holders()


class FlagsForGpus:
    """Torch's flags for a learner on GPUs: the same work gives the same bytes each time."""

    def __init__(self) -> None:
        self._held: finalize[..., Any] | None = None

    def hold(self, learner: object, *, exact: bool) -> None:
        """Set the flags, which the program gets back when the last such learner is closed, or is dropped.

        cuDNN chooses among its deterministic routines, by rule. With `exact` GPUs multiply float32 as IEEE 754 says;
        otherwise they round the factors to TF32, as cuDNN does by default.

        Raises:
            RunError: an open learner multiplies in the other way, which holds for the whole program.
        """
        _holders.hold(exact=exact)
        self._held = finalize(learner, _holders.release)

    def release(self) -> None:
        """Give up the flags; after the last learner they are as before."""
        if self._held is not None:
            self._held()


def _set(*, exact: bool) -> None:
    cudnn = torch.backends.cudnn
    cudnn.deterministic = True
    cudnn.benchmark = False  # it would choose routines by their times
    # By the older names, which set the newer ones, too: torch refuses products where they disagree.
    cudnn.allow_tf32 = not exact
    torch.backends.cuda.matmul.allow_tf32 = not exact


_contexts = threading.local()  # `devices` of a thread: GPUs on which it has computed


@contextmanager
def on_device(device: torch.device) -> Iterator[None]:
    """Let the calling thread compute on a device; on a GPU it is torch's current one in the context."""
    if device.type != "cuda":
        yield
        return
    with torch.cuda.device(device):
        _begin_context(device)
        yield


def _begin_context(device: torch.device) -> None:
    """Make CUDA's context current in this thread, and in that of torch's backward passes, if it is not yet.

    A kernel does that, but a product of cuBLAS does not: as a thread's first work it makes torch warn that there is no
    current context.
    """
    if not hasattr(_contexts, "devices"):
        _contexts.devices = set()
    if device in _contexts.devices:
        return
    x = torch.ones(1, device=device, requires_grad=True)
    (x * x).sum().backward()  # type: ignore[no-untyped-call]
    _contexts.devices.add(device)
