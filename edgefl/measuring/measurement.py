"""A measurement: the times, and where a meter is there the energy, of steps of networks, as a log for a calibration."""

import platform
import re
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from edgefl.calibration.log import LogRow
from edgefl.calibration.writing import counts_bytes, log_bytes
from edgefl.core.errors import InputError
from edgefl.core.files import FileGroup
from edgefl.core.machine import processor_model
from edgefl.core.own_files import begins_with, check_replaceable
from edgefl.core.version import edgefl_version
from edgefl.measuring import board
from edgefl.measuring.networks import Network, Setting
from edgefl.measuring.power import opened
from edgefl.measuring.power.meter_file import powers
from edgefl.measuring.power.reader import Reader
from edgefl.measuring.sampling import Energy, Sampler, within
from edgefl.measuring.timing import Clock, Repeat, Run, repeats, slowdown, spread

LOG_FILE = "log.csv"
COUNTS_FILE = "counts.csv"
FIRST_KEY = "edgefl"  # of the provenance, by which edgefl knows its files
IDLE_S = 5.0
LONGEST_S = 3600.0
MOST_SAMPLES = 10**6  # in a batch
DEVICE_NAME = re.compile(r"[\w.-][\w./ -]{0,99}")
NO_POWER = "none"

CLOCK = "clock"
TEMPERATURE = "temperature"
POWER = "power"


@dataclass(frozen=True)
class Meter:
    """A source of power: a reader, or a file that another program writes meanwhile."""

    reader: Reader | None = None
    file: Path | None = None

    @property
    def scope(self) -> str:
        """The parts of the device whose power it is."""
        if self.file is not None:
            return f"{self.file.name}: as its meter is wired"
        return self.reader.scope if self.reader else NO_POWER

    def energy(self, sampler: Sampler) -> Energy:
        """Return the energy over time."""
        if self.file is not None:
            began_s = time.time() - time.perf_counter()  # Unix time at the 0 of the other clock
            return Energy([(unix_s - began_s, watts) for unix_s, watts in powers(self.file)], is_energy=False)
        is_energy = self.reader is not None and self.reader.is_energy
        return Energy(sampler.series.get(POWER, []), is_energy=is_energy)


@dataclass(frozen=True)
class Measured:
    """The rows of a measurement, and what was seen beside them."""

    rows: Sequence[LogRow]
    throttling: str  # in a sentence


def meter_of(choice: str, here: Path) -> tuple[Meter, list[str]]:
    """Return the meter of the option --power, and what is missing for others.

    Raises:
        InputError: it cannot be had here.
    """
    if choice == NO_POWER:
        return Meter(), []
    if choice.endswith(".csv"):
        powers(here / choice)  # so that its faults are told before the measurement
        return Meter(file=here / choice), []
    reader, missing = opened(choice)
    return Meter(reader), missing


def measure(
    settings: Sequence[Setting],
    prepare: Callable[[Setting], Run],
    *,
    seconds: float,
    device_name: str,
    with_clock: bool,
    meter: Meter,
    tell: Callable[[str], None],
    clock: Clock = time.perf_counter,
) -> Measured:
    """Return the rows of all settings, the first of which is measured once more at the end.

    Args:
        settings: what is measured.
        prepare: returns what takes the steps of a setting.
        seconds: of each setting, at least.
        device_name: in the log.
        with_clock: the rows have the processor's clock.
        meter: of power.
        tell: gets a line for each setting.
        clock: by which steps are timed.

    Raises:
        InputError: a network fails.
    """
    sensors: dict[str, Callable[[], float | None]] = {CLOCK: board.clock_hz, TEMPERATURE: board.temperature_c}
    if meter.reader:
        sensors[POWER] = meter.reader.read
    rows: list[LogRow] = []
    began: list[float] = []  # of each row
    steps_s: dict[str, list[float]] = {}
    blank = LogRow(line=0, device=device_name, phase="idle", network="", round="", seconds=IDLE_S)
    try:
        with Sampler(sensors) as sampler:
            if meter.scope != NO_POWER:
                time.sleep(IDLE_S / 10)  # until the first reading
                began.append(clock())
                time.sleep(IDLE_S)
                rows.append(blank)
            for setting in [*settings, settings[0]]:
                times_s = steps_s.setdefault(setting.title, [])
                for one in _repeats(setting, prepare, seconds, clock):
                    times_s.append(one.step_s)
                    began.append(one.began_s)
                    rows.append(_row(blank, setting, one, len(times_s)))
                median_s = statistics.median(times_s)
                tell(f"{setting.title}: {median_s:.4g} s a step, ±{50 * spread(times_s):.1f} %")
    finally:
        if meter.reader:
            meter.reader.close()
    energy = meter.energy(sampler)
    for place, (row, began_s) in enumerate(zip(rows, began, strict=True)):
        seen_hz = within(sampler.series[CLOCK], began_s, row.seconds)
        rows[place] = replace(
            row,
            joules=energy.joules(began_s, row.seconds),
            clock_hz=statistics.mean(seen_hz) if seen_hz and with_clock else None,
        )
    return Measured(rows, _throttling(steps_s, sampler))


