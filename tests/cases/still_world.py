"""A small world whose channels do not change: what is forecast there comes true."""

from __future__ import annotations

from typing import Any

SLOT_S = 0.0005
# No device moves, so the fading at the beginning of a round stays as it is.
STILL: dict[str, Any] = {
    "rounds": 2,
    "data": {"dataset": "digits"},
    "devices": {"count": 6, "cpu_hz": {"uniform": [5e8, 1e9]}},
    "mobility": {"kind": "static", "speed_mps": 0},
    "radio": {"bandwidth_hz": 20e6, "slot_s": SLOT_S},
}
