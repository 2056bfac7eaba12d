"""The units that people write after numbers, such as MHz, and those that the endings of keys name, such as `_hz`."""

import math
from collections.abc import Mapping

# By the ending of a key's name; the first that fits counts, so longer endings come first.
_OF_KEYS = {
    "_dbm_hz": "dBm/Hz",
    "_bps_hz": "bit/s/Hz",
    "_j_per_mbit": "J/Mbit",
    "_flops_per_s": "operations/s",
    "_bytes_per_s": "B/s",
    "_per_s": "1/s",
    "_hz": "Hz",
    "_ms": "ms",
    "_ns": "ns",
    "_s": "s",
    "_h": "h",
    "_mps": "m/s",
    "_m": "m",
    "_px": "pixels",
    "_deg": "degrees",
    "_dbm": "dBm",
    "_dbi": "dBi",
    "_db": "dB",
    "_w": "W",
    "_j": "J",
    "_mah": "mAh",
    "_v": "V",
    "_bits": "bit",
    "_bps": "bit/s",
}

# The sizes of units that measure the same. Capitals count, as mW and MW differ.
_SIZES: tuple[Mapping[str, float], ...] = (
    {"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9, "hz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9, "Mhz": 1e6, "Ghz": 1e9},
    {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "min": 60, "h": 3600, "d": 86400, "days": 86400},
    {"mm": 1e-3, "cm": 0.01, "m": 1, "km": 1e3},
    {"m/s": 1, "km/h": 1 / 3.6, "kmh": 1 / 3.6, "mph": 0.44704},
    {"mW": 1e-3, "W": 1, "kW": 1e3, "MW": 1e6},
    {"mJ": 1e-3, "J": 1, "kJ": 1e3, "MJ": 1e6, "Wh": 3600, "kWh": 3.6e6},
    {"mAh": 1e-3, "Ah": 1},
    {"mV": 1e-3, "V": 1},
    {"bit": 1, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "B": 8, "kB": 8e3, "MB": 8e6, "GB": 8e9},
    {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "bps": 1, "kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9}
    | {"B/s": 8, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9},
    {"operations/s": 1, "FLOPS": 1, "MFLOPS": 1e6, "GFLOPS": 1e9, "TFLOPS": 1e12},
)
_LEVELS_W = {"dBm": 1e-3, "dBW": 1.0}  # the powers of 0 dB
MOST_LEVEL = 3000  # dB; 10^300 is near the largest float


def unit_of(key: str) -> str:
    """Return the unit that the ending of a key names, such as Hz; "" if it names none."""
    for ending, unit in _OF_KEYS.items():
        if f"_{key}".endswith(ending):
            return unit
    return ""


def converted(number: float, written: str, wanted: str) -> float | None:
    """Return a number in a unit as a number in another one; None if the units do not measure the same."""
    if written == wanted:
        return number
    if written in _LEVELS_W:
        if number > MOST_LEVEL:
            return None
        number = _LEVELS_W[written] * math.pow(10, number / 10)
        written = "W"
    if wanted in _LEVELS_W:
        watts = converted(number, written, "W")
        if watts is None or watts <= 0:
            return None
        return float(f"{10 * math.log10(watts / _LEVELS_W[wanted]):.4g}")
    for sizes in _SIZES:
        if written in sizes and wanted in sizes:
            return number * sizes[written] / sizes[wanted]
    return None
