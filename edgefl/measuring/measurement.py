"""A measurement: times, and where power is known energy, of steps of networks, as a log for a calibration."""

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import product
from math import ceil, inf
from pathlib import Path
from statistics import median
from typing import NamedTuple

from edgefl.calibration.log import LogRow, NetworkCounts
from edgefl.calibration.writing import counts_bytes, log_bytes
from edgefl.core.errors import InputError
from edgefl.core.files import write_together
from edgefl.core.machine import processor_model
from edgefl.core.own_files import begins_with, check_writable
from edgefl.core.version import edgefl_version
from edgefl.learning.models.counted import first_line
from edgefl.measuring import board
from edgefl.measuring.networks import Network
from edgefl.measuring.power.source import NO_POWER, Source
from edgefl.measuring.sampling import Sampler
from edgefl.measuring.steps import steps_of
from edgefl.measuring.timing import ROUNDS, Stopwatch, slowdown, spread
from edgefl.world.held_out import kind_of_network

LOG_FILE = "log.csv"
COUNTS_FILE = "counts.csv"
FIRST_KEY = "edgefl"  # of the provenance: edgefl knows its files by it
IDLE_S = 5.0
TRAIN = "train"


class Setting(NamedTuple):
    """A phase of a network with a batch size, ready to be timed."""

    title: str
    row: LogRow  # without what is measured
    watch: Stopwatch
    steps: int  # of a repeat


def measure(
    networks: Sequence[Network],
    device_name: str,
    *,
    seconds: float,
    device: str,
    source: Source,
    tell: Callable[[str], None],
    steps_of: Callable[..., Callable[[int], None]] = steps_of,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[Sequence[LogRow], str]:
    """Return the rows of a log, and a sentence about throttling.

    All settings are timed in each of several rounds, so that heat and other programs are the same for all of them.

    Args:
        networks: what is measured.
        device_name: in the log.
        seconds: of each setting, at least.
        device: of torch.
        source: of power.
        tell: gets lines about settings.
        steps_of: see `steps`.
        clock: times the steps.

    Raises:
        InputError: a network fails.
    """
    idle = LogRow(line=0, device=device_name, phase="idle", network="", round="", seconds=IDLE_S)
    rows: list[tuple[float, LogRow]] = []  # with their beginnings
    steps_s: dict[str, list[float]] = {}  # by title
    seen: dict[str, list[float]] = {}  # clocks and temperatures
    with Sampler(source) as sampler:
        if source.scope != NO_POWER:
            time.sleep(IDLE_S / 10)  # until the first reading
            rows.append((clock(), idle))
            time.sleep(IDLE_S)
        make_steps = partial(steps_of, device=device)
        settings = [
            setting
            for network in networks
            for setting in _settings_of(network, idle, make_steps, seconds=seconds, tell=tell, clock=clock)
        ]
        for number, setting in product(range(1, ROUNDS + 1), settings):
            setting.watch.take(1)  # so that caches hold this network
            repeat = setting.watch.timed(setting.steps)
            state = board.state()
            for name, value in state.items():
                seen.setdefault(name, []).append(value)
            clock_hz = state.get(board.CLOCK_HZ) if device == "cpu" else None
            row = replace(setting.row, round=str(number), seconds=repeat.seconds, clock_hz=clock_hz)
            rows.append((repeat.began_s, row))
            times_s = steps_s.setdefault(setting.title, [])
            times_s.append(repeat.step_s)
            if number == ROUNDS:
                tell(f"{setting.title}: {median(times_s):.4g} s a step, ±{spread(times_s) / 2:.1%}")
    done = [replace(row, joules=sampler.joules(began_s, row.seconds)) for began_s, row in rows]
    return done, _throttling(steps_s, seen)


def _settings_of(
    network: Network,
    idle: LogRow,
    make_steps: Callable[..., Callable[[int], None]],
    *,
    seconds: float,
    tell: Callable[[str], None],
    clock: Callable[[], float],
) -> Iterator[Setting]:
    """Yield the phases and batch sizes of a network, each with the steps that its rounds share `seconds` among."""
    module = network.make()
    for size, phase in product(network.batch_sizes, (TRAIN, "evaluate")):
        title = f"{network.name}, batch {size}, {phase}"
        try:
            take = make_steps(module, (size, *network.shape), train=phase == TRAIN)
            block = Stopwatch(take, clock).settled(seconds)
        except Exception as error:  # noqa: BLE001 - the user's own code may raise anything
            raise InputError(f"--model {title}: {first_line(error)}") from None
        tell(f"{title}: about {block.step_s:.2g} s a step")
        steps = ceil(seconds / ROUNDS / block.step_s)
        row = replace(idle, phase=phase, network=network.name, batch_size=size)
        row = replace(row, steps=steps, samples=steps * size)
        yield Setting(title, row, Stopwatch(take, clock), steps)


def _throttling(steps_s: Mapping[str, Sequence[float]], seen: Mapping[str, Sequence[float]]) -> str:
    """Return which settings became slower, and what clock and temperature did meanwhile."""
    slower = {title: slowdown(times_s) for title, times_s in steps_s.items()}
    worst = max(slower, key=lambda title: slower[title])
    count = sum(share > 0 for share in slower.values())
    parts = ["no setting became slower"]
    if count:
        parts = [f"{count} of {len(slower)} settings became slower, most by {slower[worst]:.0%} ({worst})"]
    parts += [f"{name} {min(numbers):.3g} to {max(numbers):.3g}" for name, numbers in seen.items()]
    return "; ".join(parts)


def provenance(device: str, scope: str, throttling: str) -> dict[str, str]:
    """Return when this board was measured and with what; nothing about persons."""
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
        "power": scope,
        "throttling": throttling,
    }


def check_options(seconds: float, batch_sizes: Sequence[int], device_name: str) -> None:
    """Check numbers and names of a command line.

    Raises:
        InputError: they cannot be.
    """
    if not 0 < seconds < inf:
        raise InputError(f"--seconds {seconds:g}: must be above 0")
    if min(batch_sizes, default=1) < 1:
        raise InputError(f"--batch {min(batch_sizes)}: must be at least 1")
    if device_name[:1] in {"", "/"} or not device_name.isprintable():
        raise InputError(f"--device-name {device_name!r}: must be a type, or type/unit, such as pi4 or pi4/a")


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Check that the files of a measurement may be written into a folder.

    Raises:
        InputError: they exist, and may not be replaced.
    """
    marks = dict.fromkeys((LOG_FILE, COUNTS_FILE), begins_with(f"# {FIRST_KEY}: ".encode()))
    check_writable(folder, marks, overwrite=overwrite)


def write(folder: Path, rows: Sequence[LogRow], networks: Sequence[Network], facts: Mapping[str, str]) -> list[Path]:
    """Write the log and the counts of its networks, and return the files.

    Raises:
        InputError: they cannot be written.
    """
    counts = {one.name: NetworkCounts(one.counts, kind=kind_of_network(one.shape)) for one in networks}
    table = counts_bytes(counts, {FIRST_KEY: facts[FIRST_KEY]})
    return write_together(folder, {LOG_FILE: log_bytes(rows, facts), COUNTS_FILE: table})
