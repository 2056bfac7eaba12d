"""The unknowns of a log, one line each."""

from collections.abc import Iterator

from edgefl.calibration.compute_fit import TOLD
from edgefl.calibration.fit import Fit, TypeFit
from edgefl.calibration.shipped_law import BOARD


def remarks(fitted: Fit) -> list[str]:
    """Return the unknowns of a fit's log; types with the same unknown share a line."""
    types: dict[str, list[str]] = {}
    for device in fitted.types.values():
        for text in (*_of_computing(device), *_of_energy(device)):
            types.setdefault(text, []).append(device.name)
    return [f"{', '.join(names)}: {text}" for text, names in types.items()] + list(_of_radio(fitted))


def _of_computing(device: TypeFit) -> Iterator[str]:
    trained = [row for row in device.rows if row.phase == "train"]
    if not trained:
        yield "no row of phase train: how fast it computes"
        return
    networks = {row.network for row in trained}
    batch_sizes = {row.batch_size for row in trained}
    if device.law is None:
        yield "no counts of its networks: times of other networks"
    elif len(networks) == 1:
        yield f"one network: which kinds of layers are slow, so all numbers have the ratios of {BOARD}"
    elif device.law.untold:
        keys = ", ".join(device.law.untold)
        yield f"{keys}: under {100 * TOLD:g} % of every step, so near the ratio of {BOARD}"
    if len(batch_sizes) == 1:
        size = next(iter(batch_sizes))
        yield f"one batch size ({size:g}): the time of a step apart from a time of each sample, such as for loading it"
    if device.jitter is None:
        yield "no training was repeated: how times differ from round to round"
    if device.spread is None:
        yield "no two units (type/unit) with the same training: how units differ"


def _of_energy(device: TypeFit) -> Iterator[str]:
    energy = device.energy
    if energy.setup_s is None:
        yield "no row of phase setup: what it takes before a round"
    powers = {"idle": energy.idle_w, "train": energy.cpu, "download": energy.rx, "upload": energy.tx}
    unknown = [phase for phase, power in powers.items() if power is None]
    if unknown:
        yield f"no joules of {', '.join(unknown)}: its power then"
    if energy.cpu is not None and not energy.cpu.capacitance:
        yield "one clock, or none named: which part of the power of computing depends on the clock"
    for phase, radio in (("download", energy.rx), ("upload", energy.tx)):
        if radio is not None and not radio.knows_rate:
            yield f"rates of {phase} are alike: how its power depends on the rate"


def _of_radio(fitted: Fit) -> Iterator[str]:
    for phase, link in (("download", fitted.down), ("upload", fitted.up)):
        if link is None:
            yield f"radio: no row of phase {phase}: the capacity in that direction"
        elif not link.knows_access:
            yield f"radio: messages of {phase} are of one size: the time before the first bit"
    if fitted.down is not None or fitted.up is not None:
        yield "radio: how the link changes with the distance"
