"""Path loss, line of sight and penetration beside the formulas of TR 38.901 worked out one number at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from channel import free_space, inh, log_distance, penetration, rma, uma, umi
from channel._arrays import Floats
from channel_validation.report import Check, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPARED_CARRIER_HZ = 5e9
TERMINAL_HEIGHT_M = 1.5

# Distances of the markers: near, around the break points and out to the end of the validity.
MARKERS_M = (10, 15, 25, 40, 70, 100, 150, 250, 400, 700, 1_000, 1_600, 2_500, 4_000, 5_000)
MARKERS_INH_M = (1, 2, 4, 7, 10, 20, 35, 50, 70, 100, 149)


# The oracles below are plain Python, one distance at a time, written from the tables and not from the library.


class ScenarioCheck(NamedTuple):
    """One scenario's model, a second evaluation of its table, and values printed elsewhere."""

    title: str
    path_loss_db: Callable[..., Floats]
    by_hand: Callable[[float], tuple[float, float]]  # LoS, NLoS
    bs_height_m: float
    markers_m: tuple[int, ...]
    published: dict[bool, dict[float, float]]  # los -> d_2D -> dB: ns-3's tests of its 3GPP models, the same heights


def _logs(distance_m: float, bs_height_m: float) -> tuple[float, float]:
    """Return log10 of the distance between the antennas [m] and of the carrier [GHz]."""
    distance_3d_m = math.hypot(distance_m, bs_height_m - TERMINAL_HEIGHT_M)
    return math.log10(distance_3d_m), math.log10(COMPARED_CARRIER_HZ / 1e9)


def umi_db(distance_m: float) -> tuple[float, float]:
    """Return the losses of Table 7.4.1-1, UMi, `h_BS = 10 m`: `d'_BP = 4 (9) (0.5) f / c`."""
    log_d, log_f = _logs(distance_m, 10.0)
    breakpoint_m = 4 * 9 * 0.5 * COMPARED_CARRIER_HZ / 3e8
    seen = 32.4 + 21 * log_d + 20 * log_f
    # 8.5 m is h_BS - h_UT; the last term of NLoS vanishes at 1.5 m.
    if distance_m > breakpoint_m:
        seen = 32.4 + 40 * log_d + 20 * log_f - 9.5 * math.log10(breakpoint_m**2 + 8.5**2)
    return seen, max(seen, 22.4 + 35.3 * log_d + 21.3 * log_f)


def uma_db(distance_m: float) -> tuple[float, float]:
    """Return the losses of Table 7.4.1-1, UMa, `h_BS = 25 m`: `d'_BP = 4 (24) (0.5) f / c`."""
    log_d, log_f = _logs(distance_m, 25.0)
    breakpoint_m = 4 * 24 * 0.5 * COMPARED_CARRIER_HZ / 3e8
    seen = 28.0 + 22 * log_d + 20 * log_f
    # 23.5 m is h_BS - h_UT; the last term of NLoS vanishes at 1.5 m.
    if distance_m > breakpoint_m:
        seen = 28.0 + 40 * log_d + 20 * log_f - 9 * math.log10(breakpoint_m**2 + 23.5**2)
    return seen, max(seen, 13.54 + 39.08 * log_d + 20 * log_f)


def rma_db(distance_m: float) -> tuple[float, float]:
    """Return the losses of Table 7.4.1-1, RMa, `h_BS = 35 m, h = 5 m, W = 20 m`: `d_BP = 2 pi (35) (1.5) f / c`."""
    log_d, log_f = _logs(distance_m, 35.0)
    breakpoint_m = 2 * math.pi * 35 * 1.5 * COMPARED_CARRIER_HZ / 3e8

    def near(log: float) -> float:
        # For buildings of 5 m the table's minima are their first arguments.
        rough = 5**1.72
        free = 20 * (math.log10(40 * math.pi / 3) + log + log_f)
        return free + 0.03 * rough * log - 0.044 * rough + 0.002 * math.log10(5) * 10**log

    seen = near(log_d)
    if distance_m > breakpoint_m:
        seen = near(math.log10(breakpoint_m)) + 40 * (log_d - math.log10(breakpoint_m))
    # (h / h_BS)^2 = (5 / 35)^2 = 1 / 49.
    log_bs = math.log10(35)
    hidden = 161.04 - 7.1 * math.log10(20) + 7.5 * math.log10(5) - (24.37 - 3.7 / 49) * log_bs
    hidden += (43.42 - 3.1 * log_bs) * (log_d - 3) + 20 * log_f - 3.2 * math.log10(11.75 * 1.5) ** 2 + 4.97
    return seen, max(seen, hidden)


