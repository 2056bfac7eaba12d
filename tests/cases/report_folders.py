"""Result folders changed for tests of the report, and ways to look into its figures."""

import json

from result_folders import rewrite, write_csv

from edgefl.results.report.shared.read import load
from edgefl.results.report.shared.style import styled_run

POPULATION = {"present": lambda n: 50 + n % 7, "arrivals": lambda n: n % 3, "departures": lambda n: n % 2}


def with_rounds(folder, **columns):
    """New columns of rounds.csv as functions of the round."""
    return rewrite(
        folder, "rounds.csv", lambda row: {name: value(int(row["round"])) for name, value in columns.items()}
    )


def with_tracks(folder, tracks):
    rows = [dict(zip(("device", "time_s", "x_m", "y_m"), row, strict=True)) for row in tracks]
    write_csv(folder / "tracks.csv", ["device", "time_s", "x_m", "y_m"], rows)
    return folder


def with_summary(folder, **changes):
    path = folder / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return folder


TURNS = {"count": 3, "rounds": 2, "first_group": 2, "initialisation": {"kind": "proposed"}}


def in_sessions(folder, **columns):
    """Three sessions of two rounds, an extra one before the second and the third, which is not tested."""
    places = [(1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2)]

    def place(row):
        session, number = places[int(row["round"]) - 1]
        untested = {"test_accuracy": "", "test_loss": ""} if number < 1 and "test_loss" in row else {}
        return {"session": session, "round": number, **untested}

    with_rounds(folder, **columns)
    return rewrite(rewrite(folder, "rounds.csv", place), "devices.csv", place)


def change_devices(folder, change):
    return rewrite(folder, "devices.csv", change)


def loaded(folder, place=0):
    run = load(folder)
    return styled_run(run, f"label {place}", place)


def named(figure, name):
    """The trace of a figure by its name."""
    return next(trace for trace in figure["data"] if trace.get("name") == name)
