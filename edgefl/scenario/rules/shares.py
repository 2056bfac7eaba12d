"""Rules about the band: features that need fixed shares exclude features that change shares during a round.

Each pair is refused for any `radio.sharing`, so that remedies never lead from "set it to fixed" to "set it to
processor" and back.
"""

from typing import NamedTuple

from edgefl.scenario.facts import radio, server, world
from edgefl.scenario.facts.fact import Fact
from edgefl.scenario.rules.remedies import ROUNDS_TOGETHER
from edgefl.scenario.rules.rule import Remedy, Rule, leave_out, set_to


class _NeedsFixed(NamedTuple):
    key: str
    fact: Fact
    name: str
    remedy: Remedy


class _Changes(NamedTuple):
    fact: Fact
    reason: str
    remedies: tuple[Remedy, ...]


_NEED_FIXED = (
    _NeedsFixed("server.optimiser", server.optimiser_decides, "{optimiser}", leave_out("server.optimiser")),
    _NeedsFixed("radio.allocation", radio.allocates_by_forecast, "{allocation}", leave_out("radio.allocation")),
    _NeedsFixed("radio.downlink", radio.is_broadcast, "a broadcast", set_to("radio.downlink", "unicast")),
)

_CHANGE = (
    _Changes(server.rounds_overlap, "rounds of the policy {policy} overlap", ROUNDS_TOGETHER),
    _Changes(world.hands_over, "cells.handover lets devices change cells", (leave_out("cells.handover"),)),
    _Changes(
        radio.interference_changes_in_time,
        "interference changes with radio.large_scale: time",
        (set_to("radio.large_scale", "round"),),
    ),
    _Changes(
        radio.overlap_changes_in_time,
        "interference among uploads changes with radio.large_scale: time",
        (set_to("radio.large_scale", "round"),),
    ),
    _Changes(radio.background_varies, "other users of the band come and go", (leave_out("radio.background"),)),
    _Changes(radio.allocates_in_time, "{allocation} gives turns", (leave_out("radio.allocation"),)),
)

FIXED_OR_NOT = tuple(
    Rule(
        fixed.key,
        (fixed.fact, changing.fact),
        f"{fixed.name} needs shares of the band that hold for the round, and {changing.reason}",
        (fixed.remedy, *changing.remedies),
    )
    for fixed in _NEED_FIXED
    for changing in _CHANGE
    if not (fixed.fact is radio.allocates_by_forecast and changing.fact is radio.allocates_in_time)  # one is enough
)

IN_TIME = (
    Rule(
        "radio.sharing",
        (radio.allocates_in_time, radio.shares_are_fixed),
        "{allocation} gives turns that follow the channel, and fixed shares hold for the round",
        (set_to("radio.sharing", "processor"), leave_out("radio.allocation")),
    ),
)
