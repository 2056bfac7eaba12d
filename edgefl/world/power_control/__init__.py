"""Uplink power controls: one file a rule; `base.py` says how to write one."""

from edgefl.core.catalogue import Catalogue, members_of
from edgefl.world.power_control.base import PowerControl, Uplinks

POWER_CONTROLS: Catalogue[PowerControl] = Catalogue(
    noun="power control",
    members=members_of(__file__),
    base=PowerControl,
    kind="power_control",
)

__all__ = ["POWER_CONTROLS", "PowerControl", "Uplinks"]
