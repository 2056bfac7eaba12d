"""An MLflow run (`edgefl[mlflow]`)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from edgefl.core.errors import InputError
from edgefl.results.extras import require
from edgefl.results.tracking.base import Tracker
from edgefl.scenario import Scenario

AT_ONCE, LONGEST = 100, 6000  # parameters in a message, characters of one: what MLflow takes
STATUS = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
# MLflow's own patience is minutes; a server that has gone away must not hold up a run. The user's settings go first.
PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "20"}


class MlflowRun(Tracker):
    """Metrics by round, and the scenario as parameters, in the experiment of the scenario's name.

    Raises:
        InputError: MLflow is not there, or has no store at `uri`.
    """

    option = "--mlflow"

    def __init__(self, scenario: Scenario, uri: str) -> None:
        require("mlflow", "mlflow", self.option)
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        super().__init__(scenario)
        self._experiment, self._name, self._run = scenario.name, f"seed-{scenario.seed}", ""
        self.failures = (OSError, MlflowException)
        for key, value in PATIENCE.items():
            os.environ.setdefault(key, value)
        try:
            self._client = MlflowClient(uri)
            self._client.get_experiment_by_name(self._experiment)
        except self.failures as error:
            raise InputError(f"{self.option} {uri}: {' '.join(str(error).split())}") from None

    def open(self) -> None:
        """Begin a run, in a new experiment if there is none of the name."""
        from mlflow.entities import Param

        found = self._client.get_experiment_by_name(self._experiment)
        experiment = found.experiment_id if found else self._client.create_experiment(self._experiment)
        self._run = self._client.create_run(experiment, run_name=self._name).info.run_id
        parameters = [Param(key, text[:LONGEST]) for key, text in self.parameters.items()]
        for start in range(0, len(parameters), AT_ONCE):
            self._client.log_batch(self._run, params=parameters[start : start + AT_ONCE])

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """A metric a column."""
        from mlflow.entities import Metric

        now_ms = int(1000 * time.time())
        self._client.log_batch(
            self._run, metrics=[Metric(name, value, now_ms, step) for name, value in figures.items()]
        )

    def close(self) -> None:
        """Tell how the run has ended."""
        self._client.set_terminated(self._run, STATUS[self.status])
