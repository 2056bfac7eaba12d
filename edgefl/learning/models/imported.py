"""Anyone's own network: `kind: mypackage.mymodule:MyNet`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, Field, ValidationInfo

from edgefl.core.section import fault
from edgefl.learning.models.base import Model

if TYPE_CHECKING:
    from torch import nn


class Imported(Model):
    """A torch module of the user's, by its import path.

    A class or a function that makes the module is called with the scenario's further keys and, if its signature names
    them, with `shape` (of a sample) and `classes`. Inputs are [B, *shape], outputs [B, classes].
    """

    model_config = ConfigDict(extra="allow")  # keys that are not known here are the module's

    import_path: str = Field(exclude=True)

    def check(self, shape: tuple[int, ...], classes: int) -> str | None:
        """Return why the module cannot be used; None if it has something to train, and a number for each class."""
        return super().check(shape, classes) or self._misfit(np.zeros((2, *shape), dtype=np.float32), classes)

    def misfit(self, x: npt.NDArray[Any], classes: int) -> str | None:
        """Return why the module cannot be used, tried on two of the samples, whatever they are; None if it can."""
        return super().check(x.shape[1:], classes) or self._misfit(x[:2], classes)

    def module(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the user's module."""
        maker = target(self.import_path)
        made: nn.Module = maker(**_sizes(maker, shape, classes), **(self.model_extra or {}))
        return made

    def parameters(self, shape: tuple[int, ...], classes: int) -> int:
        """Return the number of parameters, counted."""
        return sum(parameter.numel() for parameter in self._aside(shape, classes).parameters())

    def multiplications(self, shape: tuple[int, ...], classes: int) -> int:
        """Return half of the operations that torch counts in products and convolutions of one sample's forward pass."""
        import torch
        from torch.utils.flop_counter import FlopCounterMode

        module = self._aside(shape, classes)
        # nothing says if samples are token ids: embeddings refuse floating-point numbers, all else accepts them
        sample = torch.zeros(1, *shape)
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            try:
                module(sample)
            except (RuntimeError, TypeError, IndexError):
                module(sample.long())  # token ids
        return int(counter.get_total_flops()) // 2

    def _misfit(self, x: npt.NDArray[Any], classes: int) -> str | None:
        import torch
        from torch import nn

        shape = x.shape[1:]
        outputs = None
        try:
            module = self._aside(shape, classes)
            if isinstance(module, nn.Module):
                with torch.no_grad():
                    outputs = module(torch.from_numpy(np.ascontiguousarray(x)))
        except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
            lines = str(error).splitlines() or [""]
            return f"{self.import_path} on samples of shape {list(shape)}: {type(error).__name__}: {lines[0]}"
        if outputs is None:
            return f"{self.import_path} gives a {type(module).__name__}, must give a torch.nn.Module"
        if not any(parameter.requires_grad for parameter in module.parameters()):
            return f"{self.import_path} has no parameters to train"
        if getattr(outputs, "shape", None) != (len(x), classes):
            got = list(outputs.shape) if hasattr(outputs, "shape") else type(outputs).__name__
            return f"{self.import_path} must give [B, {classes}] for samples [B, ...], got {got} for B = {len(x)}"
        return None

    def _aside(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        """Return the module in evaluation mode, made without touching torch's global generator."""
        import torch

        with torch.random.fork_rng(devices=[]):
            made = self.module(shape, classes)
        # a function may give anything: `_misfit` says what is wrong with it
        return made.eval() if isinstance(made, torch.nn.Module) else made


def _sizes(maker: Callable[..., Any], shape: tuple[int, ...], classes: int) -> dict[str, Any]:
    """Return `shape` and `classes`, as far as the maker's signature names them."""
    named = inspect.signature(maker).parameters
    sizes = {"shape": shape, "classes": classes}
    return {name: size for name, size in sizes.items() if name in named}


@cache
def target(import_path: str) -> Callable[..., Any]:
    """Return what stands at "package.module:name".

    Raises:
        ImportError, AttributeError: there is nothing of that name.
    """
    module, _, name = import_path.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def imported(name: str, keys: dict[str, Any], info: ValidationInfo) -> Model:
    """Return the user's model: a Model as it is, any other maker of modules wrapped; raises pydantic's errors."""
    scenario_folder = Path((info.context or {}).get("base", "."))
    with _importable_from(scenario_folder, Path.cwd()):
        try:
            maker = target(name)
        except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
            raise fault(f'"{name}" cannot be imported: {type(error).__name__}: {error}') from None
    if inspect.isclass(maker) and issubclass(maker, Model):
        return maker.model_validate(keys, context=info.context)
    if not callable(maker):
        raise fault(f'"{name}" is no class or function that makes a torch.nn.Module')
    # tried without being called, so that a missing or unknown key is a fault of the scenario, with its line
    own = {key: value for key, value in keys.items() if key not in Model.model_fields}
    try:
        inspect.signature(maker).bind(**own, **_sizes(maker, (), 0))
    except TypeError as error:
        raise fault(f'"{name}" takes other keys: {error}') from None
    return Imported.model_validate({**keys, "import_path": name}, context=info.context)


@contextmanager
def _importable_from(*folders: Path) -> Iterator[None]:
    """Let modules in these folders be found, too; after all others."""
    before = list(sys.path)
    sys.path += [str(folder.absolute()) for folder in folders]
    try:
        yield
    finally:
        sys.path[:] = before
