"""Numbers with units, for people."""

from __future__ import annotations

from collections.abc import Sequence

Scale = Sequence[tuple[float, str]]
_SECONDS: Scale = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_JOULES: Scale = ((1e6, "MJ"), (1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"))


def seconds(value: float) -> str:
    """A duration [s] such as "3.25 min"."""
    return _scaled(value, _SECONDS)


def energy(value: float) -> str:
    """An energy [J] such as "12.3 kJ"."""
    return _scaled(value, _JOULES)


def _scaled(value: float, scale: Scale) -> str:
    size, unit = next((step for step in scale if abs(value) >= step[0]), scale[-1])
    number = f"{value / size:.3g}"
    return f"{float(number):g} {unit}"
