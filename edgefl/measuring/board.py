"""The board: its name, its processor's clock and its temperature, as far as Linux shows them."""

import platform
import re
from pathlib import Path

from edgefl.core.machine import processor_model

MODEL = Path("/proc/device-tree/model")
SYSTEM = Path("/sys")


def board_name(model: Path = MODEL) -> str:
    """Return the board's name in the device tree, or else the system and its architecture."""
    try:
        return model.read_text(encoding="utf-8").strip("\0 \n")
    except OSError:
        return f"{platform.system()} {platform.machine()}"


def type_name(model: Path = MODEL) -> str:
    """Return a name for the log's column `device`: the board, or without a device tree the processor."""
    name = processor_model()
    if model.exists():
        name = board_name(model)
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def clock_hz(system: Path = SYSTEM) -> float | None:
    """Return the clock of the fastest core now; None where Linux does not show it."""
    kilohertz = _numbers(system, "devices/system/cpu/cpufreq/policy*/scaling_cur_freq")
    return max(kilohertz) * 1e3 if kilohertz else None


def temperature_c(system: Path = SYSTEM) -> float | None:
    """Return the highest temperature now; None where Linux does not show any."""
    milli = _numbers(system, "class/thermal/thermal_zone*/temp")
    return max(milli) / 1e3 if milli else None


def _numbers(system: Path, pattern: str) -> list[float]:
    found = []
    for path in system.glob(pattern):
        try:
            found.append(float(path.read_text()))
        except (OSError, ValueError):  # some sensors sleep
            continue
    return found
