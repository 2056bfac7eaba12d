"""The guides of the documentation: pages in docs/, by what they explain."""

OF_KEYS = {
    "": "scenario.md",
    "sessions": "sessions.md",
    "targets": "metrics.md",
    "data": "datasets.md",
    "training": "algorithms.md",
    "server": "policies.md",
    "devices": "devices.md",
    "cells": "cells.md",
    "backhaul": "backhaul.md",
    "radio": "channel.md",
    "report": "evaluation.md",
    "import_from": "your-own.md",
    "model": "models.md",
    "algorithm": "algorithms.md",
    "mobility": "mobility.md",
    "churn": "churn.md",
    "stop.patience": "evaluation.md",
    "training.loss": "models.md",
    "training.parts": "models.md",
    "data.validation_share": "evaluation.md",
    "data.partition": "partitions.md",
    "data.redivide": "partitions.md",
    "data.drift": "drift.md",
    "devices.battery": "devices.md",
    "devices.power_control": "channel/power-control.md",
    "cells.antenna": "channel/antennas.md",
    "server.participants": "selection.md",
    "server.selection": "selection.md",
    "server.csi": "csi.md",
    "server.optimiser": "optimisers.md",
    "radio.tdd": "channel/tdd.md",
    "radio.trace": "channel/traces.md",
    "radio.fading": "channel/fading.md",
    "radio.rate": "channel/rates.md",
    "radio.allocation": "channel/allocation.md",
    "radio.uplink": "channel/multiple-access.md",
    "radio.errors": "channel/errors.md",
    "radio.background": "channel/background.md",
    "radio.large_scale": "channel/large-scale.md",
    "radio.shadowing_db": "channel/shadowing.md",
    "radio.spatial_consistency": "channel/shadowing.md",
    "radio.site_correlation": "channel/shadowing.md",
    "radio.sharing": "channel/sharing.md",
    "radio.downlink": "channel/sharing.md",
    "radio.slot_s": "channel/slots.md",
    "radio.subcarrier_spacing_hz": "channel/resource-blocks.md",
    "radio.transfer": "channel/fast.md",
    "radio.faults": "channel/errors.md",
    "radio.access_s": "channel/access.md",
    "radio.interference": "channel/cells.md",
    "radio.reuse": "channel/cells.md",
    "report.what_if": "what-if.md",
}
"""The guide to a section or key; to a key that is missing here, the guide to the section around it."""


def guide_of_key(key: str) -> str:
    """Return the path of the guide to a dotted key, from the root of the repository."""
    while key not in OF_KEYS:
        key = key.rpartition(".")[0]
    return f"docs/{OF_KEYS[key]}"