def inh_db(distance_m: float) -> tuple[float, float]:
    """Return the losses of Table 7.4.1-1, InH-Office, `h_BS = 3 m`."""
    log_d, log_f = _logs(distance_m, 3.0)
    seen = 32.4 + 17.3 * log_d + 20 * log_f
    return seen, max(seen, 17.30 + 38.3 * log_d + 24.9 * log_f)


SCENARIOS = {
    "umi": ScenarioCheck(
        "UMi-Street Canyon",
        umi.path_loss_db,
        umi_db,
        10.0,
        MARKERS_M,
        {
            # The break point of UMi at 5 GHz is at 300 m: the last two are beyond it.
            True: {10: 69.8591, 100: 88.4122, 1_000: 119.3114, 5_000: 147.2696},
            False: {10: 76.7563, 100: 107.9432, 1_000: 143.1886, 5_000: 167.8617},
        },
    ),
    "uma": ScenarioCheck(
        "UMa",
        uma.path_loss_db,
        uma_db,
        25.0,
        MARKERS_M,
        {
            # The break point of UMa is at 800 m.
            True: {10: 72.9380, 100: 86.2362, 1_000: 109.7252, 5_000: 137.6794},
            False: {10: 82.5131, 100: 106.1356, 1_000: 144.7641, 5_000: 172.0753},
        },
    ),
    "rma": ScenarioCheck(
        "RMa",
        rma.path_loss_db,
        rma_db,
        35.0,
        MARKERS_M,
        {
            # The break point of RMa is at 5.5 km: all are before it.
            True: {10: 77.3784, 100: 87.2965, 1_000: 108.5577},
            False: {10: 77.3784, 100: 95.7718, 1_000: 133.5223, 5_000: 160.5169},
        },
    ),
    "inh": ScenarioCheck(
        "InH-Office",
        inh.path_loss_db,
        inh_db,
        3.0,
        MARKERS_INH_M,
        {
            True: {1: 50.8072, 10: 63.7630, 50: 75.7750, 100: 80.9802},
            False: {1: 50.8072, 10: 73.1894, 50: 99.7824, 100: 111.3062},
        },
    ),
}


def umi_sight(distance_m: float) -> float:
    """Return the probability of line of sight of Table 7.4.2-1, UMi."""
    if distance_m <= 18:
        return 1.0
    return 18 / distance_m + math.exp(-distance_m / 36) * (1 - 18 / distance_m)


def uma_sight(distance_m: float) -> float:
    """Return the probability of line of sight of Table 7.4.2-1, UMa, terminals at 1.5 m."""
    if distance_m <= 18:
        return 1.0
    return 18 / distance_m + math.exp(-distance_m / 63) * (1 - 18 / distance_m)


def rma_sight(distance_m: float) -> float:
    """Return the probability of line of sight of Table 7.4.2-1, RMa."""
    if distance_m <= 10:
        return 1.0
    return math.exp(-(distance_m - 10) / 1_000)


def inh_mixed_sight(distance_m: float) -> float:
    """Return the probability of line of sight of Table 7.4.2-1, indoor, mixed office."""
    if distance_m <= 1.2:
        return 1.0
    if distance_m < 6.5:
        return math.exp(-(distance_m - 1.2) / 4.7)
    return 0.32 * math.exp(-(distance_m - 6.5) / 32.6)


def inh_open_sight(distance_m: float) -> float:
    """Return the probability of line of sight of Table 7.4.2-1, indoor, open office."""
    if distance_m <= 5:
        return 1.0
    if distance_m <= 49:
        return math.exp(-(distance_m - 5) / 70.8)
    return 0.54 * math.exp(-(distance_m - 49) / 211.7)


class Sight(NamedTuple):
    """One scenario's probability of line of sight, and a second evaluation of its table."""

    probability: Callable[[Floats], Floats]
    by_hand: Callable[[float], float]
    markers_m: tuple[int, ...]


