"""Path losses that are listed for each device: their devices, sources and refusals."""

import numpy as np
import pytest

import edgefl
from edgefl.core.errors import InputError
from edgefl.radio.propagation import PathDraws
from edgefl.radio.propagation.listed import Listed
from edgefl.radio.radio_section import Radio
from edgefl.results.report.run import coverage
from edgefl.results.report.shared import read
from edgefl.scenario.load import load
from edgefl.world.cells_section import Cells

LOSSES_DB = [120.0, 95.5, 101.25, 88.0, 110.0, 99.0]
THREE_SECTORS = {"sectors": 3, "antenna": "tr38901"}


def world(**radio):
    return {
        "rounds": 4,
        "devices": {"count": len(LOSSES_DB)},
        "server": {"participants": 3},
        "mobility": {"kind": "random_waypoint", "speed_mps": 10},
        "radio": {"propagation": {"kind": "listed", "path_loss_db": LOSSES_DB}, "fading": "none", **radio},
    }


@pytest.mark.parametrize(
    "radio", [{}, {"large_scale": {"kind": "time", "update_s": 0.01}, "spatial_consistency": True}]
)
def test_a_device_keeps_its_loss_wherever_it_goes(radio):
    devices = edgefl.run(world(**radio), train=False).devices
    assert set(devices["device"]) == set(range(len(LOSSES_DB)))
    assert devices.groupby("device")["distance_m"].nunique().max() > 1
    np.testing.assert_array_equal(devices["pathloss_db"], np.array(LOSSES_DB)[devices["device"]])
    assert (devices["shadowing_db"] == 0).all()


def test_the_rate_is_that_of_the_listed_loss():
    """One upload: 1 MHz log2(1 + P 10^(-L/10) / (N0 W)), to the slot."""
    keys = {"bandwidth_hz": 1e6, "noise_dbm_hz": -130.0, "slot_s": 1e-6}
    scenario = world(**keys) | {"rounds": 1, "server": {"participants": 1}}
    scenario["model"] = {"cost": {"parameters": 1000, "flops_per_parameter": 1}}
    (row,) = edgefl.run(scenario, train=False).devices.to_dict("records")
    snr = 10 ** (2.3 - LOSSES_DB[row["device"]] / 10 - 3) / 1e-10
    assert row["upload_s"] == pytest.approx(32_000 / (1e6 * np.log2(1 + snr)), abs=1.1e-6)


def test_shadowing_may_be_added():
    devices = edgefl.run(world(shadowing_db=3.0), train=False).devices
    assert devices["shadowing_db"].nunique() == len(devices)


def test_a_column_of_a_file_is_the_same_as_its_numbers(tmp_path):
    (tmp_path / "losses.csv").write_text("device,loss_db\n" + "".join(f"{n},{x}\n" for n, x in enumerate(LOSSES_DB)))
    text = (
        "devices: {count: 6}\nradio: {propagation: {kind: listed, path_loss_db: {file: losses.csv, column: loss_db}}}\n"
    )
    (tmp_path / "s.yaml").write_text(text)
    assert load(tmp_path / "s.yaml").radio.propagation == Listed.model_validate({"path_loss_db": LOSSES_DB})


@pytest.mark.parametrize(
    ("losses", "more", "said"),
    [
        (
            LOSSES_DB[:5],
            {},
            r"radio.propagation: lists path losses of 5 devices, the scenario has 6: add some, or lower",
        ),
        (LOSSES_DB, {"cells": THREE_SECTORS}, r"radio.propagation: lists path losses to one cell, the scenario has 3"),
    ],
)
def test_wrong_lists_are_refused(losses, more, said):
    scenario = world(propagation={"kind": "listed", "path_loss_db": losses}) | more
    with pytest.raises(InputError, match=said):
        load(scenario)


@pytest.mark.oracle
def test_a_map_has_no_shading(tmp_path):
    edgefl.run(world(), train=False, out=tmp_path / "run")
    assert coverage.shading(read.load(tmp_path / "run"), Cells(), 0.0, 0.0, 250.0) is None
    model = Radio.model_validate(world()["radio"]).propagation
    nobody = PathDraws(*np.zeros((8, 1)))
    with pytest.raises(ValueError, match="listed for devices, not for places"):
        model.large_scale(np.full(1, 50.0), 3.5e9, 10.0, np.full(1, 1.5), nobody)
