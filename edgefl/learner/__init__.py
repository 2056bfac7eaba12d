"""Local training: jobs are taken while the clock runs and trained in one batched call."""

from edgefl.learner.learner import Evaluation, Learner, Pending

__all__ = ["Evaluation", "Learner", "Pending"]
