"""SUMO's times and unknown numbers."""

UNKNOWN = -(2.0**30)  # instead of a position or speed that SUMO does not know, -1073741824.00
SECONDS_PER_PART = (1.0, 60.0, 3600.0, 86400.0)  # of seconds, minutes, hours and days


def seconds(text: str) -> float | None:
    """Return the seconds of a time such as 3725.50, 1:02:05.50 or 2:01:02:05.50 (with days); None if it is none."""
    parts = text.removeprefix("-").split(":")
    if len(parts) not in {1, 3, 4}:
        return None
    try:
        values = [float(part) for part in reversed(parts)]
    except ValueError:
        return None
    found = sum(value * scale for value, scale in zip(values, SECONDS_PER_PART, strict=False))
    if text.startswith("-"):
        return -found
    return found
