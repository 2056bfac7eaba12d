"""The energy of participations: receiving, computing, sending and waiting.

The same powers meter what batteries supply meanwhile (`observers/battery_meter.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgefl.core.arrays import Floats
from edgefl.radio.transfers import TransferColumns, Way
from edgefl.records.columns import ENERGY_COLUMNS
from edgefl.server.observer import DeviceColumns
from edgefl.server.participation import Participation


class Draws(NamedTuple):
    """What devices [n] draw."""

    powers_w: Mapping[str, Floats]  # in each activity [W] (`World.powers_w`)
    bits_j: Mapping[Way, Floats]  # besides, for the bits received (down) and sent (up)
    drx_tail_s: Floats  # how long their radios stay awake after the last transfer


class Spans(NamedTuple):
    """The activities of participations [n]."""

    down: TransferColumns  # the downloads
    up: TransferColumns  # the uploads
    compute_s: Floats
    wait_s: Floats
    until_s: Floats  # the time at which they stopped waiting


def energy_columns(parts: Sequence[Participation], spans: Spans, draws: Draws) -> DeviceColumns:
    """Return the energy [n] of participations as columns of devices.csv, named in `ENERGY_COLUMNS`.

    The energy of setting up is a column of `observers/device_columns.py`.
    """
    down, up, compute_s, wait_s, until_s = spans
    powers_w, bits_j, drx_tail_s = draws
    # During a transfer the radio is off in slots of the other direction and of other devices, and draws idle power.
    radio_off_s = down.duration_s - down.air_s + up.duration_s - up.air_s
    idle_energy_j = powers_w["idle"] * (wait_s + radio_off_s)
    if drx_tail_s.any():
        # The radio stays awake while the device waits; it sleeps again when the round ends or the device is gone.
        end_s = np.array([part.end_s for part in parts])
        asleep_s = np.array([part.last_transfer_s for part in parts]) + drx_tail_s
        awake_s = np.maximum(np.minimum(asleep_s, until_s) - end_s, 0.0)
        idle_energy_j += (powers_w["tail"] - powers_w["idle"]) * awake_s
    return {
        # Energy is power times time; the radio draws its power only while it is on the air.
        "rx_energy_j": powers_w["rx"] * down.air_s + bits_j["down"],
        "cpu_energy_j": powers_w["cpu"] * compute_s,
        "tx_energy_j": powers_w["tx"] * up.full_power_s + powers_w["circuit"] * up.air_s + bits_j["up"],
        "idle_energy_j": idle_energy_j,
    }


def spent_j(devices: Mapping[str, npt.NDArray[Any]], which: npt.NDArray[np.bool_] | slice = slice(None)) -> float:
    """Return the energy [J] that all participants, or those in rows `which`, have spent."""
    return float(sum(devices[name][which].sum() for name in ENERGY_COLUMNS if name in devices))
