"""Draws the charts of the guides: `make pictures`, or `python docs/pictures/charts.py churn mobility`.

Each chart is a function that runs small worlds and draws what they record into docs/images/guides. The same versions
give the same files. It needs `make setup`.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import edgefl
from edgefl.cli import main as main_of_edgefl
from edgefl.results.export.figure_style import PAGE_IN, STYLE
from edgefl.results.report.shared.style import INK, RUN_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

IMAGES = Path(__file__).parents[1] / "images" / "guides"
DIGITS = {"dataset": "digits"}
PRICED = {"kind": "mlp", "cost": {"parameters": 667178, "flops_per_parameter": 91.04}}  # 2.7 MB each way
PHASES = {"download_s": "#7aa6d8", "compute_s": "#e8a33d", "upload_s": "#1f5c99", "wait_s": "#dfe3e8"}
METHODS = "compare-methods"  # the figure of a task page, from a study of minutes
SECONDS_OF_TIMELINE = 22.0
FONTS = re.compile(r"font-family: [^;\"]*")  # Matplotlib repeats a long list with each word
FONT = "font-family: 'DejaVu Sans', Verdana, sans-serif"
LINES = re.compile(r'(?<= d=")[^"]*')  # of a picture
DECIMALS = re.compile(r"(\d\.\d\d)\d+")  # a hundredth of a point is enough


def run(scenario: dict[str, Any], folder: Path | None = None) -> edgefl.Result:
    """Run a world without learning."""
    return edgefl.run(scenario, train=False, out=folder, overwrite=folder is not None)


def partitions(figure: Figure, folder: Path) -> None:
    """Draw how many samples of each digit 20 devices hold."""
    kinds: dict[str, Any] = {
        "iid": "iid",
        "dirichlet, alpha 0.3": {"kind": "dirichlet", "alpha": 0.3},
        "dirichlet_by_class, alpha 0.3": {"kind": "dirichlet_by_class", "alpha": 0.3},
        "shards": "shards",
        "exdir, 2 classes": {"kind": "exdir", "classes": 2, "alpha": 10},
        "quantity_skew": {"kind": "quantity_skew", "alpha": 0.5},
    }
    panels = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
    for number, (name, partition) in enumerate(kinds.items()):
        world = {"rounds": 1, "data": {**DIGITS, "partition": partition}, "devices": {"count": 20}}
        run(world, folder / str(number))
        held = pd.read_csv(folder / str(number) / "labels.csv")
        grid = held.pivot_table(index="label", columns="device", values="samples", fill_value=0)
        panels[number].imshow(grid, aspect="auto", cmap="Blues", vmin=0, vmax=40, interpolation="nearest")
        panels[number].set_title(name)
        panels[number].set_yticks([0, 3, 6, 9])
    figure.supxlabel("device", fontsize=8)
    figure.supylabel("digit", fontsize=8)


def churn(figure: Figure, folder: Path) -> None:
    """Draw how many of 200 devices are present over time."""
    kinds: dict[str, dict[str, Any]] = {
        "bernoulli, probability 0.4": {"kind": "bernoulli", "probability": 0.4},
        "poisson, stays of 20 s": {"kind": "poisson", "arrivals_per_s": 4, "stay_s": {"exponential": 20.0}},
        "diurnal, days of 75 s": {"kind": "diurnal", "low": 0.1, "high": 0.7, "period_s": 75, "peak_s": 37},
    }
    panels = figure.subplots(1, 3, sharey=True)
    for panel, (name, kind) in zip(panels, kinds.items(), strict=True):
        world = {"rounds": 400, "data": DIGITS, "model": PRICED, "devices": {"count": 200}, "churn": kind}
        world |= {"server": {"participants": 1}, "radio": {"bandwidth_hz": 20e6}, "cells": {"radius_m": 120}}
        rounds = run(world).rounds.iloc[::2]
        panel.step(rounds["time_s"], rounds["present"], color=RUN_COLOURS[0], linewidth=0.8)
        panel.set_title(name)
        panel.set_xlim(0, 150)
        panel.set_ylim(0, 200)
        panel.set_xlabel("virtual time [s]")
    panels[0].set_ylabel("devices present")


def mobility(figure: Figure, folder: Path) -> None:
    """Draw the paths of five devices."""
    kinds: dict[str, dict[str, Any]] = {
        "constant_velocity": {"kind": "constant_velocity", "speed_mps": 10},
        "random_waypoint": {"kind": "random_waypoint", "speed_mps": 10},
        "gauss_markov": {"kind": "gauss_markov", "speed_mps": 10},
        "group": {"kind": "group", "speed_mps": 10, "size": 3, "member_speed_mps": 3},
        "manhattan": {"kind": "manhattan", "speed_mps": 10},
    }
    panels = figure.subplots(1, len(kinds), sharex=True, sharey=True)
    for panel, (name, kind) in zip(panels, kinds.items(), strict=True):
        world = {"rounds": 12, "data": DIGITS, "model": PRICED, "devices": {"count": 5}, "mobility": kind}
        world |= {"cells": {"radius_m": 300}, "server": {"participants": 5}, "radio": {"bandwidth_hz": 20e6}}
        run(world, folder / name)
        tracks = pd.read_csv(folder / name / "tracks.csv")
        for number, (_, track) in enumerate(tracks.groupby("device")):
            colour = RUN_COLOURS[number % len(RUN_COLOURS)]
            panel.plot(track["x_m"].iloc[::3], track["y_m"].iloc[::3], color=colour, linewidth=0.9)
            panel.plot(track["x_m"].iloc[-1:], track["y_m"].iloc[-1:], "o", color=colour, markersize=3)
        panel.plot(0, 0, "^", color=INK, markersize=5)
        panel.set_title(name)
        panel.set_aspect("equal")
        panel.set_xlim(-310, 310)
        panel.set_ylim(-310, 310)
    figure.supxlabel("x [m]: a cell of 300 m around the base station", fontsize=8)


def policies(figure: Figure, folder: Path) -> None:
    """Draw what eight devices do under four policies."""
    kinds: dict[str, dict[str, Any]] = {
        "synchronous": {"policy": "synchronous", "participants": 4},
        "deadline, 9 s": {"policy": "deadline", "deadline_s": 9, "participants": 4},
        "over_selection: 4 of 6": {"policy": {"kind": "over_selection", "factor": 1.5}, "participants": 4},
        "asynchronous": {"policy": "asynchronous", "participants": 4},
    }
    panels = figure.subplots(2, 2, sharex=True, sharey=True).ravel()
    for panel, (name, server) in zip(panels, kinds.items(), strict=True):
        world = {"rounds": 40, "data": DIGITS, "model": PRICED, "devices": {"count": 8, "preset": "phone"}}
        world |= {"server": server, "radio": {"preset": "nr"}, "cells": {"radius_m": 120}, "seed": 3}
        result = run(world)
        draw_timeline(panel, result.devices)
        if server["policy"] != "asynchronous":
            for end_s in result.rounds["time_s"]:
                panel.axvline(end_s, color=INK, linewidth=0.6)
        panel.set_title(name)
        panel.set_xlim(0, SECONDS_OF_TIMELINE)
        panel.set_xticks(range(0, round(SECONDS_OF_TIMELINE) + 1, 5))
        panel.set_yticks(range(8))
    for panel in panels[2:]:
        panel.set_xlabel("virtual time [s]")
    for panel in panels[::2]:
        panel.set_ylabel("device")
    marks = [panels[0].barh(0, 0, color=colour) for colour in PHASES.values()]
    names = [name.removesuffix("_s") for name in PHASES]
    lost = panels[0].plot([], [], "x", color="#b3261e", markersize=4)
    figure.legend([*marks, *lost], [*names, "update lost"], loc="outside upper center", ncols=5)


def draw_timeline(panel: Axes, devices: pd.DataFrame) -> None:
    """Draw the phases of each participation, and a cross where its update was lost."""
    shown = devices[devices["start_s"] < SECONDS_OF_TIMELINE]
    begin_s = shown["start_s"]
    for phase, colour in PHASES.items():
        panel.hlines(shown["device"], begin_s, begin_s + shown[phase], colors=colour, linewidth=4.5)
        begin_s = begin_s + shown[phase]
    lost = shown[shown["status"] != "received"]
    end_s = lost["start_s"] + lost["download_s"] + lost["compute_s"] + lost["upload_s"]
    panel.plot(end_s, lost["device"], "x", color="#b3261e", markersize=4)


def backhaul(figure: Figure, folder: Path) -> None:
    """Draw which links seven base stations have to the server."""
    parents = {
        "star": [None] * 7,
        "chain": [None, 0, 1, 2, 3, 4, 5],
        "tree, children: 2": [None, 0, 0, 1, 1, 2, 2],
    }
    for panel, (name, above) in zip(figure.subplots(1, 3), parents.items(), strict=True):
        hops = []
        for parent in above:
            hops.append(1 if parent is None else hops[parent] + 1)
        places: list[tuple[float, float]] = []
        for node, depth in enumerate(hops):
            same = [other for other, its in enumerate(hops) if its == depth]
            places.append(((same.index(node) + 0.5) / len(same), -depth))
        for (x, y), parent in zip(places, above, strict=True):
            top_x, top_y = (0.5, 0) if parent is None else places[parent]
            panel.plot([x, top_x], [y, top_y], color="#98a1ab", linewidth=1)
        panel.plot(0.5, 0, "s", color=INK, markersize=7)
        panel.annotate("server", (0.5, 0), xytext=(7, 2), textcoords="offset points")
        for node, (x, y) in enumerate(places):
            panel.plot(x, y, "o", color=RUN_COLOURS[0], markersize=11)
            panel.annotate(str(node), (x, y), ha="center", va="center", color="white", fontsize=7)
        panel.set_title(f"{name}: {max(hops)} {'hop' if max(hops) == 1 else 'hops'}")
        panel.margins(0.15)
        panel.axis("off")


def csi(figure: Figure, folder: Path) -> None:
    """Draw what a selection by channel gains, over the age of what the server knows."""
    ages_s = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    world: dict[str, Any] = {
        "rounds": 200,
        "data": DIGITS,
        "model": PRICED,
        "devices": {"count": 50, "preset": "phone"},
        "mobility": {"kind": "random_waypoint", "speed_mps": 10},
        "cells": {"radius_m": 250},
        "radio": {"bandwidth_hz": 20e6},
    }
    known: list[float] = []
    for age_s in ages_s:
        knowledge = {"kind": "perfect", "age_s": age_s}
        known.append(mean_upload_s(world, {"participants": 5, "selection": "best_channel", "csi": knowledge}))
    panel = figure.subplots()
    panel.plot(ages_s, known, "o-", color=RUN_COLOURS[0], label="best_channel, by reports of this age")
    others = {"best_channel, by means without fading": ("best_channel", "mean"), "uniform": ("uniform", "none")}
    for (name, (selection, knows)), style in zip(others.items(), ("--", ":"), strict=True):
        mean_s = mean_upload_s(world, {"participants": 5, "selection": selection, "csi": knows})
        panel.axhline(mean_s, color=INK, linestyle=style, label=name)
    logarithmic(panel, ages_s)
    panel.set_ylim(bottom=0)
    panel.set_xlabel("age of reports [s], of devices that move at 10 m/s")
    panel.set_ylabel("mean upload [s]")
    panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def logarithmic(panel: Axes, ticks: list[float]) -> None:
    """Give a panel a logarithmic axis with these ticks."""
    panel.set_xscale("log")
    panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panel.set_xticks([], minor=True)


def mean_upload_s(world: dict[str, Any], server: dict[str, Any]) -> float:
    """Return the mean length of uploads that arrived."""
    devices = run(world | {"server": server}).devices
    return float(devices.loc[devices["status"] == "received", "upload_s"].mean())


def optimisers(figure: Figure, folder: Path) -> None:
    """Draw time and energy of ten rounds under FEDL, over what a second is worth."""
    panel = figure.subplots()
    times_s: list[float] = []
    energies_j: list[float] = []
    kappas = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0]
    for kappa in kappas:
        totals = edgefl.run("fedl", overrides=[f"server.optimiser.kappa={kappa}"], train=False).summary
        times_s.append(totals["time_s"])
        energies_j.append(totals["energy_j"])
    plain = edgefl.run("fedl", overrides=["server.optimiser=none"], train=False).summary
    panel.plot(times_s, energies_j, "o-", color=RUN_COLOURS[0], label="fedl, by kappa [J/s]")
    for kappa, time_s, energy_j in zip(kappas, times_s, energies_j, strict=True):
        panel.annotate(f"{kappa:g}", (time_s, energy_j), xytext=(4, 4), textcoords="offset points", fontsize=7)
    panel.plot(plain["time_s"], plain["energy_j"], "D", color=RUN_COLOURS[1], label="none")
    logarithmic(panel, [50, 100, 200])
    panel.set_ylim(bottom=0)
    panel.set_xlabel("virtual time [s]")
    panel.set_ylabel("energy [J]")
    panel.legend()


def evaluation(figure: Figure, folder: Path) -> None:
    """Draw the accuracy of one model on the samples of each device."""
    panel = figure.subplots()
    call(["run", "quickstart", "--set", "rounds=20", "-o", str(folder / "run"), "--quiet"])
    table = folder / "accuracy.csv"
    call(["export", str(folder / "run"), "--format", "csv", "--table", "device_accuracy", "-o", str(table)])
    by_device = pd.read_csv(table).sort_values("accuracy")
    whole = edgefl.read(folder / "run").summary["final_accuracy"]
    panel.fill_between(range(len(by_device)), 100 * by_device["accuracy"], color=RUN_COLOURS[0], step="mid")
    panel.axhline(100 * whole, color=INK, linestyle="--", linewidth=0.8, label="on the whole test set")
    panel.set_xlabel("devices, worst first")
    panel.set_ylabel("accuracy [%]")
    panel.set_ylim(0, 108)
    panel.margins(x=0)
    panel.legend(loc="upper left")


def call(words: list[str]) -> None:
    """Run a command of edgefl.

    Raises:
        SystemExit: it fails.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        code = main_of_edgefl(words)
    if code:
        raise SystemExit(f"edgefl {' '.join(words)}: exit code {code}")


