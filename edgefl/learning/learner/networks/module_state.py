"""The parameters of a torch module that it trains, and the buffers that training may change."""

import torch
from torch import Tensor, nn

HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


def trained_parameters(module: nn.Module, kept: frozenset[str] = frozenset()) -> dict[str, Tensor]:
    """Return the parameters that training changes, by name: all but frozen ones; those that devices keep come last."""
    trained = {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}
    # sorted is stable: within both groups the module's order stays
    return {name: trained[name] for name in sorted(trained, key=kept.__contains__)}


def statistics_of(module: nn.Module, dtype: torch.dtype, *, whole_numbers: bool) -> dict[str, Tensor]:
    """Return the buffers that training may change, by name: floating-point ones and, if asked for, whole numbers.

    Whole numbers that a float of this `dtype` cannot tell from their neighbours are left out, and so are complex ones:
    these are constants, such as those of a hash function.
    """
    return {
        name: buffer
        for name, buffer in module.named_buffers()
        if buffer.is_floating_point() or (whole_numbers and _fits(buffer, dtype))
    }


def _fits(buffer: Tensor, dtype: torch.dtype) -> bool:
    """Return whether a floating-point type holds these whole numbers exactly, with room for larger ones."""
    if buffer.is_complex():
        return False
    most = 1 / torch.finfo(dtype).eps
    return buffer.numel() == 0 or float(buffer.double().abs().max()) < most


def has_own_calls(layer: nn.Module) -> bool:
    """Return whether a call of a layer does more than its class says: it has hooks, or its instance a `forward`."""
    return "forward" in vars(layer) or any(vars(layer)[hooks] for hooks in HOOKS)
