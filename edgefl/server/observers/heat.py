"""Heat of processors that slow down when they are hot."""

from dataclasses import dataclass

from edgefl.server.observer import Observer
from edgefl.server.participation import Participation
from edgefl.world.throttling import Heat


@dataclass(eq=False)
class ProcessorHeat(Observer):
    """Notes when each device has computed."""

    heat: Heat  # how hot each processor is

    def ends(self, part: Participation) -> None:
        """Note that a device has computed until its upload began."""
        if part.compute_s > 0:
            until_s = part.end_s - part.up.duration_s
            self.heat.computed(part.device, until_s - part.compute_s, until_s)
