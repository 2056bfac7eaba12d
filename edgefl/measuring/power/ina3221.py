"""The INA3221, a meter of three rails, which Jetson boards have; Linux shows it under /sys/class/hwmon."""

from pathlib import Path

from edgefl.measuring.power.reader import NotThere, Reader, chosen_rails, number_in

CHIP = "ina3221"
MILLI = 1e-3
MICRO = 1e-6


def reader(root: Path = Path("/sys/class/hwmon")) -> Reader:
    """Return the reader of the board's input, or of all rails together.

    Raises:
        NotThere: there is no such chip, or it may not be read.
    """
    rails: dict[str, tuple[Path, str]] = {}  # folder and number, by label
    for name in sorted(root.glob("hwmon*/name")):
        if name.read_text().strip() != CHIP:
            continue
        for number in "123":  # the other channels are sums
            label = name.with_name(f"in{number}_label")
            if label.exists():
                rails[label.read_text().strip()] = (name.parent, number)
    if not rails:
        raise NotThere(f"{root} has no {CHIP}: Jetson boards have this meter, other boards need a USB meter")
    parts = chosen_rails(rails)
    found = Reader(f"INA3221 {', '.join(parts)}", lambda: sum(_watts(*rails[part]) for part in parts))
    found.read()  # so that it fails here if it may not be read
    return found


def _watts(folder: Path, number: str) -> float:
    power = folder / f"power{number}_input"
    if power.exists():
        return MICRO * number_in(power)
    volts = MILLI * number_in(folder / f"in{number}_input")
    return volts * MILLI * number_in(folder / f"curr{number}_input")
