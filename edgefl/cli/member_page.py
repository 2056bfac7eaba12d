"""The page of a member for `edgefl list NAME`: its summary, its keys, and a valid example."""

from typing import Any

from pydantic import BaseModel

from edgefl.cli import guides
from edgefl.cli.listing import CATALOGUES, PLACES, entries
from edgefl.core.distributions import Constant
from edgefl.core.key_notes import key_notes
from edgefl.core.plugins import installed
from edgefl.scenario import presets
from edgefl.scenario.examples import as_yaml

EXAMPLE_KEYS: dict[tuple[str, str], dict[str, Any]] = {
    ("selection", "lyapunov"): {"budget_j": 0.5},
    ("selection", "schedule"): {"rounds": [[0, 1], [2, 3]]},
    ("datasets", "image_folder"): {"path": "photos"},
    ("datasets", "npz"): {"path": "my_data.npz"},
    ("datasets", "quadratic"): {"coefficients": [[0.5, 1.0, 0.0], [0.5, -1.0, 0.0]]},
    ("partitions", "file"): {"path": "partition.json"},
    ("drift", "labels"): {"swap": [[0, 1]], "at_round": [50]},
    ("drift", "rotation"): {"at_round": [50]},
    ("drift", "permutation"): {"at_s": [3600.0]},
    ("mobility", "streets"): {"path": "town.graphml"},
    ("mobility", "trace"): {"path": "walks.csv"},
    ("churn", "bernoulli"): {"probability": 0.8},
    ("churn", "poisson"): {"arrivals_per_s": 1.0, "stay_s": {"exponential": 20.0}},
    ("churn", "trace"): {"path": "presence.csv"},
    ("dvfs", "deadline"): {"min_cpu_hz": 1.0e8},
    ("power_control", "open_loop"): {"p0_dbm": -90.0},
    ("propagation", "map"): {"file": "street-block.npz"},  # a file that comes with edgefl
    ("propagation", "listed"): {"path_loss_db": [98.5, 104.2, 91.0]},
    ("allocation", "hungarian"): {"interference_w": [1.0e-14, 2.0e-14, 4.0e-14], "max_delay_s": 0.5},
    ("optimisers", "min_energy"): {"deadline_s": 5.0},
    ("background", "constant"): {"load": 0.3},
    ("background", "poisson"): {"arrivals_per_s": 5.0, "mean_bits": 2.0e7, "bps_hz": 2.0},
    ("background", "sessions"): {"arrivals_per_s": 0.1, "mean_s": 60.0},
    ("traces", "csv"): {"path": "link-traces.csv", "assign": "pool"},  # a file that comes with edgefl
    ("traces", "g_nettrack"): {"path": "logs", "assign": "pool"},
    ("traces", "mahimahi"): {"files": [{"downlink": "lte.down", "uplink": "lte.up"}], "assign": "pool"},
    ("schedules", "strongly_convex"): {"strong_convexity": 0.001, "smoothness": 0.5},
}
"""Values for keys that have no default."""

EXAMPLE_SECTIONS: dict[tuple[str, str], dict[str, Any]] = {
    ("policies", "deadline"): {"server": {"deadline_s": 1.0}},
    ("dvfs", "deadline"): {"server": {"policy": "deadline", "deadline_s": 1.0}},
    ("mobility", "streets"): {"radio": {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}},
    ("mobility", "trace"): {"radio": {"propagation": {"kind": "umi_los", "out_of_range": "clamp"}}},
    ("selection", "best_channel"): {"server": {"csi": "mean"}},
    ("selection", "fedcs"): {"server": {"csi": "perfect", "policy": "deadline", "deadline_s": 1.0}},
    ("selection", "lyapunov"): {"server": {"csi": "perfect"}},
    ("selection", "proportional_fair"): {"server": {"csi": "perfect"}},
    ("selection", "channel_and_update"): {"server": {"csi": "mean"}},
    ("allocation", "equal_finish"): {"server": {"csi": "perfect"}},
    ("optimisers", "min_energy"): {"server": {"csi": "mean"}},
    ("optimisers", "min_time"): {"server": {"csi": "mean"}},
    ("optimisers", "fedl"): {"server": {"csi": "mean"}, "radio": {"allocation": "round_robin"}},
    ("allocation", "hungarian"): {"server": {"csi": "perfect", "participants": 3}},
    ("background", "sessions"): {"radio": {"sharing": "processor"}},
    ("errors", "bler"): {"radio": {"rate": "mcs"}},
    ("propagation", "uma"): {"cells": {"bs_height_m": 25.0, "min_distance_m": 35.0}},
    ("propagation", "inh"): {"cells": {"radius_m": 100.0}},
    ("propagation", "listed"): {"devices": {"count": 3}},
    ("propagation", "map"): {"cells": {"radius_m": 120.0}},
}
"""Other keys of the scenario that a member requires."""

