"""The energy counters of processors (RAPL), which Linux shows under /sys/class/powercap."""

from pathlib import Path

from edgefl.measuring.power.reader import NotThere, Reader, number_in

WHOLE = "psys"  # the zone of the whole platform, which few machines have
JOULES = 1e-6  # in the counters' unit


class _Zone:
    """A counter, which begins again at 0 behind its largest number."""

    def __init__(self, folder: Path) -> None:
        self._counter = folder / "energy_uj"
        self._range = number_in(folder / "max_energy_range_uj")
        self._last = number_in(self._counter)
        self._total = 0.0

    def joules(self) -> float:
        """Return the energy since the first reading."""
        now = number_in(self._counter)
        self._total += (now - self._last) % self._range
        self._last = now
        return JOULES * self._total


def reader(root: Path = Path("/sys/class/powercap")) -> Reader:
    """Return the reader of the platform's counter, or of those of all processors.

    Raises:
        NotThere: there are none, or they may not be read.
    """
    # Zones with a second number, such as intel-rapl:0:1, are parts of others.
    folders = {folder: _name(folder) for folder in sorted(root.glob("intel-rapl:*")) if folder.name.count(":") == 1}
    if not folders:
        raise NotThere(f"{root} has no intel-rapl: only processors of Intel and AMD count their energy")
    parts = [folder for folder, name in folders.items() if name == WHOLE] or list(folders)
    zones = [_Zone(folder) for folder in parts]
    scope = f"RAPL {', '.join(folders[folder] for folder in parts)}"
    if folders[parts[0]] != WHOLE:
        scope = f"{scope}: processors only"
    return Reader(scope, lambda: sum(zone.joules() for zone in zones), is_energy=True)


def _name(folder: Path) -> str:
    try:
        return (folder / "name").read_text().strip()
    except OSError:
        return folder.name
