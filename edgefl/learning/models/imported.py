"""A user's network: `kind: mypackage.mymodule:MyNet`."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field, PrivateAttr, ValidationInfo

from edgefl.core.global_draws import moved, states
from edgefl.core.plugin_import import Access
from edgefl.core.plugin_import import imported as import_path
from edgefl.core.plugins import is_outside, place_of, place_within
from edgefl.core.section import fault
from edgefl.learning.models.base import Model
from edgefl.learning.models.counted import Counted, first_line

if TYPE_CHECKING:
    from torch import nn

KEYED_WEIGHTS = "draw parameters with torch's functions (torch.nn.init): edgefl gives them keyed draws"


class Imported(Counted):
    """A user's torch module, by its import path.

    A class or a function that makes the module is called with the scenario's other keys and, if its signature names
    them, with `shape` (of a sample) and `classes`. Inputs are [B, *shape], outputs [B, classes].
    """

    model_config = ConfigDict(extra="allow")  # keys that are not known here are the module's

    import_path: str = Field(exclude=True)
    _maker: Callable[..., Any] | None = PrivateAttr(None)

    @property
    def title(self) -> str:
        """The import path."""
        return self.import_path

    def made_from(self) -> Callable[..., Any]:
        """Return the class or function that makes the module."""
        if self._maker is None:  # made in Python, without a scenario
            self._maker = import_path(self.import_path, Access())
        maker: Callable[..., Any] = self._maker
        return maker

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return why the module cannot be used; None if it has something to train, and a number for each class."""
        return super().check(shape, classes) or self.refusal(np.zeros((2, *shape), dtype=np.float32), (classes,))

    def misfit(self, x: npt.NDArray[Any], classes: int) -> str | None:
        """Return why the module cannot learn from samples x [n, ...], as far as that is known without a trial."""
        return super().check(x.shape[1:], classes)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the user's module."""
        maker = self.made_from()
        made: nn.Module = maker(**_sizes(maker, shape, classes), **(self.model_extra or {}))
        return made

    def refusal(self, samples: npt.NDArray[Any], outputs: tuple[int, ...]) -> str | None:
        """Return why the module cannot be used on samples [2, ...] in the form of training; None if it can.

        It must give the `outputs` [2, *outputs]: one for each class, or one for each class of each label.
        """
        import torch
        from torch import nn

        shape = samples.shape[1:]
        found: Any = None
        module: Any = None  # a function may give anything
        try:
            module = self._aside(shape, outputs[0])
            if isinstance(module, nn.Module):
                with torch.no_grad(), torch.random.fork_rng(devices=[]):
                    found = module(torch.from_numpy(np.ascontiguousarray(samples)))
        except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
            where = f"{self.import_path} on samples of shape {list(shape)}"
            place = place_within(error, self.made_from())
            return f"{where}: {first_line(error)}{place}{_remedy(module, samples)}"
        if not isinstance(module, nn.Module):
            return f"{self.import_path} gives a {type(module).__name__}, must give a torch.nn.Module"
        if not any(parameter.requires_grad for parameter in module.parameters()):
            return f"{self.import_path} has no parameters to train"
        got = getattr(found, "shape", None)
        if got is None:
            return f"{self._wanted(outputs)}, got {type(found).__name__} for B = {len(samples)}"
        if got != (len(samples), *outputs):
            remedy = _remedy_of_outputs(tuple(got), len(samples), outputs) or _remedy(module, samples)
            return f"{self._wanted(outputs)}, got {list(got)} for B = {len(samples)}{remedy}"
        return None

    def _wanted(self, outputs: tuple[int, ...]) -> str:
        return f"{self.import_path} must give [B, {', '.join(map(str, outputs))}] for samples [B, ...]"

    def global_draw(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return that building the module draws from a generator without a key; None if it does not."""
        drawn = states()
        self._aside(shape, classes)
        for generator in moved(drawn):  # never torch's, which `_aside` leaves as it was
            return f"{self._located()} draws from {generator}: {KEYED_WEIGHTS}"
        return None

    def _located(self) -> str:
        return f"{place_of(self.made_from())}: {self.import_path}"


def has_own_network(model: Model) -> bool:
    """Return whether a model's network is the user's code."""
    return isinstance(model.bare, Imported) or is_outside(type(model.bare))


def _remedy(module: object, samples: npt.NDArray[Any]) -> str:
    """Return a remedy for a module that fails on samples [n, ...], if one is known; otherwise ''."""
    from torch import nn

    if isinstance(module, nn.Module) and np.issubdtype(samples.dtype, np.signedinteger):
        rows = [layer.num_embeddings for layer in module.modules() if isinstance(layer, nn.Embedding | nn.EmbeddingBag)]
        largest = int(samples.max())
        if rows and max(rows) <= largest:
            return f"; its largest embedding has {max(rows)} rows, and the samples hold token ids up to {largest}"
    shape = samples.shape[1:]
    # Weights of two-dimensional convolutions have four axes, whether a layer holds them or the module itself.
    convolves = isinstance(module, nn.Module) and any(weight.ndim == 4 for weight in module.parameters())
    if convolves and len(shape) == 2:
        return f"; gray images have no channel of their own: data.channel_axis: true makes them {[1, *shape]}"
    return ""


def _remedy_of_outputs(got: tuple[int, ...], samples: int, wanted: tuple[int, ...]) -> str:
    """Return a remedy for outputs of the shape `got` instead of [samples, *wanted], if one is known; otherwise ''."""
    classes, *labels = wanted
    if labels and got == (samples, *labels, classes):
        return ": put the classes behind the samples, as torch's cross_entropy has them: .movedim(-1, 1)"
    if labels and got == (samples * math.prod(labels), classes):
        return ": keep the labels of a sample together, without .view(-1, classes)"
    if labels and got == (samples, classes):
        return f"; each sample has labels {labels}"
    if got[:1] == (samples,) and got[2:] == tuple(labels) and len(got) > 1 and got[1] > classes:
        return f"; give classes: {got[1]} with the data if the last classes occur in no label"
    return ""


def _sizes(maker: Callable[..., Any], shape: tuple[int, ...], classes: int) -> dict[str, Any]:
    """Return `shape` and `classes`, as far as the maker's signature names them."""
    named = inspect.signature(maker).parameters
    sizes = {"shape": shape, "classes": classes}
    return {name: size for name, size in sizes.items() if name in named}


def imported(path: str, found: Any, keys: dict[str, Any], info: ValidationInfo) -> Model | None:
    """Return a model that wraps a maker of modules; None for anything else. Raises pydantic's errors.

    Nothing is called. A function that annotates what it returns must return modules; one without is believed.
    """
    if not _makes_modules(found):
        return None
    own = {key: value for key, value in keys.items() if key not in Model.model_fields}
    # Tried without being called, so that a missing or unknown key is a fault of the scenario, with its line.
    try:
        inspect.signature(found).bind(**own, **_sizes(found, (), 0))
    except TypeError as error:
        raise fault(f"{path} takes other keys: {error}") from None
    model = Imported.model_validate({**keys, "import_path": path}, context=info.context)
    model._maker = found  # noqa: SLF001 - its own class's
    return model


def _makes_modules(found: Any) -> bool:
    """Return whether a class is a torch module, or a function from outside Python's own library may make one."""
    torch = sys.modules.get("torch")
    if inspect.isclass(found):
        # Without torch no module can have been defined.
        return torch is not None and issubclass(found, torch.nn.Module)
    if not inspect.isfunction(found) or found.__module__.partition(".")[0] in sys.stdlib_module_names:
        return False
    returned = found.__annotations__.get("return")
    return not inspect.isclass(returned) or (torch is not None and issubclass(returned, torch.nn.Module))
