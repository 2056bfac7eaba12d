"""PyTorch's own losses: `loss: torch.nn:CrossEntropyLoss`, or a function of torch.nn.functional."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
from pydantic import ValidationInfo

from edgefl.core.section import fault, fault_at, shown
from edgefl.learning.losses.base import Loss
from edgefl.learning.losses.imported import TRIED, ImportedLoss, imported

if TYPE_CHECKING:
    from torch import Tensor

MODULES = ("torch.nn.functional", "torch.nn.modules.loss")
WEIGHTS = ("weight", "pos_weight")
ABOUT_MEANS = ("reduction", "reduce", "size_average")  # arguments that say how losses of samples become one number


class TorchLoss(ImportedLoss):
    """A loss of PyTorch, taken of each sample: the mean over the numbers of its label, where it has several.

    Lists among the keys, such as the `weight` of each class, become tensors. edgefl takes the mean over samples, where
    each counts once: PyTorch's mean divides by the sum of the weights of classes instead.
    """

    def refusal(self, outputs: int, labels: npt.NDArray[np.generic]) -> str | None:
        """Return why the loss does not suit outputs and labels, tried on a few samples; None if it does."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of shapes that the trial may have on purpose
            return self._refusal(outputs, labels)

    def _refusal(self, outputs: int, labels: npt.NDArray[np.generic]) -> str | None:
        reason = super().refusal(outputs, labels)
        if reason is None:
            return None
        if np.issubdtype(labels.dtype, np.integer):
            if super().refusal(1, labels.astype(np.float32)) is None:
                return f"{self.import_path} takes floating-point labels, these are classes: say y.astype(np.float32)"
        elif super().refusal(2, np.zeros(TRIED, dtype=np.int64)) is None:
            return f"{self.import_path} takes classes, these labels are floating-point numbers: say y.astype(int)"
        return reason

    def _told(self, error: Exception) -> str:
        """Return an error of torch as a reason; its place, in torch's own files, would tell a user nothing."""
        return f"{self.import_path} does not suit these outputs and labels: {str(error).partition(chr(10))[0]}"

    def _called(self, outputs: Tensor, labels: Tensor) -> Tensor:
        if labels.is_floating_point() and labels.ndim < outputs.ndim and outputs.shape[-1] == 1:
            outputs = outputs.squeeze(-1)  # torch wants both in one shape
        keys = {name: _as_tensor(value, outputs) for name, value in self._keys.items()}
        loss = partial(self._function, **keys, reduction="none")
        if inspect.isclass(self._function):
            loss = loss()
        losses: Tensor = loss(outputs, labels)
        if losses.ndim > 1:
            losses = losses.flatten(1).mean(1)
        return losses

    @property
    def _keys(self) -> Mapping[str, Any]:
        return {name: value for name, value in (self.model_extra or {}).items() if name != "reduction"}


def adapted(path: str, found: Any, keys: dict[str, Any], info: ValidationInfo) -> Loss | None:
    """Return a loss that wraps a loss of PyTorch or a user's function; None for anything else.

    Nothing is called; raises pydantic's errors about the keys.
    """
    return _torch_loss(path, found, keys, info) or imported(path, found, keys, info)


def _torch_loss(path: str, found: Callable[..., Any], keys: dict[str, Any], info: ValidationInfo) -> TorchLoss | None:
    """Return a loss that wraps one of PyTorch's; None for anything else. Raises pydantic's errors about the keys."""
    if getattr(found, "__module__", None) not in MODULES:
        return None
    names = inspect.signature(found).parameters
    if "reduction" not in names:
        return None
    keys = {name: _as_list(value) for name, value in keys.items()}
    for name, value in keys.items():
        if name in ABOUT_MEANS:
            if name != "reduction":
                raise fault_at((name,), "edgefl takes the mean over samples itself: leave it out")
            if value != "none":
                raise fault_at((name,), f"must be 'none', as edgefl takes the mean itself, got {shown(value)}")
        elif name in WEIGHTS:
            _check_weights(name, value)
        elif name not in names or name in ("input", "target"):
            _refuse_key(path, name, names)
    _check_inputs(path, found, keys)
    loss = TorchLoss.model_validate({**keys, "import_path": path}, context=info.context)
    loss._function = found  # noqa: SLF001 - its own class's
    return loss


def _check_weights(name: str, value: Any) -> None:
    if value is None or isinstance(value, list | tuple):
        return
    remedy = ""
    if isinstance(value, int | float):
        remedy = f": write [{value}]"
    elif isinstance(value, Mapping):
        remedy = f": write {list(value.values())}, in the order of the classes"
    raise fault_at((name,), f"must be a list of numbers, got {shown(value)}{remedy}")


def _check_inputs(path: str, found: Callable[..., Any], keys: Mapping[str, Any]) -> None:
    called = found
    taken = 2
    if inspect.isclass(found):
        called = found.forward  # type: ignore[attr-defined] # of torch's modules
        taken = 3  # self, too
    more = list(inspect.signature(called).parameters.values())[taken:]
    needed = [item.name for item in more if item.default is inspect.Parameter.empty and item.name not in keys]
    if needed:
        text = f"{path} also needs {' and '.join(needed)}, and a loss gets only outputs and labels"
        raise fault(f"{text}: name another one, or a function of these two that calls it with reduction='none'")


def _refuse_key(path: str, name: str, names: Mapping[str, inspect.Parameter]) -> NoReturn:
    known = [known for known in names if known not in ("self", "input", "target", *ABOUT_MEANS)]
    raise fault_at((name,), f"{path} has no such argument; its arguments: {', '.join(known) or 'none'}")


def _as_list(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def _as_tensor(value: Any, like: Tensor) -> Any:
    if isinstance(value, list | tuple):
        return like.new_tensor(value)
    return value