class Chart:
    """A chart: what draws it, and its height in inches."""

    def __init__(self, draw: Callable[[Figure, Path], None], height_in: float) -> None:
        self.draw = draw
        self.height_in = height_in


def compare_methods() -> Path:
    """Write the figure of the task page about methods, made smaller, and return its file."""
    from PIL import Image
    from take import follow

    file = IMAGES.parent / "tasks" / "compare-methods.png"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        follow("compare-methods", folder)
        call(["export", str(folder / "results" / "study"), "--format", "png", "-o", str(folder / "study.png")])
        figure = Image.open(folder / "study.png").convert("RGB")
        smaller = figure.resize((figure.width // 4, figure.height // 4), Image.Resampling.LANCZOS)
        smaller.quantize(64, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(file, optimize=True)
    return file


CHARTS = {
    "partitions": Chart(partitions, 3.0),
    "churn": Chart(churn, 1.9),
    "mobility": Chart(mobility, 1.9),
    "policies": Chart(policies, 3.4),
    "backhaul": Chart(backhaul, 1.9),
    "csi": Chart(csi, 2.0),
    "optimisers": Chart(optimisers, 2.2),
    "evaluation": Chart(evaluation, 1.9),
}


def main() -> int:
    """Return 0 once the charts that were named on the command line have been drawn: all, if none was named."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    names = sys.argv[1:] or [*CHARTS, METHODS]
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name == METHODS:
            print(compare_methods())
            continue
        chart = CHARTS[name]
        file = IMAGES / f"{name}.svg"
        with (
            mpl.rc_context({**STYLE, "svg.hashsalt": name, "svg.fonttype": "none", "savefig.dpi": 100}),
            tempfile.TemporaryDirectory() as at,
        ):
            figure = Figure(figsize=(PAGE_IN, chart.height_in), layout="constrained", facecolor="white")
            chart.draw(figure, Path(at))
            figure.savefig(file, metadata={"Date": None, "Creator": None})
        text = LINES.sub(lambda line: DECIMALS.sub(r"\1", line[0]), file.read_text(encoding="utf-8"))
        file.write_text(FONTS.sub(FONT, text), encoding="utf-8")
        print(f"{file.relative_to(IMAGES.parents[2])}  {file.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
