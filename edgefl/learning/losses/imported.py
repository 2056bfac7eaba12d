"""A user's loss: `loss: my_module:my_function`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo

from edgefl.core.global_draws import moved, states
from edgefl.core.plugins import Plugin, located, place_of
from edgefl.core.section import fault
from edgefl.learning.losses.base import Loss

if TYPE_CHECKING:
    from torch import Tensor

TRIED = 4  # samples of the trial
FUNCTION = "a loss must be a function of outputs and labels, or no run could be repeated"
ONE_OUTPUT = (
    "takes one output, and a network gives one for each of the two classes: let it take outputs[:, 1:] - "
    "outputs[:, :1], or give the labels as numbers (y.astype(np.float32)) to a network of one output"
)
MOST_TRIED = 1000  # labels that are tried, as the function may ignore one
DRAWS = 8
RISE = 1000.0  # of outputs, beyond which no loss falls that has a lower limit
SAME = 1e-4  # relative difference below which two ways to compute a loss agree in single precision


class ImportedLoss(Loss):
    """A user's function, by its import path: from outputs [B, n] and labels [B] or [B, k] to losses [B]."""

    model_config = ConfigDict(extra="allow")  # keys that are not known here are the function's

    import_path: str = Field(exclude=True)
    _function: Callable[..., Any] = PrivateAttr()

    def made_from(self) -> Callable[..., Any]:
        """Return the function."""
        return self._function

    def of_samples(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of each sample [...] from outputs [..., n] and labels [...] or [..., k]."""
        leading = outputs.shape[:-1]
        flat_labels = labels.reshape(-1, *labels.shape[len(leading) :])
        losses: Tensor = self._called(outputs.flatten(0, -2), flat_labels)
        return losses.view(leading)

    def refusal(self, outputs: int, labels: npt.NDArray[np.generic]) -> str | None:
        """Return why the function cannot be a loss, tried on a few samples with random outputs; None if it can."""
        reason = self._trial(_guesses(outputs), labels)
        if reason is None or self._trial(_guesses(outputs).sigmoid(), labels) is None:
            return None
        if labels.dtype.kind in "iu" and outputs == 2 and self._trial(_guesses(1), labels) is None:
            return f"{self.import_path} {ONE_OUTPUT}"
        return reason

    def takes_probabilities(self, outputs: int, labels: npt.NDArray[np.generic]) -> bool:
        """Return True if the function can be a loss only of outputs between 0 and 1, as torch's BCELoss is."""
        if self._trial(_guesses(outputs), labels) is None:
            return False
        return self._trial(_guesses(outputs).sigmoid(), labels) is None

    def takes_log_probabilities(self, outputs: int, labels: npt.NDArray[np.generic]) -> bool:
        """Return True if losses of classes fall without limit when all outputs rise, as torch's nll_loss does."""
        if labels.dtype.kind not in "iu" or self.takes_probabilities(outputs, labels):
            return False
        some = self._some(np.unique(labels))
        guesses = _guesses(outputs).detach()
        return bool((self._called(guesses + RISE, some) < self._called(guesses, some) - 1).all())

    @staticmethod
    def _some(labels: npt.NDArray[np.generic]) -> Tensor:
        import torch

        return torch.from_numpy(np.resize(labels, (TRIED, *labels.shape[1:])))

    def _trial(self, guesses: Tensor, labels: npt.NDArray[np.generic]) -> str | None:
        """Return why the function cannot be a loss of outputs [TRIED, n]; None if it can."""
        import torch

        some = self._some(labels)
        path = self.import_path
        drawn = states()
        try:
            losses = self._called(guesses, some)
        except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
            return f"{self._told(error)}; it was tried on outputs {list(guesses.shape)} and labels {list(some.shape)}"
        for generator in moved(drawn):
            return f"{place_of(self._function)}: {path} draws from {generator}: {FUNCTION}"
        if reason := _no_losses(losses):
            return f"{path} {reason}"
        with torch.no_grad():
            alone = torch.cat([self._called(guesses[[row]], some[[row]]) for row in range(TRIED)])
        if not torch.allclose(losses, alone, rtol=SAME, atol=SAME):
            text = "must compute a sample's loss from its own outputs and label, without random numbers"
            return f"{path} {text}: a batch of {TRIED} gives other losses than its samples one by one"
        return None

    def _told(self, error: Exception) -> str:
        plugin = Plugin("training.loss", self.import_path, self._function)
        return located(error, [plugin]) or f"{self.import_path}: {type(error).__name__}: {error}"

    def _called(self, outputs: Tensor, labels: Tensor) -> Any:
        return self._function(outputs, labels, **(self.model_extra or {}))


def _guesses(outputs: int) -> Tensor:
    """Return random outputs [TRIED, outputs], the same in each call; torch's global generator does not move."""
    import torch

    return torch.from_numpy(np.random.default_rng(0).normal(size=(TRIED, outputs))).float().requires_grad_()


def _no_losses(found: Any) -> str | None:
    """Return why the values of a function for `TRIED` samples cannot be losses to learn from; None if they can."""
    import torch

    wanted = "must give the loss of each sample, [B]"
    if not isinstance(found, torch.Tensor):
        return f"{wanted}, got a {type(found).__name__}"
    if found.ndim == 0:
        return f"{wanted}, got a single number: leave out its mean or sum (reduction='none')"
    if found.shape != (TRIED,):
        return f"{wanted}, got {list(found.shape)} for B = {TRIED}"
    if not found.requires_grad:
        return "must compute the losses from the outputs with torch, so that they can be differentiated"
    if not bool(torch.isfinite(found).all()):
        return "gives NaN or infinite losses for outputs around 0"
    return None


def ignored_label(loss: Loss, outputs: int, labels: npt.NDArray[np.generic]) -> int | None:
    """Return a label that a user's function gives no loss, whatever the outputs: its `ignore_index`; None if none."""
    import torch

    if not isinstance(loss, ImportedLoss):
        return None
    classes = np.unique(labels)[:MOST_TRIED]
    rng = np.random.default_rng(0)
    largest = np.zeros(len(classes))
    # Several draws, as a margin may be kept by chance.
    for _ in range(DRAWS):
        guesses = torch.from_numpy(rng.normal(size=(len(classes), outputs))).float()
        losses = loss.of_samples(guesses, torch.from_numpy(classes)).detach().abs()
        largest = np.maximum(largest, losses.numpy())
    if largest.all():
        return None
    return int(classes[largest.argmin()])


def _is_module(found: Any) -> bool:
    torch = sys.modules.get("torch")
    if torch is None:  # then no module can have been defined
        return False
    if inspect.isclass(found):
        return issubclass(found, torch.nn.Module)
    return isinstance(found, torch.nn.Module)


def imported(path: str, found: Any, keys: dict[str, Any], info: ValidationInfo) -> Loss | None:
    """Return a loss that wraps a function; None for anything else. Nothing is called; raises pydantic's errors."""
    if _is_module(found):
        text = "is a module of torch, and a loss is a function: name one that calls it"
        raise fault(f"{path} {text}, with reduction='none'")
    if not callable(found) or inspect.isclass(found) or not hasattr(found, "__qualname__"):
        return None
    # Tried without being called, so that a missing or unknown key is a fault of the scenario, with its line.
    try:
        inspect.signature(found).bind(None, None, **keys)
    except TypeError as error:
        raise fault(f"{path} takes other keys besides outputs and labels: {error}") from None
    loss = ImportedLoss.model_validate({**keys, "import_path": path}, context=info.context)
    loss._function = found  # noqa: SLF001 - its own class's
    return loss
