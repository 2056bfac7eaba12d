"""Readings of finished runs for a recipe's `measures`, such as the rounds to an accuracy.

A reading is a class with one method: `read` returns values by the ending of their column, "" for the value itself. So
a measure `last_50` whose reading returns {"": 98.1, "_std": 0.04} makes the columns last_50 and last_50_std. A value is
a number, a text (`numbers_of` reads the texts of curves), or None if the run lacks it. A bound, for a target that was
not reached, is the text ">300". To add one: a class in a module here, its line in READINGS, and a test with a known
answer.
"""

from edgefl.core.catalogue import Catalogue
from edgefl.reproductions.readings.base import Reading

READINGS: Catalogue[Reading] = Catalogue(
    noun="reading",
    members={
        "rounds_to": "edgefl.reproductions.readings.rounds:RoundsTo",
        "last_mean": "edgefl.reproductions.readings.rounds:LastMean",
        "final": "edgefl.reproductions.readings.rounds:Final",
        "best": "edgefl.reproductions.readings.rounds:Best",
        "first_rounds_mean": "edgefl.reproductions.readings.rounds:FirstRoundsMean",
        "rounds_in": "edgefl.reproductions.readings.rounds:RoundsIn",
        "column_mean": "edgefl.reproductions.readings.rounds:ColumnMean",
        "column_final": "edgefl.reproductions.readings.rounds:ColumnFinal",
        "column_at": "edgefl.reproductions.readings.rounds:ColumnAt",
        "column_curve": "edgefl.reproductions.readings.rounds:ColumnCurve",
        "device_percentile": "edgefl.reproductions.readings.devices:DevicePercentile",
        "device_mean": "edgefl.reproductions.readings.devices:DeviceMean",
        "device_sum": "edgefl.reproductions.readings.devices:DeviceSum",
        "device_distribution": "edgefl.reproductions.readings.devices:DeviceDistribution",
        "label_drift": "edgefl.reproductions.readings.devices:LabelDrift",
        "held_labels": "edgefl.reproductions.readings.devices:HeldLabels",
        "confusion": "edgefl.reproductions.readings.devices:Confusion",
        "largest_share": "edgefl.reproductions.readings.devices:LargestShare",
        "classes_held": "edgefl.reproductions.readings.devices:ClassesHeld",
        "loss_spread": "edgefl.reproductions.readings.devices:LossSpread",
        "session_curve": "edgefl.reproductions.readings.rounds:SessionCurve",
        "summary": "edgefl.reproductions.readings.documents:SummaryEntry",
        "manifest": "edgefl.reproductions.readings.documents:ManifestEntry",
        "scenario": "edgefl.reproductions.readings.documents:ScenarioEntry",
        "device_accuracy": "edgefl.reproductions.readings.devices:DeviceAccuracy",
        "device_accuracies": "edgefl.reproductions.readings.devices:DeviceAccuracies",
        "contribution_share": "edgefl.reproductions.readings.devices:ContributionShare",
    },
    base=Reading,
    kind="readings",
)
