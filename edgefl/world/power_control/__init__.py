"""Uplink power controls: one file a rule; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue
from edgefl.world.power_control.base import PowerControl, Uplinks

POWER_CONTROLS: Catalogue[PowerControl] = Catalogue(
    noun="power control",
    members={
        "full": "edgefl.world.power_control.full:FullPower",
        "open_loop": "edgefl.world.power_control.open_loop:OpenLoop",
    },
    base=PowerControl,
    kind="power_control",
)

__all__ = ["POWER_CONTROLS", "PowerControl", "Uplinks"]
