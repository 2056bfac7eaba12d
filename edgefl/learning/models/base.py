"""Base of the models: a torch module to train, and what it costs to send and to train it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field, PrivateAttr, model_validator

from edgefl.core.arrays import Ints
from edgefl.core.catalogue import Member
from edgefl.core.errors import InputError
from edgefl.core.files import check_plain, read_bytes
from edgefl.core.paths import UserFile
from edgefl.core.section import IF_GIVEN, Section, fault, fault_at, nearest, shown
from edgefl.learning.losses import Loss
from edgefl.learning.losses.cross_entropy import CrossEntropy
from edgefl.learning.models.adapters import Adapters
from edgefl.world.compute_law import OPERATIONS, USUAL_PASSES, ForwardCounts

if TYPE_CHECKING:
    from torch import Tensor, nn


Count = Annotated[float, Field(ge=0, le=1e18)]
FLOAT_BYTES = 4
SUFFIXES = (".pt", ".pth")  # of a torch state_dict


class ForwardCost(Section):
    """The operations of one sample's forward pass, for devices whose `compute` distinguishes their kinds."""

    convolution_macs: Count = 0.0  # Multiply-accumulates of convolutions without groups.
    matmul_macs: Count = 0.0  # Multiply-accumulates of linear layers and matrix products, attention included.
    grouped_macs: Count = 0.0  # Multiply-accumulates of convolutions with groups.
    activation_bytes: Count = 0.0  # Bytes of the results of all operators that compute something.
    groups: Count = 0.0  # Number of groups of all grouped convolutions together.
    layers: Count = 0.0  # Number of convolutions and linear layers.


class ModelCost(Section):
    """A price tag that replaces counting (dynamic-devices paper, Table I)."""

    parameters: Annotated[int, Field(gt=0, le=10**12)]  # Number of parameters, N_p.
    # Operations for each parameter and sample, forward and backward, phi.
    flops_per_parameter: Annotated[float, Field(ge=0, le=1e12)] | None = None
    forward: ForwardCost | None = None  # Operations of a sample by kind, instead of flops_per_parameter.

    @model_validator(mode="after")
    def _one_of_both(self) -> ModelCost:
        if self.flops_per_parameter is None and self.forward is None:
            raise fault_at(("flops_per_parameter",), "is required: give it, or forward")
        if self.flops_per_parameter is not None and self.forward is not None:
            raise fault_at(("forward",), "tells all operations: leave out flops_per_parameter, or forward")
        return self

    @property
    def training_flops(self) -> float:
        """The operations of training on one sample."""
        if self.forward is None:
            return self.parameters * (self.flops_per_parameter or 0.0)
        macs = self.forward.convolution_macs + self.forward.matmul_macs + self.forward.grouped_macs
        return USUAL_PASSES * OPERATIONS * macs


class Init(Section):
    """The source of the initial parameters."""

    # Where initial parameters come from; default is the layers' own initialisation.
    kind: Literal["default", "zeros", "value", "file"] = "default"
    value: float | None = None  # Initial value of every parameter.
    # File with the parameters: a flat vector as .npy, the model.safetensors of a run, or a torch state_dict as .pt.
    path: UserFile | None = None

    @model_validator(mode="after")
    def _complete(self) -> Init:
        key_of_kind = {"value": "value", "file": "path"}
        for kind, key in key_of_kind.items():
            is_given = getattr(self, key) is not None
            if is_given != (self.kind == kind):
                raise fault(f"kind {kind} and the key {key} go together")
        return self

    def vector(self, count: int) -> npt.NDArray[np.float64]:
        """Return the flat initial model [count] of every kind but `default`.

        Raises:
            InputError: the file cannot be read, or holds something else.
        """
        if self.kind != "file":
            return np.full(count, self.value or 0.0)
        path = Path(str(self.path))
        if path.suffix in SUFFIXES:
            return self._checked(self._of_state_dict(path), count)
        try:
            check_plain(path)
            if path.suffix == ".safetensors":
                from edgefl.learning.trained_model import TrainedModel  # late: most scenarios name no file

                vector: npt.NDArray[Any] = TrainedModel.from_bytes(read_bytes(path)).flat()
            else:
                # A memory map reads the header first: a wrong file of any size is refused at once.
                vector = np.lib.format.open_memmap(path, mode="r")
        except (OSError, ValueError, EOFError):
            raise InputError(f"model.init.path: {path}: cannot be read as a .npy array or the model of a run") from None
        return self._checked(vector, count)

    @staticmethod
    def _of_state_dict(path: Path) -> npt.NDArray[Any]:
        from edgefl.learning.models.state_dict import parameters_of  # late: most scenarios name no file

        try:
            return parameters_of(path)
        except OSError as error:
            raise InputError(f"model.init.path: {path}: {error.strerror}") from None
        except ValueError as error:
            raise InputError(f"model.init.path: {path}: {error}") from None

    def _checked(self, vector: npt.NDArray[Any], count: int) -> npt.NDArray[np.float64]:
        floats = np.issubdtype(vector.dtype, np.floating)
        if vector.shape != (count,) or not floats or not np.isfinite(vector).all():
            found = f"{vector.dtype} {list(vector.shape)}"
            raise InputError(f"model.init.path: {self.path}: holds {found}, the model needs finite floats [{count}]")
        return np.array(vector, dtype=np.float64)