def _repeats(setting: Setting, prepare: Callable[[Setting], Run], seconds: float, clock: Clock) -> list[Repeat]:
    try:
        return repeats(prepare(setting), seconds, clock)
    except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise InputError(f"--model {setting.title}: {reason}") from None


def _row(blank: LogRow, setting: Setting, repeat: Repeat, number: int) -> LogRow:
    return replace(
        blank,
        phase=setting.phase,
        network=setting.network.name,
        round=str(number),
        seconds=repeat.seconds,
        batch_size=setting.batch_size,
        steps=repeat.steps,
        samples=repeat.steps * setting.batch_size,
    )


def _throttling(steps_s: Mapping[str, Sequence[float]], sampler: Sampler) -> str:
    """Return which settings became slower, and what clock and temperature did meanwhile."""
    slower = {title: slowdown(times_s) for title, times_s in steps_s.items()}
    worst = max(slower, key=lambda title: slower[title])
    count = sum(share > 0 for share in slower.values())
    parts = ["no setting became slower"]
    if count:
        parts = [f"{count} of {len(slower)} settings became slower, most by {100 * slower[worst]:.0f} % ({worst})"]
    for name, factor, unit in ((CLOCK, 1e-9, "GHz"), (TEMPERATURE, 1.0, "degrees C")):
        seen = [factor * value for _, value in sampler.series[name]]
        if seen:
            parts.append(f"{name} {min(seen):.3g} to {max(seen):.3g} {unit}")
    return "; ".join(parts)


def provenance(device: str, meter: Meter, throttling: str) -> dict[str, str]:
    """Return who measured what, when and with what: nothing about persons."""
    import torch

    processor = processor_model()
    if device != "cpu":
        processor = f"{torch.cuda.get_device_name(device)}; {processor}"
    return {
        FIRST_KEY: edgefl_version(),
        "board": board.board_name(),
        "processor": processor,
        "measured_on": datetime.now(UTC).date().isoformat(),
        "torch": version("torch"),
        "python": platform.python_version(),
        "threads": str(torch.get_num_threads()),
        "device": device,
        "power": meter.scope,
        "throttling": throttling,
    }


def check_options(seconds: float, batch_sizes: Sequence[int], device_name: str | None) -> None:
    """Check numbers and names of the command line.

    Raises:
        InputError: they cannot be.
    """
    if not 0 < seconds <= LONGEST_S:
        raise InputError(f"--seconds {seconds:g}: must be above 0, and at most {LONGEST_S:g}")
    for size in batch_sizes:
        if not 0 < size <= MOST_SAMPLES:
            raise InputError(f"--batch {size}: must be from 1 to {MOST_SAMPLES}")
    if device_name is not None and DEVICE_NAME.fullmatch(device_name) is None:
        raise InputError(f"--device-name {device_name!r}: must be a type, or type/unit, such as pi4 or pi4/a")


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Check that the files of a measurement may be written into a folder.

    Raises:
        InputError: they exist, and may not be replaced.
    """
    names = (LOG_FILE, COUNTS_FILE)
    for name in names:
        if (folder / name).exists() and not overwrite:
            raise InputError(f"{folder / name}: exists: choose another folder, or add --overwrite")
    check_replaceable(folder, dict.fromkeys(names, begins_with(f"# {FIRST_KEY}: ".encode())))


def write(folder: Path, measured: Measured, networks: Sequence[Network], facts: dict[str, str]) -> list[Path]:
    """Write the log and the counts of its networks, and return the files.

    Raises:
        InputError: they cannot be written.
    """
    counts = {network.name: network.counts for network in networks}
    try:
        with FileGroup(folder) as files:
            files.write(LOG_FILE, log_bytes(measured.rows, facts))
            files.write(COUNTS_FILE, counts_bytes(counts, {FIRST_KEY: facts[FIRST_KEY]}))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
    return [folder / LOG_FILE, folder / COUNTS_FILE]
