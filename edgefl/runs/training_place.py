"""The place of training: this machine's processor or GPU, or the machines of a Ray cluster."""

from contextlib import ExitStack
from typing import Any

from edgefl.core.errors import InputError
from edgefl.core.ray_cluster import connected
from edgefl.learning.torch_device import choose_device


def learning_device(device: str, cluster: str | None, *, train: bool) -> str:
    """Return the torch device that trains: cpu, cuda or cuda:i."""
    if not train or cluster is not None:
        return "cpu"
    return choose_device(device)


def joined(cluster: str | None, device: str, undo: ExitStack, *, train: bool) -> Any:
    """Return the Ray cluster whose machines train; None: this machine trains.

    Raises:
        InputError: it cannot be joined, or the options exclude each other.
    """
    if cluster is None:
        return None
    if not train:
        raise InputError("--cluster: its machines train, but --no-train trains nothing: leave one of them out")
    if device not in {"auto", "cpu"}:
        raise InputError(
            f"--device {device}: a run on a cluster trains on its processors: leave it out, "
            "or run on the machine that has the GPU, without --cluster"
        )
    ray = connected(cluster)
    undo.callback(ray.shutdown)
    return ray