SIGHTS = {
    "UMi": Sight(umi.los_probability, umi_sight, MARKERS_M),
    "UMa": Sight(uma.los_probability, uma_sight, MARKERS_M),
    "RMa": Sight(rma.los_probability, rma_sight, MARKERS_M),
    "InH mixed": Sight(lambda d: inh.los_probability(d, "mixed"), inh_mixed_sight, MARKERS_INH_M),
    "InH open": Sight(lambda d: inh.los_probability(d, "open"), inh_open_sight, MARKERS_INH_M),
}

WALL_GHZ = (0.5, 1, 2, 3.5, 6, 10, 20, 30, 45, 60, 80, 100)


def wall_by_hand_db(ghz: float, *, high_loss: bool) -> float:
    """Return the loss of Tables 7.4.3-1 and 7.4.3-2: the power through glass and concrete by their shares."""
    if high_loss:
        glass_db = 23 + 0.3 * ghz
        share = 0.7
    else:
        glass_db = 2 + 0.2 * ghz
        share = 0.3
    concrete_db = 5 + 4 * ghz
    through = share * 10 ** (-glass_db / 10) + (1 - share) * 10 ** (-concrete_db / 10)
    return 5 - 10 * math.log10(through)


def figures() -> dict[str, Figure]:
    """Draw path loss by scenario and of the simple models, the probability of line of sight, and the walls."""
    drawings = {f"path-loss-{name}": _draw_scenario(scenario) for name, scenario in SCENARIOS.items()}
    return drawings | {
        "path-loss-simple": _draw_simple(),
        "line-of-sight": _draw_sight(),
        "penetration": _draw_walls(),
    }


def checks() -> list[Check]:
    """Check the largest differences from the second evaluations and from what others printed."""
    found = []
    for scenario in SCENARIOS.values():
        for los in (True, False):
            found += _scenario_checks(scenario, los=los)
    for name, sight in SIGHTS.items():
        measured = sight.probability(np.array(sight.markers_m, dtype=np.float64))
        worst = _largest_difference(measured, [sight.by_hand(d) for d in sight.markers_m])
        found.append(Check(f"P(LoS) {name}: largest difference from the table by hand", worst, 0.0, 1e-9))
    for high_loss, name in ((False, "low"), (True, "high")):
        measured = penetration.wall_db(np.array(WALL_GHZ) * 1e9, high_loss)
        worst = _largest_difference(measured, [wall_by_hand_db(f, high_loss=high_loss) for f in WALL_GHZ])
        found.append(Check(f"wall, {name} loss: largest difference from the table by hand [dB]", worst, 0.0, 0.05))
    # The textbook's constant is 32.45 with the exact speed of light; TR 38.901 rounds it to 3.0e8 m/s, 0.006 dB less.
    kilometre = float(free_space.path_loss_db(1_000.0, 1e9))
    found.append(Check("free space, 1 km at 1 GHz: 32.45 + 60 [dB]", kilometre, 92.45, 0.05))
    return found


def _scenario_checks(scenario: ScenarioCheck, *, los: bool) -> list[Check]:
    """Check one scenario in line of sight or without, against both sources."""
    state = "LoS" if los else "NLoS"
    sources = {
        "the table by hand": {float(d): _by_hand_db(scenario, d, los=los) for d in scenario.markers_m},
        "ns-3's values": scenario.published[los],
    }
    found = []
    for source, points in sources.items():
        measured = _path_loss_db(scenario, np.array(list(points)), los=los)
        worst = _largest_difference(measured, list(points.values()))
        found.append(Check(f"{scenario.title} {state}: largest difference from {source} [dB]", worst, 0.0, 0.05))
    return found


def _path_loss_db(scenario: ScenarioCheck, distance_m: Floats, *, los: bool) -> Floats:
    return scenario.path_loss_db(distance_m, COMPARED_CARRIER_HZ, los, scenario.bs_height_m, TERMINAL_HEIGHT_M)


def _by_hand_db(scenario: ScenarioCheck, distance_m: float, *, los: bool) -> float:
    line_of_sight, blocked = scenario.by_hand(distance_m)
    return line_of_sight if los else blocked


