"""The table of training engines: the values of `training.engine`, with the class and the kernels of each.

It knows no torch, so sections may read it. An engine is a file in `learner/engines/`, a name and a row.
"""

from importlib import import_module
from typing import Any, Literal, NamedTuple

Kernel = Literal["autograd", "layers", "triton", "vmap"]  # what computes gradients: autograd those of one client
EngineName = Literal["auto", "serial", "batched", "vmap"]
AUTO: EngineName = "auto"  # leaves the choice to edgefl, and has no row


class Engine(NamedTuple):
    """A row of the table."""

    module: str  # in learner/engines/; plans, and manifest.json, name the engine by it
    class_name: str
    kernels: tuple[Kernel, ...]  # that it may train with; to train clients together it needs vmap, for any module

    @property
    def together(self) -> bool:
        """True if it trains several clients together; its class takes a `kernel` and `graphs`."""
        return "vmap" in self.kernels

    def includes(self, other: "Engine") -> bool:
        """Return whether it may train by every plan of another row."""
        return self.module == other.module and set(self.kernels) >= set(other.kernels)

    def imported(self) -> Any:
        """Return its class."""
        return getattr(import_module(f"edgefl.learning.learner.engines.{self.module}"), self.class_name)


ENGINES: dict[str, Engine] = {  # each module has a row of its name
    "serial": Engine("serial", "SerialEngine", ("autograd",)),
    "batched": Engine("batched", "BatchedEngine", ("layers", "triton", "vmap")),
    "vmap": Engine("batched", "BatchedEngine", ("vmap",)),
}


def without_auto(name: str) -> str:
    """Return the engine that a value of `training.engine` asks for where clients train together."""
    return "batched" if name == AUTO else name
