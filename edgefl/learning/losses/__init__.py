"""Losses: what local training minimises and tests measure; one file each."""

from edgefl.core.catalogue import Adapter, Catalogue, members_of
from edgefl.learning.losses.base import BatchLoss, Loss

CLASSES = (
    "CrossEntropyLoss",
    "BCEWithLogitsLoss",
    "BCELoss",
    "MSELoss",
    "L1Loss",
    "HuberLoss",
    "SmoothL1Loss",
    "NLLLoss",
)
FUNCTIONS = ("cross_entropy", "binary_cross_entropy_with_logits", "binary_cross_entropy", "mse_loss", "l1_loss")


def _paths_in_torch() -> dict[str, str]:
    """Return what to write for PyTorch's losses as programs name them: nn.MSELoss, F.mse_loss."""
    paths = {"bce": "torch.nn:BCEWithLogitsLoss", "mae": "torch.nn:L1Loss", "huber": "torch.nn:HuberLoss"}
    for name in CLASSES:
        for prefix in ("", "nn.", "torch.nn."):
            for end in ("", "()"):
                paths[f"{prefix}{name}{end}"] = f"torch.nn:{name}"
    for name in FUNCTIONS:
        for prefix in ("F.", "functional.", "nn.functional.", "torch.nn.functional."):
            paths[f"{prefix}{name}"] = f"torch.nn.functional:{name}"
    return paths


LOSSES: Catalogue[Loss] = Catalogue(
    noun="loss",
    members=members_of(__file__),
    base=Loss,
    kind="losses",
    adapter=Adapter("a function of outputs and labels", "edgefl.learning.losses.torch_losses:adapted"),
    elsewhere=_paths_in_torch(),
)

__all__ = ["LOSSES", "BatchLoss", "Loss"]
