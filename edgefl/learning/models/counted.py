"""Base of the models whose parameters and operations are counted on the module itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from edgefl.core.errors import InputError
from edgefl.learning.models.base import Model

if TYPE_CHECKING:
    from torch import nn


class Counted(Model):
    """A model whose numbers of parameters and operations are those that its module shows."""

    # What has been counted, by what it is and the sizes of the data: building a large module takes seconds.
    _counts: dict[tuple[Any, ...], int] = PrivateAttr(default_factory=dict)

    @property
    def title(self) -> str:
        """The name of the model in messages."""
        return type(self).__name__

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of parameters that are trained, counted."""
        self._count_parameters(shape, classes)
        return self._counts["trained", shape, classes]

    def frozen_parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of parameters that stay as they are (`requires_grad=False`), counted."""
        self._count_parameters(shape, classes)
        return self._counts["frozen", shape, classes]

    def _count_parameters(self, shape: tuple[int, ...], classes: int) -> None:
        if ("trained", shape, classes) in self._counts:
            return
        parameters = list(self.counted_module(shape, classes).parameters())
        trained = sum(parameter.numel() for parameter in parameters if parameter.requires_grad)
        self._counts["trained", shape, classes] = trained
        self._counts["frozen", shape, classes] = sum(each.numel() for each in parameters) - trained

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the multiply-accumulates of one sample's forward pass, counted; samples are not token ids."""
        return self.multiplications_on(shape, classes, tokens=False)

    def multiplications_on(self, shape: tuple[int, ...], classes: int, *, tokens: bool) -> int:
        """Return the multiply-accumulates of one sample's forward pass, counted in products and convolutions.

        Raises:
            InputError: torch cannot count them, or sees none.
        """
        key = ("multiplications", shape, classes, tokens)
        if key not in self._counts:
            from edgefl.learning.models.count import multiplications

            counted = self.counted(lambda: multiplications(self.counted_module(shape, classes), shape, tokens=tokens))
            # Training that costs nothing would be a wrong time and a wrong energy in every table.
            if not counted:
                raise self._uncounted("no matrix product and no convolution is seen in its forward pass")
            self._counts[key] = counted
        return self._counts[key]

    def counted(self, count: Callable[[], int]) -> int:
        """Return what `count` returns.

        Raises:
            InputError: it raises something, such as an error of the user's code.
        """
        try:
            return count()
        except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
            raise self._uncounted(f"its operations cannot be counted: {first_line(error)}") from None

    def _uncounted(self, problem: str) -> InputError:
        remedy = "give its price: model.cost: {parameters: ..., flops_per_parameter: ...}"
        return InputError(f"model.kind: {self.title}: {problem}; {remedy}")

    def training_passes(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> float:
        """Return how many forward passes training on a sample costs; counted if parameters are frozen.

        Frozen weights have no gradients, and layers before all trained ones have no backward pass.
        """
        if self.cost or not self.frozen_parameters(shape, classes):
            return super().training_passes(shape, classes, tokens=tokens)
        from edgefl.learning.models.count import training_multiplications

        key = ("training", shape, classes, tokens)
        if key not in self._counts:
            self._counts[key] = self.counted(
                lambda: training_multiplications(self.counted_module(shape, classes), shape, tokens=tokens)
            )
        return self._counts[key] / self.multiplications_on(shape, classes, tokens=tokens)

    def activation_bytes(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> float:
        """See Model; counted while autograd keeps them, without what checkpoints compute again."""
        if self.cost:
            return super().activation_bytes(shape, classes, tokens=tokens)
        return self._saved_bytes(self.counted_module, shape, classes, tokens=tokens)

    def counted_module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the module on which everything is counted."""
        return self._aside(shape, classes)

    def _aside(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the module in evaluation mode, made without touching torch's global generator."""
        import torch

        with torch.random.fork_rng(devices=[]):
            made = self.module(shape, classes)
        # a function may give anything: `refusal` says what is wrong with it
        return made.eval() if isinstance(made, torch.nn.Module) else made


def first_line(error: Exception) -> str:
    """Return the type and the first line of an error of the user's code."""
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def without_values(make: Callable[[], nn.Module]) -> nn.Module:
    """Return a module on the meta device if it can be made there: a billion values take gigabytes and a minute."""
    import torch

    with torch.random.fork_rng(devices=[]):
        try:
            with torch.device("meta"):
                return make()
        except InputError:
            raise
        except Exception:  # noqa: BLE001 - a user's module may need values
            return make()
