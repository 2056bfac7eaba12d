"""Local training: jobs are taken while the clock runs and trained in one batched call."""

from edgefl.learner.learner import Evaluation, Job, Learner

__all__ = ["Evaluation", "Job", "Learner"]
