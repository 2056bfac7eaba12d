"""The policy of a run that a Flower app drives, as the result folder's scenario.yaml names it."""

from collections.abc import Generator
from typing import Any, ClassVar, Literal

from pydantic import PrivateAttr

from edgefl.coordination.policies.base import Coordinator, Policy
from edgefl.core.errors import RunError
from edgefl.server.clock import Event


class FlowerApp(Policy):
    """The ServerApp of a Flower app chooses participants, and decides when rounds end: `edgefl flower` runs it."""

    exchanges: ClassVar[bool] = True

    app: str  # name of the app
    version: str
    run_config: dict[str, bool | int | float | str]
    operations: Literal["app", "world"] = "app"  # whether operations are counted in the app or follow from the world

    _over: Event | None = PrivateAttr(None)

    def end_with(self, over: Event) -> None:
        """Let the run end with an event."""
        self._over = over

    def run(self, server: Coordinator) -> Generator[Event, Any, None]:
        """Wait until the app is over: it drives the rounds from outside.

        Raises:
            RunError: the scenario was given to `edgefl run`, without an app.
        """
        if self._over is None:
            remedy = f"run it again with `edgefl flower APP --world FILE`, APP being the folder of {self.app}"
            raise RunError(f"server.policy: a Flower app drove this run: {remedy}")
        yield self._over
