"""Local training: jobs are taken while the clock runs and trained in one batched call."""

from edgefl.learning.learner.evaluation import Evaluation, Pending
from edgefl.learning.learner.learner import Learner

__all__ = ["Evaluation", "Learner", "Pending"]
