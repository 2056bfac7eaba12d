"""Distances outside a path-loss model: each remedy that a refusal names helps, and the page's first examples run."""

import logging
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import edgefl
from edgefl.core.errors import InputError
from edgefl.scenario import load

PAGE = Path(__file__).parents[2] / "docs" / "cells.md"
SITES = [[0, 0], [420, 60]]
CLAMP = "radio.propagation.out_of_range to clamp"
SIMPLE = ["radio.propagation to log_distance", "radio.propagation to free_space"]
REFUSED = {
    "hexagonal": ({"layout": "hexagonal"}, {}, [["cells.drop to hexagons"], *SIMPLE]),
    "hexagonal, nearer": (
        {"layout": "hexagonal", "min_distance_m": 2},
        {},
        [["cells.drop to hexagons", "cells.min_distance_m to 10"], *SIMPLE],
    ),
    "hexagons": (
        {"layout": "hexagonal", "drop": "hexagons", "min_distance_m": 2},
        {},
        [["cells.min_distance_m to 10"], *SIMPLE],
    ),
    "one cell, near": ({"min_distance_m": 2}, {}, [["cells.min_distance_m to 10"], *SIMPLE]),
    "one cell, far": ({"radius_m": 6_000}, {}, [["cells.radius_m to at most 5000"], *SIMPLE]),
    "both ways": (
        {"layout": "hexagonal", "radius_m": 6_000},
        {},
        [["cells.drop to hexagons", "cells.radius_m to at most 915"], *SIMPLE],
    ),
    "listed": ({"layout": "listed", "positions_m": SITES, "radius_m": 250}, {}, SIMPLE),
    "an office": (
        {"bs_height_m": 3, "radius_m": 250},
        {"radio": {"propagation": "inh"}},
        [["cells.radius_m to at most 149"], *SIMPLE],
    ),
    "as high as devices": (
        {"layout": "hexagonal", "bs_height_m": 1.5},
        {"radio": {"propagation": "free_space"}},
        [["cells.drop to hexagons"]],
    ),
    "who leaves hexagons": ({"layout": "hexagonal"}, {"mobility": "manhattan"}, SIMPLE),
}


def as_changes(remedy):
    changes = [remedy] if isinstance(remedy, str) else remedy
    found = {}
    for change in changes:
        key, _, value = change.partition(" to ")
        found[key] = yaml.safe_load(value.removeprefix("at most "))
    return found


def merged(scenario, changes):
    """Return a scenario with other values of keys."""
    cells = dict(scenario["cells"])
    changed = {**scenario, "cells": cells}
    for key, value in changes.items():
        section, _, name = key.partition(".")
        if section == "cells":
            cells[name] = value
        else:
            changed["radio"] = {"propagation": value}
    return changed


@pytest.mark.parametrize("name", REFUSED)
def test_remedies_of_a_refused_distance_help(name):
    cells, more, remedies = REFUSED[name]
    scenario = {"cells": cells, **more}
    with pytest.raises(InputError, match=r"radio.propagation: .* holds from .*, the cell spans .*: set ") as raised:
        load(scenario)
    (told,) = raised.value.faults
    for remedy in remedies:
        changes = as_changes(remedy)
        load(merged(scenario, changes))
    # No other remedy is named, and clamping is the last one.
    parts = told.partition(": set ")[2].split("; or ")
    assert CLAMP in parts[-1]
    assert parts[-1].startswith("last, set ")
    of_cells = [" and ".join(remedy) for remedy in remedies if isinstance(remedy, list)]
    others = [remedy.rpartition(" ")[2] for remedy in remedies if isinstance(remedy, str)]
    expected = list(of_cells)
    if others:
        expected.append(f"radio.propagation to {' or '.join(others)}, which hold there")
    assert [part.removeprefix("set ") for part in parts[:-1]] == expected


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"radio": {"carrier_hz": 1e8}, "cells": {"radius_m": 6_000}}, "umi_los holds from 0.5 to 100 GHz"),
        ({"radio": {"carrier_hz": 2e8, "propagation": "log_distance"}}, "needs reference_m of at least a wavelength"),
    ],
)
def test_faults_that_no_distance_resolves_come_first(keys, message):
    with pytest.raises(InputError, match=message) as raised:
        load(keys)
    assert "clamp" not in str(raised.value)


