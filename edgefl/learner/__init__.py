"""Local training: jobs are taken while the clock runs and trained in one batched call."""

from edgefl.learner.evaluation import Evaluation, Pending
from edgefl.learner.learner import Learner

__all__ = ["Evaluation", "Learner", "Pending"]
