"""A run of Weights & Biases (the extra `wandb`)."""

from collections.abc import Mapping
from typing import Any

from edgefl.core.extras import require
from edgefl.results.tracking.base import Tracker
from edgefl.scenario import Scenario

EXIT_CODES = {"finished": 0, "interrupted": 130, "failed": 1}


class WandbRun(Tracker):
    """Metrics by round, and the scenario as configuration, in a project, in the group with the scenario's name.

    Where it goes is up to W&B's own settings: with WANDB_MODE=offline it stays in the folder `wandb`.

    Raises:
        InputError: W&B is not installed.
    """

    option = "--wandb"

    def __init__(self, scenario: Scenario, project: str) -> None:
        require("wandb", "wandb", self.option)
        from wandb.errors import Error

        super().__init__(scenario)
        self.failures = (OSError, Error)
        self._project = project
        self._group = scenario.name
        self._name = f"{scenario.name} seed-{scenario.seed}"
        self._run: Any = None  # from `open` on

    def open(self) -> None:
        """Begin a run; W&B does not record what edgefl prints."""
        import wandb

        self._run = wandb.init(
            project=self._project,
            group=self._group,
            name=self._name,
            config=self.typed_parameters(),
            settings=wandb.Settings(console="off", silent=True),
        )

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        """Log a metric for each column."""
        self._run.log(dict(figures), step=step)

    def close(self) -> None:
        """End the run with its status."""
        self._run.finish(exit_code=EXIT_CODES[self.status])
