"""Multiply-accumulates of any torch module, counted while it runs.

Torch's counter sees matrix products, convolutions and attention, but no fused kernel: on a CPU an LSTM is a single call
that counts as nothing. So the module runs on the meta device, where tensors have shapes and no values. There are no
kernels to fuse there, and nothing is computed.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from math import prod
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count

from edgefl.learning.models.module_copy import copied

Shape = tuple[int, ...]
Found = TypeVar("Found")


def multiplications(module: nn.Module, shape: Shape, *, tokens: bool) -> int:
    """Return the multiply-accumulates of the forward pass of one sample, of token ids or floating-point numbers.

    The module is in evaluation mode, and does not change; whatever it raises is raised.
    """
    return without_values(partial(_counted, _forward), module, (1, *shape), tokens=tokens)


def training_multiplications(module: nn.Module, shape: Shape, *, tokens: bool) -> int:
    """Return the multiply-accumulates of a forward and a backward pass of one sample; see `multiplications`."""
    return without_values(partial(_counted, _forward_and_backward), module, (1, *shape), tokens=tokens)


def saved_bytes(module: nn.Module, shape: Shape, *, tokens: bool) -> int:
    """Return the bytes of one sample's activations that a training step keeps, without the sample and parameters.

    They are those that autograd keeps of the forward pass, and as many as the outputs have, which losses keep. The
    module is in evaluation mode, and does not change; whatever it raises is raised.
    """
    return without_values(_saved, module, (1, *shape), tokens=tokens)


def _saved(module: nn.Module, sample: Tensor) -> int:
    known = (sample, *module.parameters(), *module.buffers())
    own = {tensor.untyped_storage()._cdata for tensor in known}  # noqa: SLF001
    kept: dict[int, torch.UntypedStorage] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage  # noqa: SLF001 - two views of one storage count once
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = module(sample)
    return int(outputs.nbytes) + sum(storage.nbytes() for place, storage in kept.items() if place not in own)


def without_values(
    count: Callable[[nn.Module, Tensor], Found], module: nn.Module, shape: Shape, *, tokens: bool
) -> Found:
    """Return `count` of a copy of the module and zeros of a `shape`, on the meta device if the module runs there.

    A forward pass that branches on values, or mixes in other tensors, needs a device with values.
    """
    kind = torch.float32
    if tokens:
        kind = torch.int64
    with torch.random.fork_rng(devices=[]):
        try:
            with torch.device("meta"):
                return count(copied(module).to("meta"), torch.zeros(shape, dtype=kind))
        except Exception:  # noqa: BLE001 - of whatever type: the second attempt raises what the module itself does
            with without_fused_kernels():
                return count(copied(module), torch.zeros(shape, dtype=kind))


def _counted(passes: Callable[[nn.Module, Tensor], None], module: nn.Module, sample: Tensor) -> int:
    counter = FlopCounterMode(display=False, custom_mapping=FORMULAS)
    counter.mod_tracker = _NoTracker()  # type: ignore[assignment] # has what the counter calls
    with counter:
        passes(module, sample)
    return int(counter.get_total_flops()) // 2


class _NoTracker(nullcontext[None]):
    """Stands in for torch's tracker of modules, whose hooks autograd refuses where a layer's input is a parameter."""

    parents = frozenset(("Global",))


def _forward(module: nn.Module, sample: Tensor) -> None:
    with torch.no_grad():
        module(sample)


def _forward_and_backward(module: nn.Module, sample: Tensor) -> None:
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    torch.autograd.grad(module(sample).sum(), trained, allow_unused=True)


@contextmanager
def without_fused_kernels() -> Iterator[None]:
    """Let recurrent layers and attention on a CPU be computed by products that the counter sees."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    has_fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # switching oneDNN off and on warns of hardware that is not there
            with torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH):
                yield
    finally:
        torch.backends.mha.set_fastpath_enabled(has_fast_path)


def _matrix_vector(matrix: Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(matrix)


def _added_matrix_vector(_: Shape, matrix: Shape, *__: Any, **___: Any) -> int:
    return 2 * prod(matrix)


def _bilinear(left: Shape, weight: Shape, *_: Any, **__: Any) -> int:
    """Return the operations of a matrix [n, m] for each output: its product with one vector, then with the other."""
    samples = left[0]
    outputs, n, m = weight
    return 2 * samples * outputs * n * (m + 1)


def _convolution_backward(gradient: Shape, x: Shape, weight: Shape, *rest: Any, **_: Any) -> int:
    """Return the operations of the gradients in the inputs and in the weights: each takes those of the forward pass."""
    # `rest` begins with the sizes of the bias, the stride, the padding and the dilation.
    transposed, _padding, _groups, (of_inputs, of_weights, _of_bias) = rest[4:]
    forward = conv_flop_count(list(x), list(weight), list(gradient), transposed=transposed)
    return forward * (int(of_inputs) + int(of_weights))


# Products with vectors, which torch's own counter leaves out, and gradients of grouped convolutions, whose weights' it
# multiplies by their number of groups; arguments are shapes.
FORMULAS = {
    torch.ops.aten.convolution_backward: _convolution_backward,
    torch.ops.aten.mv: _matrix_vector,
    torch.ops.aten.dot: _matrix_vector,
    torch.ops.aten.addmv: _added_matrix_vector,
    torch.ops.aten._trilinear: _bilinear,  # noqa: SLF001 - its name in ATen
}
