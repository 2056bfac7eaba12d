"""What the user says of a source of a gain map."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ImportOptions:
    """Options of the import."""

    # The point of the source that becomes (0, 0): x, y in metres, or latitude, longitude in degrees. None: (0, 0), or
    # the mean of all places in degrees.
    origin: tuple[float, float] | None = None
    step_m: float | None = None  # of the grid, for measurements
    power_dbm: float | None = None  # of a resource element's reference signal, for RSRP
    receivers: int | None = None  # the set of receivers, of DeepMIMO
    columns: Mapping[str, str] = field(default_factory=dict)  # the file's names of columns, of measurements
