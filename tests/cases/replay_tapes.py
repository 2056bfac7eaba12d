"""Tapes of replays as tests read them: without the script of the page, from the description of the format."""

import numpy as np

from edgefl.results.report.run import replay_tape

MOVING = {
    "seed": 3,
    "rounds": 4,
    "data": {"dataset": "synthetic", "owners": 12, "features": 5, "classes": 3},
    "model": {"kind": "mlp", "cost": {"parameters": 2_000_000, "flops_per_parameter": 5.0}},
    "training": {"local_steps": 2, "batch_size": 4, "lr": 0.1, "engine": "serial"},
    "devices": {"count": 12},
    "server": {"participants": 6},
    "cells": {"layout": "hexagonal", "sites": 7, "radius_m": 120},
    "radio": {"bandwidth_hz": 2e6, "propagation": {"kind": "umi_los", "out_of_range": "clamp"}},
    "mobility": {"kind": "random_waypoint", "speed_mps": 20.0},
}


class Tape:
    """A tape with times in seconds and positions in metres."""

    def __init__(self, run, most=replay_tape.MOST_PARTICIPATIONS):
        self.choice = replay_tape.chosen(run, most)
        raw = replay_tape.tape(run, self.choice)
        self.tick_s = raw["tick_s"]
        self.step_m = raw["step_m"]
        self.devices = np.cumsum(raw["devices"]).tolist()
        stops = {name: np.cumsum(steps) for name, steps in raw["stops"].items()}
        columns = (stops["device"], stops["time"] * self.tick_s, stops["x"] * self.step_m, stops["y"] * self.step_m)
        self.stops = [(self.devices[place], *rest) for place, *rest in zip(*columns, stops["then"], strict=True)]
        works = raw["works"]
        self.outcomes = [works["outcomes"][place] for place in np.cumsum(works["outcome"])]
        names = ("download", "compute", "upload", "wait")
        self.works = {
            "device": [self.devices[place] for place in np.cumsum(works["device"])],
            "start_s": np.cumsum(works["start"]) * self.tick_s,
            "site": np.cumsum(works["site"]),
            "row": np.cumsum(works["round"]),
            **{f"{name}_s": np.array(works[name]) * self.tick_s for name in names},
        }
        for name in {"before", "after"} & works.keys():
            self.works[name] = np.cumsum(works[name])
        events = {name: np.cumsum(steps) for name, steps in raw["events"].items()}
        events["device"] = [self.devices[place] for place in events["device"]]
        events["time"] = events["time"] * self.tick_s
        self.events = list(zip(*(events[name] for name in ("device", "time", "kind", "site")), strict=True))
        self.rounds = raw["rounds"]

    def stops_of(self, device):
        """(time, x, y, how it goes on) of one device."""
        return [tuple(rest) for owner, *rest in self.stops if owner == device]
