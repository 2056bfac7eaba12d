"""Algorithms that change some of the hooks of another one."""

from collections.abc import Callable
from typing import Any

from edgefl.learning.algorithms.base import Algorithm

FLAGS = ("needs_gradient", "replays", "weighs_population", "uploads_changes", "needs_classes")
HOOKS = (  # in the order of a run's calls
    "know_groups", "check", "server_state", "device_rows", "client_state", "own_models", "awaited", "admit", "waits",
    "broadcast", "downlink", "sent_once", "labels", "references", "loss", "added_loss", "correct", "decay", "finish",
    "derived", "remember", "aggregate", "trace", "contributors", "carried_over", "share_in_means",
)  # fmt: skip


class Wrapper(Algorithm):
    """Base of algorithms that change some hooks of another one, `base`; here every hook still calls that of `base`."""

    base: Algorithm  # the algorithm that is changed

    def check_sessions(self, groups: int) -> tuple[str, str] | None:
        misfit = self.base.check_sessions(groups)
        if misfit is None:
            return None
        _, reason = misfit
        return "base", reason


def _hook_of_base(name: str) -> Callable[..., Any]:
    def hook(self: Wrapper, *args: Any) -> Any:
        return getattr(self.base, name)(*args)

    hook.__name__ = name
    return hook


def _flag_of_base(name: str) -> property:
    return property(lambda self: getattr(self.base, name))


for _name in HOOKS:
    setattr(Wrapper, _name, _hook_of_base(_name))
for _name in FLAGS:
    setattr(Wrapper, _name, _flag_of_base(_name))