@pytest.mark.oracle
def test_the_first_examples_of_the_page_run():
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)[:3]
    layouts = []
    for block in blocks:
        example = yaml.safe_load(block)
        layouts.append(example["cells"]["layout"])
        assert edgefl.run({"rounds": 1, "devices": {"count": 5}, **example}, train=False).status == "finished"
    assert layouts == ["hexagonal", "listed", "hexagonal"]


HEIGHTS = [
    ("umi", 10, 1.5, 22.5),
    ("uma", 25, 1.5, 22.5),
    ("rma", 35, 1.0, 10.0),
    ("inh", 3, 0.1, 100.0),
    ("free_space", 10, 0.1, 1e4),
    ("log_distance", 10, 0.1, 1e4),
]


def at_heights(kind, bs_height_m, height_m, devices=3):
    radio = {"propagation": kind}
    cells = {"bs_height_m": bs_height_m, "radius_m": 50}
    return load({"rounds": 1, "devices": {"count": devices, "height_m": height_m}, "cells": cells, "radio": radio})


@pytest.mark.parametrize(("kind", "bs_height_m", "least_m", "most_m"), HEIGHTS)
def test_each_model_has_its_own_heights(kind, bs_height_m, least_m, most_m):
    for height_m in (least_m, most_m, {"uniform": [least_m, most_m]}):
        result = edgefl.run(at_heights(kind, bs_height_m, height_m), train=False)
        assert np.isfinite(result.devices["pathloss_db"]).all()
    if kind in ("umi", "uma", "rma"):
        for outside_m in (0.99 * least_m, 1.01 * most_m):
            with pytest.raises(
                InputError, match=f"{kind} holds for devices' heights from .*, these are at {outside_m:g} m"
            ):
                at_heights(kind, bs_height_m, outside_m)


def test_a_drone_in_free_space_is_as_far_as_pythagoras_says():
    result = edgefl.run(at_heights("free_space", 10, 100), train=False)
    apart_m = np.hypot(result.devices["distance_m"], 90.0)
    expected_db = 20 * np.log10(4 * np.pi * apart_m * 3.5e9 / 3e8)
    np.testing.assert_allclose(result.devices["pathloss_db"], expected_db, atol=0.01)


@pytest.mark.parametrize(("kind", "bs_height_m", "bounds"), [("rma", 35, "from 1 to 10"), ("uma", 25, "1.5 to 22.5")])
def test_a_height_drawn_outside_the_models_is_refused_with_its_device(kind, bs_height_m, bounds):
    scenario = at_heights(kind, bs_height_m, {"normal": [9, 12]}, devices=50)
    with pytest.raises(InputError, match=f"devices.height_m: device .* draws .*, must be .*{bounds}"):
        edgefl.run(scenario, train=False)


CELL = {"radius_m": 20, "min_distance_m": 2}  # a quarter of it is nearer than 10 m


def said_of_the_border(caplog, propagation):
    """Return the result of a run in a small cell, and what it says of paths at the border."""
    keys = {"rounds": 3, "devices": {"count": 8}, "server": {"participants": 8}, "radio": {"propagation": propagation}}
    with caplog.at_level(logging.WARNING):
        result = edgefl.run({**keys, "cells": CELL}, train=False)
    return result, [record.getMessage() for record in caplog.records if "border" in record.getMessage()]


def test_a_run_says_once_how_many_paths_were_priced_at_the_border(caplog):
    result, (said,) = said_of_the_border(caplog, {"kind": "umi", "out_of_range": "clamp"})
    near = int(np.count_nonzero(result.devices["distance_m"] < 10))
    assert 0 < near < 24
    assert said.startswith(f"radio.propagation.out_of_range: clamp: {near} of 24 paths were priced at the border")


def test_a_run_within_the_range_says_nothing(caplog):
    for propagation in ("log_distance", {"kind": "free_space", "out_of_range": "clamp"}):
        assert said_of_the_border(caplog, propagation)[1] == []
