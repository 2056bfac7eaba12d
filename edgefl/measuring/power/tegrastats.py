"""NVIDIA's program `tegrastats`, which prints the powers of a Jetson's rails."""

import re
import subprocess
from typing import IO

from edgefl.measuring.power.source import NotThere, Source, chosen_rails

PERIOD_MS = 200  # longer than that of readings, so that no lines pile up
# VDD_IN 4900mW/5000mW: the power now, and its mean; older versions write no unit.
RAIL = re.compile(r"\b((?:VDD|VIN|POM)\w*) (\d+)(?:mW)?/\d+")


def source(program: str = "tegrastats") -> Source:
    """Return the board's input, or all rails together; each reading waits for the program's next line.

    Raises:
        NotThere: the program is not installed, or prints no powers.
    """
    try:
        process = subprocess.Popen(  # noqa: S603 - a fixed command
            [program, "--interval", str(PERIOD_MS)], stdout=subprocess.PIPE, text=True
        )
    except OSError:
        raise NotThere(f"{program} is not installed: it comes with NVIDIA's Linux for Jetson") from None
    lines: IO[str] = process.stdout  # type: ignore[assignment]  # it is a pipe

    def close() -> None:
        process.kill()
        process.communicate()

    parts = chosen_rails(rails_in(lines.readline()))
    if not parts:
        close()
        raise NotThere(f"{program} prints no power of a rail, such as VDD_IN 4900mW/5000mW, on this board")

    def watts() -> float:
        rails = rails_in(lines.readline())
        if not rails:
            raise NotThere(f"{program} has ended")
        return sum(rails[part] for part in parts)

    return Source(f"tegrastats {', '.join(parts)}", watts, close=close)


def rails_in(line: str) -> dict[str, float]:
    """Return the power [W] of each rail in a line of the program."""
    return {name: int(milliwatts) / 1e3 for name, milliwatts in RAIL.findall(line)}
