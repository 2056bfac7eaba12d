"""The replay: a player below the map that shows devices and their links over virtual time."""

import math
from collections.abc import Sequence

import numpy as np

from edgefl.core.units import ENERGY, TIME, digits, fitting, quantity, seconds, top
from edgefl.results.report.run import cell_map, replay_tape, trajectories
from edgefl.results.report.run.replay_tape import MOST_PARTICIPATIONS, Choice
from edgefl.results.report.run.timeline import CROSS_COLOUR, NOT_CROSSED
from edgefl.results.report.shared.card import Card
from edgefl.results.report.shared.describe import kind
from edgefl.results.report.shared.read import Run
from edgefl.results.report.shared.style import COMPUTE, IDLE, MUTED, RADIO_DOWN, RADIO_UP, RUN_COLOURS, KeyEntry
from edgefl.results.report.shared.templates import Html, render

ROUND_LENGTH_S = 1.5  # of wall-clock time, for a round at the first speed
SHORTEST_S = 12.0  # of wall-clock time, for the whole replay at the first speed
LONGEST_S = 90.0
SPEEDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # times the first speed
ROUND_NUMBERS = (1, 2, 5, 10)
HANDOVER = KeyEntry("handed over", RUN_COLOURS[3])
LOST = KeyEntry("not received", CROSS_COLOUR)
VISIT = KeyEntry("came or left", MUTED)
EMPTY = KeyEntry("battery empty", RUN_COLOURS[1])
PHASES = {
    "download": KeyEntry("download", RADIO_DOWN),
    "compute": KeyEntry("compute", COMPUTE),
    "upload": KeyEntry("upload", RADIO_UP),
    "wait": KeyEntry("waiting", IDLE),
}


def card(run: Run, runs: Sequence[Run]) -> Card | None:
    """Return the card of the map, with the player below it if there is anything to play; None without a map."""
    map_card = cell_map.card(run, runs)
    choice = _choice(run, runs)
    if map_card is None or choice is None:
        return map_card
    return map_card._replace(below=player(run, choice))


def tapes(runs: Sequence[Run]) -> dict[str, str]:
    """Return the packed tape of each run that has one, by the name of its map."""
    packed = {}
    for index, run in enumerate(runs):
        choice = _choice(run, runs)
        if choice is not None:
            packed[f"map-{index}"] = replay_tape.packed(run, choice)
    return packed


def _choice(run: Run, runs: Sequence[Run]) -> Choice | None:
    """Return what the replay of a run shows; None if there is no map to play it on, or nothing could move."""
    if not cell_map.is_drawn(run):
        return None
    # The runs of a page share the space.
    return replay_tape.chosen(run, MOST_PARTICIPATIONS // len(runs))


def player(run: Run, choice: Choice) -> Html:
    """Return the player: its buttons, the counters, the key to the colours, and a line on what it shows."""
    time_unit = fitting(choice.until_s, TIME)
    energy_unit = fitting(top([run.rounds["energy_j"]]), ENERGY)
    settings = {
        "time": {"name": time_unit.name, "size": time_unit.size},
        "energy": {"name": energy_unit.name, "size": energy_unit.size},
        "sessions": len(np.unique(run.rounds["session"])) > 1,
    }
    return render(
        "run/replay.html.j2",
        settings=settings,
        ticks=replay_tape.TICKS,
        speeds=_speeds(choice),
        key=_key(run),
        note=note(run, choice),
    )


def _speeds(choice: Choice) -> list[tuple[str, str, bool]]:
    """Return the speeds in virtual seconds a second, as values and texts; at the first a round takes seconds."""
    length_s = min(max(ROUND_LENGTH_S * choice.rounds, SHORTEST_S), LONGEST_S)
    first = _round_number(choice.until_s / length_s)
    return [(f"{factor * first:.6g}", seconds(factor * first), factor == 1) for factor in SPEEDS]


def _round_number(value_s: float) -> float:
    """Return 1, 2, 5 or 10 times a power of ten of the unit that fits, whichever is nearest."""
    unit = fitting(value_s, TIME)
    value = value_s / unit.size
    power = 10.0 ** math.floor(math.log10(value))
    nearest = min(ROUND_NUMBERS, key=lambda number: abs(math.log(value / power / number)))
    return nearest * power * unit.size


def _key(run: Run) -> dict[str, KeyEntry]:
    key = dict(PHASES)
    if run.has("handovers"):
        key["handover"] = HANDOVER
    if run.has("arrivals") or run.has("departures"):
        key["visit"] = VISIT
    if run.on_batteries:
        key["empty"] = EMPTY
    if not np.isin(run.participations["status"], NOT_CROSSED).all():
        key["lost"] = LOST
    return key


def note(run: Run, choice: Choice) -> str:
    """Return what the replay leaves out or does not know, and its keys."""
    sentences = []
    if len(choice.devices) < choice.known:
        sentences.append(f"Shows {len(choice.devices):,} of {choice.known:,} devices.")
    if choice.rounds < run.length:
        sentences.append(f"Ends after round {choice.rounds:,} of {run.length:,}.")
    sentences += _movement(run, choice)
    if kind(run.scenario, "server.policy") == "split":
        sentences.append("Phases alternate at every step; their sums are played one after the other.")
    sentences.append("Keys: space plays and pauses; arrows, page up and down, home and end move in time.")
    return " ".join(sentences)


def _movement(run: Run, choice: Choice) -> list[str]:
    """Return how far the positions of devices are known; nothing for devices that stand still."""
    if run.tracks is None:
        return []
    sentences = []
    interval_s = trajectories.interval_s(run.tracks)
    if math.isfinite(interval_s):
        sentences.append(f"Positions are known every {quantity(interval_s, TIME)}, with straight lines in between.")
    tracked = len(np.unique(run.tracks["device"]))
    if tracked < len(choice.devices):
        text = f"{digits(tracked)} devices were tracked; the others stand where they last began to take part."
        sentences.append(text)
    return sentences
