"""NVIDIA's program `tegrastats`, which prints the powers of a Jetson's rails."""

import re
import shutil
import subprocess

from edgefl.measuring.power.reader import NotThere, Reader, chosen_rails

PROGRAM = "tegrastats"
PERIOD_MS = 200  # longer than that of readings, so that no lines pile up
# VDD_IN 4900mW/5000mW: the power now, and its mean; older versions write no unit.
RAIL = re.compile(r"\b((?:VDD|VIN|POM)\w*) (\d+)(?:mW)?/\d+")


def rails_in(line: str) -> dict[str, float]:
    """Return the power [W] of each rail in a line of the program."""
    return {name: int(milliwatts) / 1e3 for name, milliwatts in RAIL.findall(line)}


def reader(program: str = PROGRAM) -> Reader:
    """Return the reader of the board's input, or of all rails together; each reading waits for the next line.

    Raises:
        NotThere: the program is not installed, or prints no powers.
    """
    found = shutil.which(program)
    if found is None:
        raise NotThere(f"{PROGRAM} is not installed: it comes with NVIDIA's Linux for Jetson")
    process = subprocess.Popen(  # noqa: S603 - a fixed command
        [found, "--interval", str(PERIOD_MS)], stdout=subprocess.PIPE, text=True
    )

    def rails() -> dict[str, float]:
        return rails_in(process.stdout.readline()) if process.stdout else {}

    def close() -> None:
        process.terminate()
        process.communicate()

    parts = chosen_rails(rails())
    if not parts:
        close()
        raise NotThere(f"{PROGRAM} prints no power of a rail, such as VDD_IN 4900mW/5000mW, on this board")

    def watts() -> float:
        now = rails()
        if not now:
            raise NotThere(f"{PROGRAM} has ended")
        return sum(now[part] for part in parts)

    return Reader(f"tegrastats {', '.join(parts)}", watts, close=close)
