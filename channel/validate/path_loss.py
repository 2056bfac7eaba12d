"""Path loss, line of sight and penetration beside the formulas of TR 38.901 worked out one number at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from channel import free_space, inh, log_distance, penetration, rma, uma, umi
from channel._arrays import Floats
from channel.validate.report import Check, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CARRIER_HZ = 5e9
UT_HEIGHT_M = 1.5
MARKERS_M = (10, 15, 25, 40, 70, 100, 150, 250, 400, 700, 1_000, 1_600, 2_500, 4_000, 5_000)
MARKERS_INH_M = (1, 2, 4, 7, 10, 20, 35, 50, 70, 100, 149)


class Scenario(NamedTuple):
    """One model, a second evaluation of its table, and what somebody else printed."""

    title: str
    path_loss_db: Callable[..., Floats]
    by_hand: Callable[[float], tuple[float, float]]  # LoS, NLoS
    bs_height_m: float
    markers_m: tuple[int, ...]
    published: dict[bool, dict[float, float]]  # los -> d_2D -> dB: ns-3's tests of its 3GPP models, the same heights


def _logs(distance_m: float, bs_height_m: float) -> tuple[float, float]:
    return math.log10(math.hypot(distance_m, bs_height_m - UT_HEIGHT_M)), math.log10(CARRIER_HZ / 1e9)


def umi_db(distance_m: float) -> tuple[float, float]:
    """Table 7.4.1-1, UMi, h_BS = 10 m: d'_BP = 4 (9) (0.5) f / c."""
    log_d, log_f = _logs(distance_m, 10.0)
    breakpoint_m = 4 * 9 * 0.5 * CARRIER_HZ / 3e8
    seen = 32.4 + 21 * log_d + 20 * log_f
    if distance_m > breakpoint_m:
        seen = 32.4 + 40 * log_d + 20 * log_f - 9.5 * math.log10(breakpoint_m**2 + 8.5**2)
    return seen, max(seen, 22.4 + 35.3 * log_d + 21.3 * log_f)


def uma_db(distance_m: float) -> tuple[float, float]:
    """Table 7.4.1-1, UMa, h_BS = 25 m: d'_BP = 4 (24) (0.5) f / c."""
    log_d, log_f = _logs(distance_m, 25.0)
    breakpoint_m = 4 * 24 * 0.5 * CARRIER_HZ / 3e8
    seen = 28.0 + 22 * log_d + 20 * log_f
    if distance_m > breakpoint_m:
        seen = 28.0 + 40 * log_d + 20 * log_f - 9 * math.log10(breakpoint_m**2 + 23.5**2)
    return seen, max(seen, 13.54 + 39.08 * log_d + 20 * log_f)


def rma_db(distance_m: float) -> tuple[float, float]:
    """Table 7.4.1-1, RMa, h_BS = 35 m, h = 5 m, W = 20 m: d_BP = 2 pi (35) (1.5) f / c."""
    log_d, log_f = _logs(distance_m, 35.0)
    breakpoint_m = 2 * math.pi * 35 * 1.5 * CARRIER_HZ / 3e8

    def near(log: float) -> float:
        rough = 5**1.72
        free = 20 * (math.log10(40 * math.pi / 3) + log + log_f)
        return free + 0.03 * rough * log - 0.044 * rough + 0.002 * math.log10(5) * 10**log

    seen = near(log_d)
    if distance_m > breakpoint_m:
        seen = near(math.log10(breakpoint_m)) + 40 * (log_d - math.log10(breakpoint_m))
    log_bs = math.log10(35)
    hidden = 161.04 - 7.1 * math.log10(20) + 7.5 * math.log10(5) - (24.37 - 3.7 / 49) * log_bs
    hidden += (43.42 - 3.1 * log_bs) * (log_d - 3) + 20 * log_f - 3.2 * math.log10(11.75 * 1.5) ** 2 + 4.97
    return seen, max(seen, hidden)


def inh_db(distance_m: float) -> tuple[float, float]:
    """Table 7.4.1-1, InH-Office, h_BS = 3 m."""
    log_d, log_f = _logs(distance_m, 3.0)
    seen = 32.4 + 17.3 * log_d + 20 * log_f
    return seen, max(seen, 17.30 + 38.3 * log_d + 24.9 * log_f)


