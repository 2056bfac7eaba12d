"""A model whose parameters are divided: some train, some travel, some stay at the devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from edgefl.core.arrays import Ints
from edgefl.core.errors import InputError
from edgefl.learning.losses import Loss
from edgefl.learning.models.base import LayerCost, Model
from edgefl.learning.models.counted import Counted, without_values
from edgefl.learning.parts import Division, ModelParts, PartsError

if TYPE_CHECKING:
    from torch import Tensor, nn


class Parted(Counted):
    """The model of a scenario with its adapters, and with the parts that `training.parts` names; in no catalogue."""

    whole: Model
    parts: ModelParts

    @property
    def bare(self) -> Model:
        """The model as the scenario names it."""
        return self.whole.bare

    @property
    def title(self) -> str:
        """The name of the model in messages."""
        from edgefl.learning.models import MODELS  # late, as the catalogue is above its members

        return MODELS.name_of(self.whole)

    @property
    def import_path(self) -> str:
        """The name of the model, which a catalogue finds nowhere else."""
        return self.title

    # The module

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network with its adapters; parameters that do not train ask for no gradient."""
        module = self.whole.module(shape, classes)
        trainable: list[str] | None = None
        if self.whole.adapters is not None:
            before = {name for name, _ in module.named_parameters()}
            module = self.whole.adapters.inserted(module)
            trainable = [name for name, _ in module.named_parameters() if name not in before]
        division = self._divided(module, trainable)
        frozen = set(division.frozen)
        if trainable is not None and frozen.issuperset(trainable):
            raise InputError("training.parts.train: leaves out the adapters: add *lora_*, or leave out model.adapters")
        for name, parameter in module.named_parameters():
            parameter.requires_grad_(name not in frozen)
        return module

    def _divided(self, module: nn.Module, trainable: list[str] | None = None) -> Division:
        """Return the division of a module's parameters; those train by default that ask for a gradient."""
        parameters = dict(module.named_parameters())
        if trainable is None:
            trainable = [name for name, parameter in parameters.items() if parameter.requires_grad]
        statistics = [name for name, buffer in module.named_buffers() if buffer.is_floating_point()]
        try:
            self.parts.keeps_statistics(statistics)
            return self.parts.divide(list(parameters), trainable, statistics)
        except PartsError as error:
            raise InputError(f"training.parts.{error.key}: {error}") from None

    def kept_names(self, module: nn.Module) -> frozenset[str]:
        """Return the names of the trained parameters that stay at the devices."""
        return frozenset(self._divided(module).kept)

    def first_names(self, module: nn.Module) -> frozenset[str]:
        """Return the names of the only parameters that train in a round's first steps."""
        return frozenset(self._divided(module).first)

    def keeps_statistics(self, module: nn.Module) -> bool:
        """Return whether the statistics of batch normalisation stay at the devices."""
        return self.parts.keeps_statistics([name for name, each in module.named_buffers() if each.is_floating_point()])

    def fill(self, module: nn.Module, shape: tuple[int, ...], classes: int) -> None:
        """Write the initial values that `init` gives the model into its module; adapters keep theirs."""
        import torch

        whole = without_values(lambda: self.whole.module(shape, classes))
        trained = {name: each for name, each in whole.named_parameters() if each.requires_grad}
        vector = torch.from_numpy(self.whole.init.vector(sum(each.numel() for each in trained.values())))
        values = torch.split(vector, [each.numel() for each in trained.values()])
        parameters = dict(module.named_parameters())
        with torch.no_grad():
            for (name, parameter), value in zip(trained.items(), values, strict=True):
                parameters[name].copy_(value.view(parameter.shape))

    # What is counted

    def counted_module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the module, without values if it can be made so."""
        return without_values(lambda: self.module(shape, classes)).eval()

    def kept_parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of trained parameters that stay at the devices."""
        key = ("kept", shape, classes)
        if key not in self._counts:
            module = self.counted_module(shape, classes)
            kept = self.kept_names(module)
            self._counts[key] = sum(each.numel() for name, each in module.named_parameters() if name in kept)
        return self._counts[key]

    def training_passes(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> float:
        """See Model; those of the steps after `parts.first` if there is such a part."""
        if self.parts.first is None:
            return super().training_passes(shape, classes, tokens=tokens)
        return self._passes_of_phase(shape, classes, tokens=tokens, is_first=False)

    def first_passes(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> float:
        """See Model."""
        if self.parts.first is None:
            return self.training_passes(shape, classes, tokens=tokens)
        return self._passes_of_phase(shape, classes, tokens=tokens, is_first=True)

    def _passes_of_phase(self, shape: tuple[int, ...], classes: int, *, tokens: bool, is_first: bool) -> float:
        from edgefl.learning.models.count import training_multiplications

        key = ("phase", is_first, shape, classes, tokens)
        if key not in self._counts:
            module = self.counted_module(shape, classes)
            first = self.first_names(module)
            for name, parameter in module.named_parameters():
                if parameter.requires_grad:
                    parameter.requires_grad_((name in first) == is_first)
            self._counts[key] = self.counted(lambda: training_multiplications(module, shape, tokens=tokens))
        return self._counts[key] / self.multiplications_on(shape, classes, tokens=tokens)

    def multiplications_on(self, shape: tuple[int, ...], classes: int, *, tokens: bool) -> int:
        """Return the multiply-accumulates of a forward pass: the model's own, or with adapters counted."""
        if self.whole.adapters is None:
            return self.whole.multiplications_on(shape, classes, tokens=tokens)
        return super().multiplications_on(shape, classes, tokens=tokens)

    def layers(self, shape: tuple[int, ...], classes: int) -> list[LayerCost]:
        """Return the costs of the model's layers, if it is a chain."""
        return self.whole.layers(shape, classes)

    # What the model itself knows

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """See Model."""
        return self.whole.check(shape, classes)

    def token_limits(self, length: int) -> Ints:
        """See Model."""
        return self.whole.token_limits(length)

    def misfit(self, x: npt.NDArray[Any], classes: int) -> str | None:
        """See Model."""
        return self.whole.misfit(x, classes)

    def refusal(self, samples: npt.NDArray[Any], outputs: tuple[int, ...]) -> str | None:
        """See Model. Raises an InputError if patterns do not fit the parameters."""
        reason = self.whole.refusal(samples, outputs)
        if reason is None:
            self.counted_module(samples.shape[1:], outputs[0])
        return reason

    def global_draw(self, shape: tuple[int, ...], classes: int) -> str | None:
        """See Model."""
        return self.whole.global_draw(shape, classes)

    def sample_losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """See Model."""
        return self.whole.sample_losses(outputs, targets)

    @property
    def loss(self) -> Loss:
        """See Model."""
        return self.whole.loss

    def with_loss(self, loss: Loss | None) -> Model:
        """See Model."""
        return self.model_copy(update={"whole": self.whole.with_loss(loss)})

    @property
    def has_own_loss(self) -> bool:
        """See Model."""
        return self.whole.has_own_loss

    def predicted(self, outputs: Tensor) -> Tensor:
        """See Model."""
        return self.whole.predicted(outputs)

    def scores(self, outputs: Tensor) -> Tensor:
        """See Model."""
        return self.whole.scores(outputs)


def in_parts(model: Model, parts: ModelParts | None) -> Model:
    """Return the model as it trains: with adapters and parts if it has some, otherwise the same object."""
    if parts is None and model.adapters is None:
        return model
    return Parted(whole=model, parts=parts or ModelParts())
