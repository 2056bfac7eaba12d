"""Path loss, penetration and line of sight beside what Sionna computes for random links.

The table `sionna.csv` was recorded by `tests/channel/record_sionna.py`; its first line names Sionna's version.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from channel import penetration, rma, tr38901, uma, umi
from channel._arrays import Floats
from channel_validation.report import CARRIER_HZ, Check, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = Path(__file__).with_name("sionna.csv")
MODELS = {"umi": umi, "uma": uma, "rma": rma}

# Sionna's speed of light is 299,792,458 m/s, the TR's 3.0e8 m/s: beyond the break point that makes 0.006 dB.
TOLERANCE_DB = 0.01
TOLERANCE_OF_PROBABILITY = 1e-9


def links(scenario: str) -> dict[str, Floats]:
    """Return the recorded columns [n] of a scenario's links: umi, uma or rma."""
    with TABLE.open(encoding="utf-8", newline="") as table:
        next(table)  # the version
        rows = [row for row in csv.DictReader(table) if row["scenario"] == scenario]
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "scenario"}


def path_loss_db(scenario: str, link: dict[str, Floats]) -> Floats:
    """Return the losses [n] of recorded links, with the way into buildings."""
    at = (link["distance_m"], link["carrier_hz"], link["los"] == 1, link["bs_height_m"], link["ut_height_m"])
    if scenario == "uma":
        outdoors_db = uma.path_loss_db(*at, u=_draw_of_environment(link))
    else:
        outdoors_db = MODELS[scenario].path_loss_db(*at)
    return np.asarray(outdoors_db + np.where(link["indoor"] == 1, _entry_db(scenario, link), 0.0))


def los_probability(scenario: str, link: dict[str, Floats]) -> Floats:
    """Return the probabilities [n] that recorded links are in line of sight."""
    outdoor_m = np.maximum(link["distance_m"] - link["indoor_distance_m"], 0.0)
    if scenario == "uma":
        return uma.los_probability(outdoor_m, link["ut_height_m"])
    return np.asarray(MODELS[scenario].los_probability(outdoor_m))


def checks() -> list[Check]:
    """Return the largest differences by scenario."""
    found = []
    for scenario in MODELS:
        link = links(scenario)
        away_db = np.abs(path_loss_db(scenario, link) - link["path_loss_db"])
        indoors = link["indoor"] == 1
        for where, rows in (("outdoors", ~indoors), ("into buildings", indoors)):
            name = f"{scenario} {where}: largest difference from Sionna on {rows.sum()} links [dB]"
            found.append(Check(name, float(away_db[rows].max()), 0.0, TOLERANCE_DB))
        apart = float(np.abs(los_probability(scenario, link) - link["los_probability"]).max())
        found.append(Check(f"{scenario}: largest difference of P(LoS)", apart, 0.0, TOLERANCE_OF_PROBABILITY))
    return found


def figures() -> dict[str, Figure]:
    """Return the recorded losses of UMi at the default carrier, over the model's curves."""
    link = links("umi")
    drawing, axes = figure("UMi at 3.5 GHz beside Sionna", "ground distance [m]", "median path loss [dB]")
    rows = (link["carrier_hz"] == CARRIER_HZ) & (link["ut_height_m"] == 1.5)
    distance_m = np.geomspace(20.0, 5_000.0, 300)
    for los, name, colour in ((1, "LoS", "C0"), (0, "NLoS", "C1")):
        outdoors = rows & (link["los"] == los) & (link["indoor"] == 0)
        axes.semilogx(distance_m, umi.path_loss_db(distance_m, CARRIER_HZ, los == 1), colour, label=f"{name}: channel")
        axes.plot(
            link["distance_m"][outdoors], link["path_loss_db"][outdoors], colour, marker="o", fillstyle="none", ls=""
        )
    axes.plot([], [], "ko", fillstyle="none", label="Sionna")
    axes.legend()
    return {"sionna-umi": drawing}


def _entry_db(scenario: str, link: dict[str, Floats]) -> Floats:
    """Return the median losses [n] of the way into buildings, by the clause's rule."""
    inside_m = link["indoor_distance_m"]
    high_loss = link["high_loss"] == 1
    walls_db = np.where(
        link["release"] == tr38901.RELEASES[-1],
        penetration.loss_db(link["carrier_hz"], inside_m, high_loss, release=19),
        penetration.loss_db(link["carrier_hz"], inside_m, high_loss),
    )
    one_wall = (link["carrier_hz"] < penetration.SINGLE_FREQUENCY_BELOW_HZ) & (scenario != "rma")
    return np.where(one_wall, penetration.single_frequency_loss_db(inside_m), walls_db)


def _draw_of_environment(link: dict[str, Floats]) -> Floats:
    """Return the draws [n] that give the heights h_E which Sionna has drawn."""
    candidates = np.linspace(0.0005, 0.9995, 1_000)
    heights_m = uma.environment_height_m(link["distance_m"][:, None], link["ut_height_m"][:, None], candidates)
    return np.asarray(candidates[np.argmax(heights_m == link["environment_m"][:, None], axis=1)])
