"""The INA3221, a meter of three rails, which Jetson boards have; Linux shows it under /sys/class/hwmon."""

from pathlib import Path

from edgefl.measuring.power.source import NotThere, Source, chosen_rails, number_in

CHIP = "ina3221"
MILLI = 1e-3


def source(root: Path = Path("/sys/class/hwmon")) -> Source:
    """Return the board's input, or all rails together.

    Raises:
        NotThere: there is no such chip, or it may not be read.
    """
    chips = [name.parent for name in sorted(root.glob("hwmon*/name")) if name.read_text().strip() == CHIP]
    # Channels from 4 on are sums, and voltages of shunts.
    labels = {label.read_text().strip(): label for chip in chips for label in sorted(chip.glob("in[123]_label"))}
    if not labels:
        raise NotThere(f"{root} has no {CHIP}: Jetson boards have this meter, other boards need a USB meter")
    parts = chosen_rails(labels)

    def watts() -> float:
        return sum(_watts(labels[part]) for part in parts)

    watts()
    return Source(f"INA3221 {', '.join(parts)}", watts)


def _watts(label: Path) -> float:
    channel = label.name.removeprefix("in").removesuffix("_label")
    volts = MILLI * number_in(label.with_name(f"in{channel}_input"))
    return volts * MILLI * number_in(label.with_name(f"curr{channel}_input"))
