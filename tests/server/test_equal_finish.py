"""The allocation equal_finish in the emulated world: over a channel that does not change all uploads end together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import edgefl

SLOT_S = 0.0005
# No device moves, so the fading at the beginning of a round stays as it is.
STILL: dict[str, Any] = {
    "rounds": 2,
    "data": {"dataset": "digits"},
    "devices": {"count": 6, "cpu_hz": {"uniform": [2e7, 2e8]}},
    "server": {"csi": {"kind": "perfect", "report_bits": 0}},  # rows of participations alone
    "mobility": {"kind": "static", "speed_mps": 0},
    "radio": {"bandwidth_hz": 2e6, "slot_s": SLOT_S, "allocation": "equal_finish"},
}


def run(**sections: dict[str, Any]) -> Any:
    """Return the participations of a run with some more keys."""
    scenario = {name: {**STILL[name], **sections.get(name, {})} for name in ("devices", "server", "radio")}
    return edgefl.run({**STILL, **scenario}, train=False).devices


def ends_s(devices: Any) -> Any:
    """Return when uploads end, from the beginning of their round."""
    return devices["download_s"] + devices["compute_s"] + devices["upload_s"]


@pytest.mark.parametrize(
    "radio",
    [
        {},
        {"downlink": "broadcast", "server_power": "total"},
        {"tdd": {"downlink": 0.25, "uplink": 0.75}, "overhead": {"downlink": 0.1, "uplink": 0.2}},
        {"fading": "ricean", "rate": "truncated_shannon"},
    ],
    ids=["fdd", "broadcast", "frame", "truncated"],
)
def test_all_uploads_end_together(radio: dict[str, Any]) -> None:
    for _, of_round in run(radio=radio).groupby("round"):
        assert len(of_round) == 6
        assert np.ptp(of_round["compute_s"]) > 20 * SLOT_S  # so that it takes some doing
        # The download and the upload each end with a slot, less than one too late.
        assert np.ptp(ends_s(of_round)) < 2 * SLOT_S


@pytest.mark.oracle
def test_rounds_end_sooner_than_with_other_divisions() -> None:
    ours_s = ends_s(run()).max()
    for name in ("equal", "proportional", "min_makespan", "proportional_fair", "max_rate", "round_robin"):
        assert ends_s(run(radio={"allocation": name})).max() > ours_s


def test_with_mean_csi_uploads_end_together_on_average() -> None:
    # A fast fading channel shows its mean: transfers of thousands of slots end within some of them.
    moving = {**STILL, "mobility": {"kind": "static", "speed_mps": 30}, "rounds": 1}
    scenario = {
        **moving,
        "server": {"csi": {"kind": "mean", "report_bits": 0}},
        "radio": STILL["radio"] | {"bandwidth_hz": 2e5},
    }
    devices = edgefl.run(scenario, train=False).devices
    assert np.ptp(ends_s(devices)) < 0.1 * devices["upload_s"].min()
