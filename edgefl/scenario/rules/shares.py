"""Rules about the band: features that need fixed shares exclude features that change shares during a round.

Each pair is refused for any `radio.sharing`, so that remedies never lead from "set it to fixed" to "set it to
processor" and back.
"""

from edgefl.scenario.rules import features

_NEED_FIXED = {
    "{optimiser}": features.OPTIMISER,
    "{allocation}": features.FORECASTING_ALLOCATION,
    "a broadcast": features.BROADCAST,
}

_CHANGE = {
    "rounds of the policy {policy} overlap": features.OVERLAPPING_ROUNDS,
    "cells.handover lets devices change cells": features.HANDOVER,
    "interference changes with radio.large_scale: time": features.CHANGING_INTERFERENCE,
    "interference among uploads changes with radio.large_scale: time": features.CHANGING_OVERLAP,
    "other users of the band come and go": features.VARYING_BACKGROUND,
    "{allocation} gives turns": features.TURNS,
}

FIXED_OR_NOT = tuple(
    fixed.excludes(changing, f"{name} needs shares of the band that hold for the round, and {reason}")
    for name, fixed in _NEED_FIXED.items()
    for reason, changing in _CHANGE.items()
    if fixed.key != changing.key  # a run has one allocation
)

IN_TIME = (
    features.FIXED_SHARES.excludes(
        features.TURNS, "{allocation} gives turns that follow the channel, and fixed shares hold for the round"
    ),
)
