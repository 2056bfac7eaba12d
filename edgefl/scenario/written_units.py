"""The units that people write after numbers, such as MHz, and those that the endings of keys name, such as `_hz`."""

import math
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit; of a level in decibels, the reference."""

    quantity: str  # "time"
    size: float  # in the base unit of the quantity
    is_level: bool = False

    def in_base(self, number: float) -> float:
        """Return a number in this unit in the base unit of its quantity."""
        if self.is_level:
            return self.size * math.pow(10, number / 10)
        return self.size * number

    def from_base(self, amount: float) -> float:
        """Return an amount in the base unit as a number in this unit; NaN for a level of something not positive."""
        if not self.is_level:
            return amount / self.size
        if amount <= 0:
            return math.nan
        return 10 * math.log10(amount / self.size)


class UnitOfKey(NamedTuple):
    """The unit that the ending of a key names."""

    name: str
    unit: Unit


PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}  # that may stand alone after a number, as in 20M
_SMALL = {"m": 1e-3, "µ": 1e-6, "u": 1e-6, "n": 1e-9}
_DAY_S = 86400.0

# By the ending of a key's name; the first that fits counts, so longer endings come first.
_OF_KEYS = {
    "_dbm_hz": UnitOfKey("dBm/Hz", Unit("power density", 1e-3, is_level=True)),
    "_bps_hz": UnitOfKey("bit/s/Hz", Unit("spectral efficiency", 1.0)),
    "_j_per_mbit": UnitOfKey("J/Mbit", Unit("energy for data", 1e-6)),
    "_flops_per_s": UnitOfKey("operations/s", Unit("computing speed", 1.0)),
    "_bytes_per_s": UnitOfKey("B/s", Unit("data rate", 8.0)),
    "_per_s": UnitOfKey("1/s", Unit("frequency", 1.0)),
    "_hz": UnitOfKey("Hz", Unit("frequency", 1.0)),
    "_ms": UnitOfKey("ms", Unit("time", 1e-3)),
    "_ns": UnitOfKey("ns", Unit("time", 1e-9)),
    "_s": UnitOfKey("s", Unit("time", 1.0)),
    "_h": UnitOfKey("h", Unit("time", 3600.0)),
    "_mps": UnitOfKey("m/s", Unit("speed", 1.0)),
    "_m": UnitOfKey("m", Unit("length", 1.0)),
    "_px": UnitOfKey("pixels", Unit("number of pixels", 1.0)),
    "_deg": UnitOfKey("degrees", Unit("angle", 1.0)),
    "_dbm": UnitOfKey("dBm", Unit("power", 1e-3, is_level=True)),
    "_dbi": UnitOfKey("dBi", Unit("ratio", 1.0, is_level=True)),
    "_db": UnitOfKey("dB", Unit("ratio", 1.0, is_level=True)),
    "_w": UnitOfKey("W", Unit("power", 1.0)),
    "_j": UnitOfKey("J", Unit("energy", 1.0)),
    "_mah": UnitOfKey("mAh", Unit("charge", 3.6)),
    "_v": UnitOfKey("V", Unit("voltage", 1.0)),
    "_bits": UnitOfKey("bit", Unit("amount of data", 1.0)),
    "_bps": UnitOfKey("bit/s", Unit("data rate", 1.0)),
}


def unit_of_key(key: str) -> UnitOfKey | None:
    """Return the unit that the ending of a key names; None if it names none."""
    for ending, unit in _OF_KEYS.items():
        if f"_{key}".endswith(ending):
            return unit
    return None


def factor_of_prefix(written: str) -> float | None:
    """Return the factor of a prefix that stands alone, such as M; None if the text is none. K means k, too."""
    if written == "K":
        return PREFIXES["k"]
    return PREFIXES.get(written)


def meanings_of_unit(written: str, quantity: str = "") -> list[Unit]:
    """Return the units that a text may mean: the one of that symbol or name, or else all that differ in case alone.

    Args:
        written: the text, such as mhz.
        quantity: that of the key; a prefix alone stands for a unit of it, and others count only if none is of it.
    """
    known = _written_units()
    if written in known:
        return [known[written]]
    if base := _WITH_PREFIX_ALONE.get(quantity):
        factor = factor_of_prefix(written)
        if factor is not None:
            return [Unit(quantity, factor * base)]
    alike = {unit for name, unit in known.items() if name.lower() == written.lower()}
    return [unit for unit in alike if unit.quantity == quantity] or sorted(alike)


# The size of the unit that a prefix alone stands for: 20M of a bandwidth are 20 MHz.
_WITH_PREFIX_ALONE = {
    "frequency": 1.0,
    "power": 1.0,
    "energy": 1.0,
    "amount of data": 1.0,
    "data rate": 1.0,
    "computing speed": 1.0,
}


@cache
def _written_units() -> Mapping[str, Unit]:
    """Return the units that people write, by their symbols and names."""
    found: dict[str, Unit] = {}

    def add(quantity: str, sizes: Mapping[str, float], prefixes: Mapping[str, float] | None = None) -> None:
        for name, size in sizes.items():
            found[name] = Unit(quantity, size)
            for prefix, factor in (prefixes or {}).items():
                found[f"{prefix}{name}"] = Unit(quantity, factor * size)

    add("frequency", {"Hz": 1.0}, PREFIXES)
    add("frequency", {"1/s": 1.0, "/s": 1.0, "per second": 1.0, "1/min": 1 / 60, "/min": 1 / 60, "1/h": 1 / 3600})
    add("time", {"s": 1.0}, _SMALL)
    add("time", {"sec": 1.0, "secs": 1.0, "second": 1.0, "seconds": 1.0, "msec": 1e-3})
    add("time", {"min": 60.0, "mins": 60.0, "minute": 60.0, "minutes": 60.0})
    add("time", {"h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0})
    add("time", {"d": _DAY_S, "day": _DAY_S, "days": _DAY_S, "week": 7 * _DAY_S, "weeks": 7 * _DAY_S})
    add("length", {"m": 1.0, "km": 1e3, "cm": 0.01, "mm": 1e-3, "ft": 0.3048, "mi": 1609.344})
    add("length", {"meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0})
    add("speed", {"m/s": 1.0, "mps": 1.0, "km/h": 1 / 3.6, "kmh": 1 / 3.6, "kph": 1 / 3.6, "mph": 0.44704})
    add("power", {"W": 1.0, "watt": 1.0, "watts": 1.0}, PREFIXES | _SMALL)
    add("energy", {"J": 1.0, "Wh": 3600.0}, PREFIXES | _SMALL)
    add("charge", {"Ah": 3600.0}, _SMALL)
    add("voltage", {"V": 1.0, "volt": 1.0, "volts": 1.0}, _SMALL)
    add("amount of data", {"bit": 1.0, "bits": 1.0, "b": 1.0, "B": 8.0, "byte": 8.0, "bytes": 8.0}, PREFIXES)
    add("amount of data", {"KB": 8e3, "KiB": 8 * 2.0**10, "MiB": 8 * 2.0**20, "GiB": 8 * 2.0**30})
    add("data rate", {"bit/s": 1.0, "b/s": 1.0, "bps": 1.0, "B/s": 8.0}, PREFIXES)
    add("computing speed", {"FLOPS": 1.0, "FLOP/s": 1.0, "operations/s": 1.0}, PREFIXES | {"P": 1e15})
    add("energy for data", {"J/bit": 1.0, "J/b": 1.0}, _SMALL)
    add("energy for data", {"J/Mbit": 1e-6, "J/Mb": 1e-6, "J/Gbit": 1e-9, "mJ/Mbit": 1e-9})
    add("spectral efficiency", {"bit/s/Hz": 1.0, "bps/Hz": 1.0, "b/s/Hz": 1.0})
    add("angle", {"deg": 1.0, "degree": 1.0, "degrees": 1.0, "°": 1.0, "rad": 180 / math.pi, "radians": 180 / math.pi})
    add("number of pixels", {"px": 1.0, "pixel": 1.0, "pixels": 1.0})
    add("power density", {"W/Hz": 1.0, "mW/Hz": 1e-3, "W/MHz": 1e-6})
    levels = {"dBm": ("power", 1e-3), "dBW": ("power", 1.0), "dB": ("ratio", 1.0), "dBi": ("ratio", 1.0)}
    levels |= {"dBm/Hz": ("power density", 1e-3), "dBm/MHz": ("power density", 1e-9), "dBW/Hz": ("power density", 1.0)}
    for name, (quantity, size) in levels.items():
        found[name] = Unit(quantity, size, is_level=True)
    return found
