"""The energy counters of processors (RAPL), which Linux shows under /sys/class/powercap."""

from collections.abc import Iterator
from pathlib import Path

from edgefl.measuring.power.source import NotThere, Source, number_in

JOULES = 1e-6  # in the counters' unit


def source(root: Path = Path("/sys/class/powercap")) -> Source:
    """Return all processors together.

    Raises:
        NotThere: none has a counter, or they may not be read.
    """
    # Zones with a second number, such as intel-rapl:0:1, are parts of others, and so are zones with another name.
    zones = [
        _joules(name.parent)
        for name in sorted(root.glob("intel-rapl:?/name"))
        if name.read_text().startswith("package")
    ]
    if not zones:
        raise NotThere(f"{root} has no intel-rapl: only processors of Intel and AMD count their energy")

    def joules() -> float:
        return sum(map(next, zones))

    joules()
    return Source("RAPL: processors only", joules, is_energy=True)


def _joules(zone: Path) -> Iterator[float]:
    """Yield the energy since the first reading; the counter begins again at 0 behind its largest number."""
    largest = number_in(zone / "max_energy_range_uj")
    last = number_in(zone / "energy_uj")
    total = 0.0
    while True:
        now = number_in(zone / "energy_uj")
        total += (now - last) % largest
        last = now
        yield JOULES * total
