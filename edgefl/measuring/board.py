"""The board: its name, its processor's clock and its temperature, as far as Linux shows them."""

import platform
from contextlib import suppress
from pathlib import Path

CLOCK_HZ = "clock [Hz]"
FILES = {  # with the factor of their numbers
    CLOCK_HZ: ("devices/system/cpu/cpufreq/policy*/scaling_cur_freq", 1e3),
    "temperature [degrees C]": ("class/thermal/thermal_zone*/temp", 1e-3),
}


def board_name(model: Path = Path("/proc/device-tree/model")) -> str:
    """Return the board's name in the device tree, or else the system and its architecture."""
    try:
        return model.read_text(encoding="utf-8").strip("\0 \n")
    except OSError:
        return f"{platform.system()} {platform.machine()}"


def state(system: Path = Path("/sys")) -> dict[str, float]:
    """Return the highest clock and the highest temperature now; without those that Linux does not show."""
    found: dict[str, float] = {}
    for name, (pattern, factor) in FILES.items():
        for path in system.glob(pattern):
            with suppress(OSError, ValueError):  # some sensors sleep
                found[name] = max(found.get(name, 0.0), factor * float(path.read_text()))
    return found