NO_EXAMPLE = {("datasets", "arrays")}  # only from Python
MOST_EXAMPLE_KEYS = 3  # besides those without a default


def kinds_of(name: str) -> list[str]:
    """Return the catalogues that have a member of this name, or an installed plug-in of it."""
    found = [kind for kind, catalogue in CATALOGUES.items() if name in catalogue.members]
    return found or [kind for kind in CATALOGUES if name in names_of(kind)]


def names_of(kind: str) -> list[str]:
    """Return the names of a catalogue's members, then those of installed plug-ins."""
    return list(dict.fromkeys([*CATALOGUES[kind].members, *(point.name for point in installed(kind))]))


def page(kind: str, name: str) -> str:
    """Return the page of a member of a catalogue; a plug-in is not imported for it."""
    if name not in CATALOGUES[kind].members:
        about = "; ".join(summary for listed, summary in entries(kind) if listed == name)
        return f"{name} ({kind}): {about}"
    cls: type[BaseModel] = CATALOGUES[kind].load(name)
    lines = [
        f"{name} ({kind}): {CATALOGUES[kind].summary(name)}",
        f"key     {PLACES[kind]}",
        f"guide   {guides.guide_of_key(PLACES[kind])}",
        f"source  {cls.__module__}:{cls.__qualname__}",
    ]
    notes = key_notes(cls)
    if not notes:
        lines.append("keys    none")
    for note in notes:
        text = f"  {note.name}: {note.type}; default {note.default}"
        if note.default == "required":
            text = f"  {note.name}: {note.type}; required"
        lines.append(text)
        if note.meaning:
            lines.append(f"      {note.meaning}")
    if (kind, name) not in NO_EXAMPLE:
        lines += ["example", *(f"  {line}" for line in example(kind, name).splitlines())]
    return "\n".join(lines)


def preset_pages(name: str) -> list[str]:
    """Return the files of the presets of a name, with keys and sources."""
    found = [section for section in presets.SECTIONS if name in presets.names(section)]
    return [f"{section}: {{preset: {name}}}\n\n{presets.text(section, name).rstrip()}" for section in found]


def example(kind: str, name: str, used: str = "") -> str:
    """Return YAML that uses a member, as a scenario or a part of one; `used` is a key that it must have, if it can."""
    keys: dict[str, Any] = dict(EXAMPLE_KEYS.get((kind, name), {}))
    cls = CATALOGUES[kind].load(name)
    fields = cls.model_fields
    # Keys that the base class does not have come first.
    ordered = sorted(fields.items(), key=lambda item: (item[0] != used, item[0] not in cls.__annotations__))
    for key, field in ordered:
        value = field.default
        if isinstance(value, Constant) and key == used:
            value = value.value
        simple = isinstance(value, int | float | str)
        if simple and not field.exclude and key not in keys and (len(keys) < MOST_EXAMPLE_KEYS or key == used):
            keys[key] = value
    *sections, last = PLACES[kind].split(".")
    content: dict[str, Any] = {last: {"kind": name, **keys}}
    if kind == "datasets":  # its keys stand beside it
        content = {last: name, **keys}
    elif not keys:
        content = {last: name}
    if kind == "measures":  # the key holds a list of them
        content = {last: [content[last]]}
    for section in reversed(sections):
        content = {section: content}
    for section, more in EXAMPLE_SECTIONS.get((kind, name), {}).items():
        content[section] = {**content.get(section, {}), **more}
    return as_yaml(content)
