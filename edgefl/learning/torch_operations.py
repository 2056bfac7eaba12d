"""Arithmetic operations of code on torch tensors, counted below autograd, function by function.

Every call from Python arrives as one of a few hundred basic functions of torch's library ATen: `Tensor.norm` and
`torch.linalg.norm` both arrive as `linalg_vector_norm`.
"""

from functools import cache
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from edgefl.core.words import words_of

PER_ELEMENT: dict[str, int] = words_of(__file__, "operations_per_element.yaml")


class OperationCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operations of all that torch computes in a `with` block.

    An element-wise function counts 1 for each element of its result, a reduction or a sort 1 for each element that it
    reads; the functions in PER_ELEMENT count more, or nothing. Matrix products and convolutions count as in torch's own
    counter.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0  # so far

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        options = kwargs or {}
        result = function(*args, **options)
        self.operations += _operations(function, args, options, result)
        return result


def _operations(function: Any, args: tuple[Any, ...], options: dict[str, Any], result: Any) -> int:
    if function.overloadpacket in flop_registry:
        return int(flop_registry[function.overloadpacket](*args, **options, out_val=result))
    per_element = _per_element(function)
    if not per_element:
        return 0
    elements = _most_elements((args, tuple(options.values()), result))
    if options.get("alpha", 1) != 1:  # `add` and `sub` multiply their second operand by it
        per_element += 1
    return per_element * elements


def _most_elements(value: Any) -> int:
    # This runs for every function that torch calls, and torch's own `tree_leaves` takes several times as long.
    if isinstance(value, Tensor):
        return value.numel()
    if isinstance(value, (tuple, list)):
        return max(map(_most_elements, value), default=0)
    return 0


@cache
def _per_element(function: Any) -> int:
    """Return the operations for each element of an ATen function that is not a product; 0 if it computes nothing."""
    # "aten::clamp_.Tensor" has the namespace, the name, an underscore if it works in place, and the overload.
    name = function.name().partition("::")[2].partition(".")[0].removesuffix("_")
    if function.is_view:
        return 0
    return PER_ELEMENT.get(name, 1)
