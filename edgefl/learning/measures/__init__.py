"""Measures: more records of learned rounds and of models; one file each.

To add one: a file with a subclass of `Measure`, a line here, a test. From outside the package a scenario names it as
`report: {measures: ["my_module:MyMeasure"]}`.
"""

from edgefl.core.catalogue import Catalogue
from edgefl.learning.measures.base import Measure
from edgefl.learning.measures.learned_round import LearnedRound, ModelOutputs
from edgefl.learning.measures.score import Score

MEASURES: Catalogue[Measure] = Catalogue(
    noun="measure",
    members={
        "auc": "edgefl.learning.measures.auc:Auc",
        "binary_accuracy": "edgefl.learning.measures.binary_accuracy:BinaryAccuracy",
        "binary_scores": "edgefl.learning.measures.binary_scores:BinaryScores",
        "calibration": "edgefl.learning.measures.calibration:Calibration",
        "confusion": "edgefl.learning.measures.confusion:Confusion",
        "contributions": "edgefl.learning.measures.contributions:Contributions",
        "device_losses": "edgefl.learning.measures.device_losses:DeviceLosses",
        "f1": "edgefl.learning.measures.f1:F1",
        "gradient_norm": "edgefl.learning.measures.gradient_norm:GradientNorm",
        "local_accuracy": "edgefl.learning.measures.local_accuracy:LocalAccuracy",
        "mae": "edgefl.learning.measures.mae:MeanAbsoluteError",
        "predictions": "edgefl.learning.measures.predictions:Predictions",
        "r2": "edgefl.learning.measures.r2:R2",
    },
    base=Measure,
    kind="measures",
)

__all__ = ["MEASURES", "LearnedRound", "Measure", "ModelOutputs", "Score"]
