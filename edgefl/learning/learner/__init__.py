"""Local training: jobs are collected while the clock runs, and trained in one batched call."""

from edgefl.learning.learner.evaluation import Evaluation, Pending
from edgefl.learning.learner.learner import Learner
from edgefl.learning.learner.task import LearningTask

__all__ = ["Evaluation", "Learner", "LearningTask", "Pending"]
