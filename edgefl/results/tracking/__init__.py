"""Finished rounds for experiment trackers: TensorBoard and Weights & Biases (docs/export.md)."""

from edgefl.results.tracking.base import Tracker, together
from edgefl.results.tracking.tensorboard_events import TensorBoardEvents
from edgefl.results.tracking.wandb_run import WandbRun

__all__ = ["TensorBoardEvents", "Tracker", "WandbRun", "together"]