SCENARIOS = {
    "umi": Scenario(
        "UMi-Street Canyon",
        umi.path_loss_db,
        umi_db,
        10.0,
        MARKERS_M,
        {
            True: {10: 69.8591, 100: 88.4122, 1_000: 119.3114, 5_000: 147.2696},
            False: {10: 76.7563, 100: 107.9432, 1_000: 143.1886, 5_000: 167.8617},
        },
    ),
    "uma": Scenario(
        "UMa",
        uma.path_loss_db,
        uma_db,
        25.0,
        MARKERS_M,
        {
            True: {10: 72.9380, 100: 86.2362, 1_000: 109.7252, 5_000: 137.6794},
            False: {10: 82.5131, 100: 106.1356, 1_000: 144.7641, 5_000: 172.0753},
        },
    ),
    "rma": Scenario(
        "RMa",
        rma.path_loss_db,
        rma_db,
        35.0,
        MARKERS_M,
        {
            True: {10: 77.3784, 100: 87.2965, 1_000: 108.5577},
            False: {10: 77.3784, 100: 95.7718, 1_000: 133.5223, 5_000: 160.5169},
        },
    ),
    "inh": Scenario(
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

# Table 7.4.2-1 a second time; terminals at 1.5 m
SIGHT: dict[str, tuple[Callable[[Floats], Floats], Callable[[float], float]]] = {
    "UMi": (umi.los_probability, lambda d: 1.0 if d <= 18 else 18 / d + math.exp(-d / 36) * (1 - 18 / d)),
    "UMa": (uma.los_probability, lambda d: 1.0 if d <= 18 else 18 / d + math.exp(-d / 63) * (1 - 18 / d)),
    "RMa": (rma.los_probability, lambda d: 1.0 if d <= 10 else math.exp(-(d - 10) / 1_000)),
    "InH mixed": (
        lambda d: inh.los_probability(d, "mixed"),
        lambda d: 1.0 if d <= 1.2 else math.exp(-(d - 1.2) / 4.7) if d < 6.5 else 0.32 * math.exp(-(d - 6.5) / 32.6),
    ),
    "InH open": (
        lambda d: inh.los_probability(d, "open"),
        lambda d: 1.0 if d <= 5 else math.exp(-(d - 5) / 70.8) if d <= 49 else 0.54 * math.exp(-(d - 49) / 211.7),
    ),
}

GHZ = (0.5, 1, 2, 3.5, 6, 10, 20, 30, 45, 60, 80, 100)


def wall_by_hand_db(ghz: float, *, high_loss: bool) -> float:
    """Tables 7.4.3-1 and 7.4.3-2: the power through glass and concrete by their shares."""
    glass, share = (23 + 0.3 * ghz, 0.7) if high_loss else (2 + 0.2 * ghz, 0.3)
    return 5 - 10 * math.log10(share * 10 ** (-glass / 10) + (1 - share) * 10 ** (-(5 + 4 * ghz) / 10))


def figures() -> dict[str, Figure]:
    """Path loss by scenario, of the simple models, the probability of line of sight, and the walls."""
    drawings = {f"path-loss-{name}": _draw_scenario(scenario) for name, scenario in SCENARIOS.items()}
    return drawings | {
        "path-loss-simple": _draw_simple(),
        "line-of-sight": _draw_sight(),
        "penetration": _draw_walls(),
    }


def checks() -> list[Check]:
    """The largest differences from the second evaluations and from what others printed."""
    found = []
    for scenario in SCENARIOS.values():
        for los, state in ((True, "LoS"), (False, "NLoS")):
            by_hand = {float(d): scenario.by_hand(d)[not los] for d in scenario.markers_m}
            for source, points in (("the table by hand", by_hand), ("ns-3's values", scenario.published[los])):
                worst = _worst_db(_path_loss_db(scenario, np.array(list(points)), los=los), list(points.values()))
                found.append(
                    Check(f"{scenario.title} {state}: largest difference from {source} [dB]", worst, 0.0, 0.05)
                )
    for name, (probability, by_hand_of) in SIGHT.items():
        distances = _sight_markers_m(name)
        worst = _worst_db(probability(distances), [by_hand_of(d) for d in distances])
        found.append(Check(f"P(LoS) {name}: largest difference from the table by hand", worst, 0.0, 1e-9))
    for high_loss, name in ((False, "low"), (True, "high")):
        worst = _worst_db(
            penetration.wall_db(np.array(GHZ) * 1e9, high_loss), [wall_by_hand_db(f, high_loss=high_loss) for f in GHZ]
        )
        found.append(Check(f"wall, {name} loss: largest difference from the table by hand [dB]", worst, 0.0, 0.05))
    kilometre = float(free_space.path_loss_db(1_000.0, 1e9))
    found.append(Check("free space, 1 km at 1 GHz: 32.45 + 60 [dB]", kilometre, 92.45, 0.05))
    return found


def _path_loss_db(scenario: Scenario, distance_m: Floats, *, los: bool) -> Floats:
    return scenario.path_loss_db(distance_m, CARRIER_HZ, los, scenario.bs_height_m, UT_HEIGHT_M)


def _worst_db(measured: Floats, expected: list[float]) -> float:
    return float(np.abs(measured - np.array(expected)).max())


def _sight_markers_m(name: str) -> Floats:
    return np.array(MARKERS_INH_M if name.startswith("InH") else MARKERS_M, dtype=np.float64)


def _draw_scenario(scenario: Scenario) -> Figure:
    title = f"{scenario.title}: {CARRIER_HZ / 1e9:g} GHz, {scenario.bs_height_m:g} m and {UT_HEIGHT_M:g} m high"
    drawing, axes = figure(title, "ground distance [m]", "median path loss [dB]")
    distance_m = np.geomspace(scenario.markers_m[0], scenario.markers_m[-1], 400)
    for los, state, colour in ((True, "LoS", "C0"), (False, "NLoS", "C1")):
        axes.semilogx(distance_m, _path_loss_db(scenario, distance_m, los=los), colour, label=f"{state}: channel")
        by_hand = [scenario.by_hand(d)[not los] for d in scenario.markers_m]
        axes.plot(scenario.markers_m, by_hand, colour, marker="o", fillstyle="none", ls="", label=f"{state}: by hand")
        published = scenario.published[los]
        axes.plot(list(published), list(published.values()), "kx", label=None if los else "ns-3's test values")
    axes.legend()
    return drawing


def _draw_simple() -> Figure:
    drawing, axes = figure("Free space and log-distance: 5 GHz", "distance [m]", "median path loss [dB]")
    distance_m = np.geomspace(1.0, 5_000.0, 400)
    axes.semilogx(distance_m, free_space.path_loss_db(distance_m, CARRIER_HZ), "C0", label="free space: channel")
    friis_db = [-10 * math.log10((3e8 / CARRIER_HZ) ** 2 / (4 * math.pi * d) ** 2) for d in MARKERS_M]
    axes.plot(MARKERS_M, friis_db, "C0o", fillstyle="none", label="free space: by hand")
    for place, exponent in enumerate((2.7, 3.5, 5.0), start=1):
        colour = f"C{place}"
        loss_db = log_distance.path_loss_db(distance_m, CARRIER_HZ, exponent)
        axes.plot(distance_m, loss_db, colour, label=f"n = {exponent:g}: channel")
        at_1m_db = 20 * math.log10(4 * math.pi * CARRIER_HZ / 3e8)
        by_hand = [at_1m_db + 10 * exponent * math.log10(d) for d in MARKERS_M]
        axes.plot(MARKERS_M, by_hand, colour, marker="o", fillstyle="none", ls="", label=f"n = {exponent:g}: by hand")
    axes.legend(ncols=2, fontsize="small")
    return drawing


def _draw_sight() -> Figure:
    drawing, axes = figure("Probability of line of sight, terminals at 1.5 m", "ground distance [m]", "P(LoS)")
    for place, (name, (probability, by_hand)) in enumerate(SIGHT.items()):
        markers_m = _sight_markers_m(name)
        distance_m = np.geomspace(markers_m[0], markers_m[-1], 400)
        axes.semilogx(distance_m, probability(distance_m), f"C{place}", label=name)
        axes.plot(markers_m, [by_hand(d) for d in markers_m], f"C{place}", marker="o", fillstyle="none", ls="")
    axes.plot([], [], "ko", fillstyle="none", label="by hand")
    axes.legend()
    return drawing


def _draw_walls() -> Figure:
    drawing, axes = figure("Loss through the external wall of a building", "carrier [GHz]", "PL_tw [dB]")
    carrier_hz = np.geomspace(0.5e9, 100e9, 400)
    for high_loss, name, colour in ((False, "low", "C0"), (True, "high", "C1")):
        axes.semilogx(
            carrier_hz / 1e9, penetration.wall_db(carrier_hz, high_loss), colour, label=f"{name} loss: channel"
        )
        by_hand = [wall_by_hand_db(f, high_loss=high_loss) for f in GHZ]
        axes.plot(GHZ, by_hand, colour, marker="o", fillstyle="none", ls="", label=f"{name} loss: by hand")
    axes.legend()
    return drawing