def _largest_difference(measured: Floats, expected: list[float]) -> float:
    return float(np.abs(measured - np.array(expected)).max())


def _draw_scenario(scenario: ScenarioCheck) -> Figure:
    heights = f"{scenario.bs_height_m:g} m and {TERMINAL_HEIGHT_M:g} m high"
    title = f"{scenario.title}: {COMPARED_CARRIER_HZ / 1e9:g} GHz, {heights}"
    drawing, axes = figure(title, "ground distance [m]", "median path loss [dB]")
    distance_m = np.geomspace(scenario.markers_m[0], scenario.markers_m[-1], 400)
    for los, state, colour in ((True, "LoS", "C0"), (False, "NLoS", "C1")):
        axes.semilogx(distance_m, _path_loss_db(scenario, distance_m, los=los), colour, label=f"{state}: channel")
        by_hand = [_by_hand_db(scenario, d, los=los) for d in scenario.markers_m]
        _mark(axes, scenario.markers_m, by_hand, colour, f"{state}: by hand")
        published = scenario.published[los]
        # One entry in the legend for both states.
        axes.plot(list(published), list(published.values()), "kx", label=None if los else "ns-3's test values")
    axes.legend()
    return drawing


def _draw_simple() -> Figure:
    drawing, axes = figure("Free space and log-distance: 5 GHz", "distance [m]", "median path loss [dB]")
    distance_m = np.geomspace(1.0, 5_000.0, 400)
    axes.semilogx(
        distance_m, free_space.path_loss_db(distance_m, COMPARED_CARRIER_HZ), "C0", label="free space: channel"
    )
    # Friis' ratio of received to transmitted power, before any logarithm.
    friis_db = [-10 * math.log10((3e8 / COMPARED_CARRIER_HZ) ** 2 / (4 * math.pi * d) ** 2) for d in MARKERS_M]
    _mark(axes, MARKERS_M, friis_db, "C0", "free space: by hand")
    at_1m_db = 20 * math.log10(4 * math.pi * COMPARED_CARRIER_HZ / 3e8)
    for exponent, colour in ((2.7, "C1"), (3.5, "C2"), (5.0, "C3")):
        loss_db = log_distance.path_loss_db(distance_m, COMPARED_CARRIER_HZ, exponent)
        axes.plot(distance_m, loss_db, colour, label=f"n = {exponent:g}: channel")
        by_hand = [at_1m_db + 10 * exponent * math.log10(d) for d in MARKERS_M]
        _mark(axes, MARKERS_M, by_hand, colour, f"n = {exponent:g}: by hand")
    axes.legend(ncols=2, fontsize="small")
    return drawing


def _draw_sight() -> Figure:
    drawing, axes = figure("Probability of line of sight, terminals at 1.5 m", "ground distance [m]", "P(LoS)")
    for number, (name, sight) in enumerate(SIGHTS.items()):
        colour = f"C{number}"
        distance_m = np.geomspace(sight.markers_m[0], sight.markers_m[-1], 400)
        axes.semilogx(distance_m, sight.probability(distance_m), colour, label=name)
        _mark(axes, sight.markers_m, [sight.by_hand(d) for d in sight.markers_m], colour)
    axes.plot([], [], "ko", fillstyle="none", label="by hand")
    axes.legend()
    return drawing


def _draw_walls() -> Figure:
    drawing, axes = figure("Loss through the external wall of a building", "carrier [GHz]", "PL_tw [dB]")
    carrier_hz = np.geomspace(0.5e9, 100e9, 400)
    for high_loss, name, colour in ((False, "low", "C0"), (True, "high", "C1")):
        loss_db = penetration.wall_db(carrier_hz, high_loss)
        axes.semilogx(carrier_hz / 1e9, loss_db, colour, label=f"{name} loss: channel")
        by_hand = [wall_by_hand_db(f, high_loss=high_loss) for f in WALL_GHZ]
        _mark(axes, WALL_GHZ, by_hand, colour, f"{name} loss: by hand")
    axes.legend()
    return drawing


def _mark(axes: Axes, x: Sequence[float], y: Sequence[float], colour: str, label: str | None = None) -> None:
    """Draw numbers that were worked out by hand as hollow circles."""
    axes.plot(x, y, colour, marker="o", fillstyle="none", ls="", label=label)
