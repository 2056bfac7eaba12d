"""An MLflow run (the extra `mlflow`)."""

import os
import time
from collections.abc import Mapping

from edgefl.core.errors import InputError
from edgefl.core.extras import require
from edgefl.results.tracking.base import Tracker
from edgefl.scenario import Scenario

# MLflow's limits
PARAMETERS_PER_MESSAGE = 100
LONGEST_PARAMETER = 6000  # characters
MLFLOW_STATUS = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
# By default MLflow waits for minutes; a lost server must not delay a run. The user's settings win.
REQUEST_LIMITS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}


class MlflowRun(Tracker):
    """Metrics by round, and the scenario as parameters, in an experiment with the scenario's name.

    Raises:
        InputError: MLflow is not installed, or has no store at `uri`.
    """

    option = "--mlflow"

    def __init__(self, scenario: Scenario, uri: str) -> None:
        require("mlflow", "mlflow", self.option)
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        super().__init__(scenario)
        self.failures = (OSError, MlflowException)
        self._experiment = scenario.name
        self._name = f"seed-{scenario.seed}"
        if scenario.label:
            self._name = f"{scenario.label}, seed {scenario.seed}"
        self._run_id = ""  # known from `open` on
        for key, value in REQUEST_LIMITS.items():
            os.environ.setdefault(key, value)
        try:
            self._client = MlflowClient(uri)
            self._client.get_experiment_by_name(self._experiment)  # refuses a store that does not answer
        except self.failures as error:
            raise InputError(f"{self.option} {uri}: {' '.join(str(error).split())}") from None

    def open(self) -> None:
        """Begin a run, in a new experiment if there is none with the name."""
        from mlflow.entities import Param

        found = self._client.get_experiment_by_name(self._experiment)
        experiment_id = found.experiment_id if found else self._client.create_experiment(self._experiment)
        self._run_id = self._client.create_run(experiment_id, run_name=self._name).info.run_id
        parameters = [Param(key, text[:LONGEST_PARAMETER]) for key, text in self.parameters.items()]
        for start in range(0, len(parameters), PARAMETERS_PER_MESSAGE):
            self._client.log_batch(self._run_id, params=parameters[start : start + PARAMETERS_PER_MESSAGE])

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Log a metric for each column."""
        from mlflow.entities import Metric

        now_ms = int(1000 * time.time())
        metrics = [Metric(name, value, now_ms, step) for name, value in figures.items()]
        self._client.log_batch(self._run_id, metrics=metrics)

    def close(self) -> None:
        """Log the status of the run."""
        self._client.set_terminated(self._run_id, MLFLOW_STATUS[self.status])
