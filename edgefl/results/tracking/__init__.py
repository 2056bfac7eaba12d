"""Finished rounds for experiment trackers: TensorBoard and MLflow (docs/export.md)."""

from edgefl.results.tracking.base import Tracker, together
from edgefl.results.tracking.mlflow_run import MlflowRun
from edgefl.results.tracking.tensorboard_events import TensorBoardEvents

__all__ = ["MlflowRun", "TensorBoardEvents", "Tracker", "together"]
