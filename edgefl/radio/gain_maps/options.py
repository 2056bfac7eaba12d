"""What the user says of a source of a gain map."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ImportOptions:
    """Options of the import."""

    origin_m: tuple[float, float] = (0.0, 0.0)  # the point of the source that becomes (0, 0)
    step_m: float | None = None  # of the grid, for measurements
    power_dbm: float | None = None  # of a resource element's reference signal, for RSRP
    receivers: int | None = None  # the set of receivers, of DeepMIMO