class LayerCost(NamedTuple):
    """The cost of a layer with parameters and of those without that follow it; or of several such layers together."""

    parameters: int
    multiplications: int  # of one sample's forward pass
    outputs: int  # floats of a sample that the next layer gets


def total_cost(layers: Sequence[LayerCost]) -> LayerCost:
    """Return the cost of layers in a row, as if they were one."""
    return LayerCost(
        parameters=sum(layer.parameters for layer in layers),
        multiplications=sum(layer.multiplications for layer in layers),
        outputs=layers[-1].outputs,
    )


class Model(Member):
    """Base of all models; sizes follow from the data: `shape` of one sample and the number of `classes`."""

    init: Init = Init()  # Initial parameters.
    cost: ModelCost | None = None  # Size and work of the model as given, instead of counted ones.
    # Small matrices beside the weights of linear layers, which train instead of the model.
    adapters: Annotated[Adapters | None, IF_GIVEN] = None

    _loss: Loss = PrivateAttr(default_factory=CrossEntropy)

    tokens: ClassVar[bool] = False  # samples are whole numbers (int64 ids) instead of float32
    of_each_token: ClassVar[bool] = False  # outputs are [B, classes, T]: one for each token of a row
    usual_cut: ClassVar[int] = 1  # layers before the cut if the scenario names none (sequential-FL paper's code)

    @property
    def bare(self) -> Model:
        """The model as the scenario names it, without parts and adapters."""
        return self

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return why this model cannot work on samples of a `shape` with `classes`; None if it can."""
        if classes < 2:
            return f"needs data with at least 2 classes, got {classes}"
        return None

    def token_limits(self, length: int) -> Ints:
        """Return the numbers [length] below which the ids of a row must stay; for models of token ids."""
        raise NotImplementedError

    def misfit(self, x: npt.NDArray[Any], classes: int) -> str | None:
        """Return why this model cannot work on samples x [n, ...]; None if it can."""
        reason = self.check(x.shape[1:], classes)
        if reason:
            return reason
        if np.issubdtype(x.dtype, np.signedinteger) != self.tokens:
            if self.tokens:
                return f"needs rows of token ids, the samples are {x.dtype}"
            remedy = "say x.astype(np.uint8) for the bytes of images, x.astype(np.float32) for other numbers"
            return f"needs no token ids, the samples are {x.dtype}: {remedy}"
        if self.tokens:
            limits = self.token_limits(x.shape[1])
            if ((x < 0) | (x >= limits)).any():
                return f"needs token ids from 0 to {limits.max() - 1} or less, the samples hold {x.min()} to {x.max()}"
        return None

    def refusal(self, samples: npt.NDArray[Any], outputs: tuple[int, ...]) -> str | None:
        """Return why the network refuses samples [2, ...] in the form of training, or gives other outputs than these.

        None if it takes them and gives [2, *outputs].
        """
        return None  # edgefl's models need no trial

    def global_draw(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return that building the network draws from a generator without a key; None if it does not."""
        return None

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the network for one client; input [B, *shape], output [B, classes].

        In regression `classes` is how many numbers a label has.
        """
        raise NotImplementedError

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of parameters d."""
        return total_cost(self.layers(shape, classes)).parameters

    def forward_counts(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> ForwardCounts:
        """Return the operations of one sample's forward pass by kind, as priced or as counted; `tokens`: a row of ids.

        Raises:
            InputError: they cannot be counted, or the price has no kinds.
        """
        if self.cost:
            return self._priced_counts(self.cost)
        import torch

        from edgefl.learning.models.forward_counts import forward_counts

        try:
            with torch.random.fork_rng(devices=[]):
                return forward_counts(self.module(shape, classes), shape, tokens=tokens or self.tokens)
        except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
            reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            remedy = "measure it, and give the times: devices.compute.measured"
            raise InputError(f"model.kind: its kinds of operations cannot be counted: {reason}; {remedy}") from None

    def activation_bytes(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> float:
        """Return the least bytes of one sample's activations that the backward pass needs, as priced or as counted.

        `tokens`: the sample is a row of ids.
        """
        if self.cost:
            return self.cost.forward.activation_bytes if self.cost.forward else 0.0
        try:
            return float(FLOAT_BYTES * sum(layer.outputs for layer in self.layers(shape, classes)))
        except NotImplementedError:
            return self._saved_bytes(self.module, shape, classes, tokens=tokens)

    def _saved_bytes(
        self, make: Callable[[tuple[int, ...], int], nn.Module], shape: tuple[int, ...], classes: int, *, tokens: bool
    ) -> float:
        """Return the bytes that autograd keeps of one sample's forward pass through the network that `make` returns.

        Raises:
            InputError: the network's own code raises something.
        """
        import torch

        from edgefl.learning.models.count import saved_bytes

        try:
            with torch.random.fork_rng(devices=[]):
                return float(saved_bytes(make(shape, classes).eval(), shape, tokens=tokens or self.tokens))
        except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
            reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            text = f"the memory of its activations cannot be counted: {reason}"
            raise InputError(f"model.kind: {text}; leave out devices.memory_bytes") from None

    def _priced_counts(self, cost: ModelCost) -> ForwardCounts:
        if cost.forward is None:
            text = "has no kinds of operations, which devices.compute tells apart"
            remedy = "give forward instead of flops_per_parameter, or set devices.compute to null"
            raise InputError(f"model.cost: {text}: {remedy}")
        return ForwardCounts(**cost.forward.model_dump())

    def frozen_parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of additional parameters that are never trained: devices receive them once."""
        return 0

    def kept_parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of trained parameters that stay at the devices; each has its own."""
        return 0

    def kept_names(self, module: nn.Module) -> frozenset[str]:
        """Return the names of these parameters in the network."""
        return frozenset()

    def first_names(self, module: nn.Module) -> frozenset[str]:
        """Return the names of the only parameters that train at first, `training.parts.first`; none without it."""
        return frozenset()

    def keeps_statistics(self, module: nn.Module) -> bool:
        """Return whether the network's statistics of batch normalisation stay at the devices, too."""
        return False

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the multiply-accumulates of one sample's forward pass; activations count as none."""
        return total_cost(self.layers(shape, classes)).multiplications

    def multiplications_on(self, shape: tuple[int, ...], classes: int, *, tokens: bool) -> int:
        """Return the same for samples that are known to be token ids or not."""
        return self.multiplications(shape, classes)

    def layers(self, shape: tuple[int, ...], classes: int) -> list[LayerCost]:
        """Return the costs of a chain's layers, in the order of their work and of the flat vector."""
        raise NotImplementedError

    def cuts(self) -> tuple[str, ...]:
        """Return the names of the layers after which a chain can be cut in two, all but the last; else nothing."""
        return ()

    def check_cut(self, cut: str | int | None) -> str | None:
        """Return why the model cannot be cut after the layer of this name or number (from 1); None if it can."""
        names = self.cuts()
        if not names:
            return "the model is not a chain of two or more layers whose first ones hold the first parameters"
        if cut is None or cut in names or cut in range(1, len(names) + 1):
            return None
        known = ", ".join(f"{name} ({number})" for number, name in enumerate(names, 1))
        return f"the model has no layer {shown(cut)} to be cut after{nearest(cut, names)}; known: {known}"

    def front(self, cut: str | int | None, shape: tuple[int, ...], classes: int) -> LayerCost:
        """Return the cost of the layers before a cut that `check_cut` allows, as one."""
        count = cut or self.usual_cut  # layers before the cut, or the name of the last of them
        if isinstance(count, str):
            count = self.cuts().index(count) + 1
        return total_cost(self.layers(shape, classes)[:count])

    def sample_losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each sample [...] from outputs [..., n] and targets [...] or [..., k].

        It is `loss`, unless a model overrides this method.
        """
        return self._loss.of_samples(outputs, targets)

    @property
    def loss(self) -> Loss:
        """The loss that `sample_losses` computes, unless the model overrides that."""
        return self._loss

    def with_loss(self, loss: Loss | None) -> Model:
        """Return the same model, trained and tested with another loss; itself if that is None."""
        if loss is None:
            return self
        model = self.model_copy()
        model._loss = loss  # noqa: SLF001 - its own class's
        return model

    @property
    def has_own_loss(self) -> bool:
        """True if only the model's loss knows what its outputs mean: neither classes nor numbers."""
        return type(self).sample_losses is not Model.sample_losses

    def predicted(self, outputs: Tensor) -> Tensor:
        """Return the class of each sample [...] from outputs [..., classes]."""
        return outputs.argmax(-1)

    def scores(self, outputs: Tensor) -> Tensor:
        """Return scores [...] that rise with the probability of label 1, from outputs [..., 2] of two classes."""
        return outputs[..., 1] - outputs[..., 0]

    def payload_parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of parameters that travel: as priced, otherwise as counted."""
        if self.cost:
            return self.cost.parameters
        return self.parameters(shape, classes) - self.kept_parameters(shape, classes)

    def flops_per_sample(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> float:
        """Return the operations of training on one sample, as priced or as counted; `tokens`: it is a row of ids.

        Raises:
            InputError: they cannot be counted, and no price is given.
        """
        if self.cost:
            return self.cost.training_flops
        # a multiply-accumulate is 2 operations
        passes = self.training_passes(shape, classes, tokens=tokens)
        return passes * 2.0 * self.multiplications_on(shape, classes, tokens=tokens)

    def training_passes(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> float:
        """Return how many forward passes training on a sample costs.

        The backward pass takes twice the forward pass: it differentiates each product in its weights and in its inputs.
        """
        return 3.0

    def first_passes(self, shape: tuple[int, ...], classes: int, *, tokens: bool = False) -> float:
        """Return the `training_passes` of a round's first steps, where only `training.parts.first` trains."""
        return self.training_passes(shape, classes, tokens=tokens)
