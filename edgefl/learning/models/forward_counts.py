"""The operations of a network's forward pass, counted while it runs in training mode on the meta device.

Below autograd every network is a sequence of a few hundred basic operators (torch's library ATen), so modules of torch,
of torchvision and of users are counted alike. Nothing is computed: tensors have shapes, no values.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry, shape_wrapper

from edgefl.learning.models.count import FORMULAS, without_values
from edgefl.learning.models.module_copy import copied
from edgefl.world.compute_law import ForwardCounts

SAMPLES = 2  # batch normalisation in training mode refuses a single one
CONVOLUTIONS = (torch.ops.aten.convolution, torch.ops.aten._convolution)  # noqa: SLF001 - its name in ATen
LAYERS = (*CONVOLUTIONS, torch.ops.aten.mm, torch.ops.aten.addmm)  # attention's products of batches are none
PRODUCTS = {**flop_registry, **{name: shape_wrapper(of) for name, of in FORMULAS.items()}}  # type: ignore[no-untyped-call]
TRANSPOSED_PLACE = 6  # of the flag among a convolution's arguments
GROUPS_PLACE = 8  # of the number of groups among a convolution's arguments
# Operators that compute nothing: they make tensors, or are views although they are not marked so.
PASSIVE = ("empty", "zeros", "ones", "full", "new_", "rand", "arange", "scalar_tensor", "_unsafe_view", "as_strided")


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up what operators do in a `with` block, for all samples together."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.convolution_macs = 0
        self.matmul_macs = 0
        self.grouped_macs = 0
        self.activation_bytes = 0
        self.groups = 0
        self.layers = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operator, and count it."""
        options = kwargs or {}
        result = function(*args, **options)
        if function.is_view or function.overloadpacket.__name__.startswith(PASSIVE):
            return result
        first = _first_tensor(result)
        if first is not None and first.is_floating_point():
            # The other results are a few numbers for each channel, or positions.
            self.activation_bytes += first.numel() * first.element_size()
        operator = function.overloadpacket
        if operator in LAYERS:
            self.layers += 1
        if operator in CONVOLUTIONS:
            self._convolution(args, result)
        elif operator in PRODUCTS:
            self.matmul_macs += int(PRODUCTS[operator](*args, **options, out_val=result)) // 2
        return result

    def _convolution(self, args: Any, result: Tensor) -> None:
        weight = args[1]
        groups = args[GROUPS_PLACE]
        spread = result
        if args[TRANSPOSED_PLACE]:  # each input, not each output, meets a filter
            spread = args[0]
        macs = spread.numel() * weight[0].numel()
        if groups > 1:
            self.grouped_macs += macs
            self.groups += groups * len(result)
        else:
            self.convolution_macs += macs


def forward_counts(module: nn.Module, shape: tuple[int, ...], *, tokens: bool = False) -> ForwardCounts:
    """Return the operations of one sample's forward pass by kind, in training mode; the module does not change."""
    in_training = copied(module).train()  # dropout and batch normalisation change it
    return without_values(_counted, in_training, (SAMPLES, *shape), tokens=tokens)


def _counted(network: nn.Module, samples: Tensor) -> ForwardCounts:
    with _Counter() as counter, torch.no_grad():
        network(samples)
    return ForwardCounts(
        convolution_macs=counter.convolution_macs / SAMPLES,
        matmul_macs=counter.matmul_macs / SAMPLES,
        grouped_macs=counter.grouped_macs / SAMPLES,
        activation_bytes=counter.activation_bytes / SAMPLES,
        groups=counter.groups / SAMPLES,
        layers=float(counter.layers),
    )


def _first_tensor(result: Any) -> Tensor | None:
    if isinstance(result, (tuple, list)):
        result = result[0] if result else None
    if isinstance(result, Tensor):
        return result
    return None
